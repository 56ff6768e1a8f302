// Package log answers: is this entry in that log, and is that log the one we
// saw before? It builds RFC 6962 trees and their proofs, and makes and checks
// heads as C2SP checkpoints with cosignature/v1 lines, tlog-proofs and the text
// of tlog-witness. It is pure: no store, clock, socket or private key; the one
// importer of torchwood and of transparency-dev/merkle.
//
// A note is judged line by line: one false line, or one of a key not known
// here, is reported and not counted, and takes nobody else with it.
//
// It does not say whose key counts at which index; package history does.
package log
