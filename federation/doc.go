// Package federation answers two questions of a node: whom does it talk to, and
// what does it share with them?
//
// It declares the seam between the rules and the wires: a [Transport] carries
// gossip on three topics and streams of five protocols between bound peers, a
// [Handler] judges and serves. Streams carry frames: an unsigned varint length,
// then that many bytes of strict JSON ([Frames]). It also holds the two signed
// objects that speak about the wires themselves, [Binding] (which node key
// belongs to which organization) and [Beacon] (what its sender holds, and that
// it lives), the opening word of each link, [Hello], the unsigned claim that two
// signed things exclude each other, [ForkProof], and the pure rule [StateOf], which
// turns what a node has seen into what it may do.
//
// It opens no socket, keeps no store and decides no membership: the packages
// inproc and p2p carry, charter decides who is a member, gossip puts them
// together. Trust is in the signed object, never in the channel.
package federation
