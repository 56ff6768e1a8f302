// Package charter answers: who is in the federation, and did enough of them
// agree? It holds the signed bodies charter and join, and the pure rules by which
// a charter follows another (A1 to A10 of SPEC.md, cited by those names).
//
// A Chain is made by Genesis and grown by Next, and by nothing else, so whoever
// holds a Chain holds charters that were checked. A refusal says at which rule, and
// carries a Tally: how many signatures are needed, who signed, who is missing, and
// which signatures were ignored and why.
//
// A File is what members pass around by hand: a bundle with charters, joins, DID
// logs and bindings. Apply verifies a whole file with nothing but the file.
//
// It holds no store, clock, socket or private key: times come in as arguments, and
// keys through Keys and Logs. Amendments are accepted under authority governance
// in round 0 for the operations add, vote, edit, head, set and renew; any other is
// refused as *Unsupported, never guessed. Bindings are carried, not read.
package charter
