// Package casefile answers: what does the proof file of a case prove, and to whom? It
// is one engine used three ways: to write the file of a case (Build), to show a case
// (Open), and to verify a file with nothing but its bytes (Verify).
//
// A case file is a bundle (JSON lines) whose header is about two ids: the case, and the
// root over all its other lines. It holds the events of the case with their tlog-proofs
// and bodies, the objects, rows and documents the parties handed in, the events that
// anchor those, and what all signatures rest on: DID logs, agent objects, key.rotated
// events, charters from the genesis on. SPEC.md is the format.
//
// Verifying opens no database, uses no network and reads no clock: the newest statement
// in the file is its now. Every line must verify and be used; a line or signature that
// is false, unknown or unused fails the file, and the report says which line and what
// of it. What a file cannot say is said too.
//
// OpenTree verifies a whole log, as a tree of tiles. A million entries take the memory of one batch.
//
// OpenEvidence is the part of it that needs no case: events with their proofs, rows and
// signed objects in any bundle. There, what could be decided by a line that is not in the
// bundle is pending.
//
// The package stores nothing and decides nothing about a case: mediation folds it.
package casefile
