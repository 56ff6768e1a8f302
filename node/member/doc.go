// Package member answers: in which federation is this node, what may it do there now, and
// which agents act for whom?
//
// It is the use case of an organization that governs itself among others. It drafts,
// signs and applies charters that travel as files; keeps the chain of charters in force,
// the bindings of the members' nodes and their newest beacons; says in which state the
// node is; issues agents and learns of those of others; and rotates the organization's own
// key. Everything a peer brings is judged here from bytes, with no network: gossip only
// carries.
//
// What an organization may sign once (a charter, a beacon, an entry of its DID log) is in
// the pins before it is signed. What may be shown is durable before it is shown.
//
// The package opens no socket and runs no goroutine. Amendments arrive through it as
// files do; drafting them, forks, recovery and balloting are not part of it.
package member
