// Package recorder answers: how does what this node decided get into its log,
// and how does what others said get in here? It wires the outbox of the state
// database, the one sequencer of the own log, the ingest of all other logs and
// the answers built from them.
//
// A decision writes its events and audit rows with [Recorder.Event] and
// [Recorder.Row] inside its own state transaction; ids are final there. [Recorder.Run]
// takes them in order, signs, appends, computes the root two ways, pins it and
// signs the head. A crash after any step is repaired by doing the step again:
// nothing is appended twice, and no size is ever signed with two roots.
//
// What others' logs bring in bulk is appended before it is judged (background.go): Run judges
// it in log order, and what has to be authored before it is delivered is judged at once, with
// all below it.
//
// What is made of an event is its signature under the key of its place, laid over by what
// forks and the charter say of the log (bounds.go): a function of what is held and known, so
// that the order in which it came does not show. A log that has forked is contested from
// where its branches part (forks.go, part.go); a branch that a charter ends gives way to the
// one that it names (survive.go).
//
// Keys in the state database: out/<n> items, oh their last number and time,
// key/current the kid that signs what is drafted now, log/opened what the log
// begins with, obj/<id> objects. Everything else is in the audit database.
//
// The package does not decide what an event means, whom to trust or when to
// talk to a peer.
package recorder
