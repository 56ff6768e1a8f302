// Package inproc carries a federation in memory: a [Network] gives Transports
// that behave as those over libp2p do, without sockets. The effects of verdicts
// are the same, down to an ignored message staying dead for two minutes; so are
// the size limits, admission and its lobby.
//
// Faults are switched on by call or by script: Cut, OneWay, Delay, Drop, Dup,
// Reorder, Oversize. Each delivery has an instant of its own and every chance is
// drawn from one seed, so that inside a bubble of testing/synctest a run repeats
// itself. It models neither bandwidth nor names nor keys.
package inproc
