// Package mediation answers: what if two organizations disagree?
//
// A case is a fold over signed events: Fold takes facts and a moment and gives the
// state, whose turn it is, and where silence leads. Nothing else is stored, and no
// job or caller moves a case, so equal facts give equal cases on every node and in a
// file years later. The package also holds the bodies those events carry (dispute,
// answer, evidence, assignment, ruling), the bounds of a ruling, and the check of a
// claim against its exhibits.
//
// It is pure: no store, clock or socket. It knows no lending types; whoever holds
// the objects says what each exhibit shows.
//
// The rung neutral is decided. A case whose ladder reaches a rung that needs a draw, a
// jury, a panel or a contract, and has somebody to fill it, stays at that rung and says so.
package mediation
