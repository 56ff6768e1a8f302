// Package attestation answers: what was said, and how far do we believe it?
//
// Each organization has one append-only log of signed events. This package
// holds the vocabulary that everything above shares: the event and its bytes
// in the log ([Event], [Entry]), the closed set of event types ([RuleOf]), how
// far an event is believed ([Level], [Standing]), the bytes in which logs
// travel ([Package]), and what a store of logs must keep ([Store], [Log]).
//
// Trees, notes and proofs are in attestation/log, rows of the own acts in
// attestation/audit, and which key was valid at which index in
// attestation/history. Nothing here opens a store, a clock or a socket, and
// nothing here decides what an event means.
package attestation
