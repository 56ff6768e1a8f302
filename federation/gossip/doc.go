// Package gossip answers: how do the nodes of a federation come to hold the same
// things? [Node] is the federation.Handler above any Transport. It greets each
// link, judges what is gossiped, brings what is missing by sync, has heads
// cosigned, sends beacons, and passes lending through. All it knows and keeps is
// behind small interfaces, which the rest of the node implements.
//
// Gossip is a hint, sync is the truth: whatever is lost, ignored or dropped here
// is read from the heads of the next sync. A sync stream begins with the heads of
// both ends. Then who opened it asks, one ask at a time, until it sends
// {"end":true,"more":false}; then the other asks, and ends the same way. The
// answer to an ask is its lines and one end frame:
//
//	{"charters":{"after":7}}                     envelopes, by seq
//	{"did_log":{"after":2,"did":"D"}}            bundle lines, and those of branches while D is frozen
//	{"bindings":{"have":["z…"]}}                 envelopes of the ids not named; beacons likewise
//	{"events":{"did":"D","from":1024,"to":1290}} {"did","entries","from","rest","size"}
//	{"notes":{"did":"D","from":0,"to":1290}}     {"did","notes"}
//	{"object":{"id":"z…"}}                       one bundle line, or the end with not_found
//	{"bodies":["z…"]}                            {"bodies"}, what the asker may not have left out
//
// A set digest is the RFC 6962 root over the ids of the set, ascending by text.
// SPEC.md has all frames.
//
// The package verifies the signatures it needs for a verdict on gossip, and
// stores nothing: what is durable, who is a member and who may have an object
// is decided behind the interfaces.
package gossip
