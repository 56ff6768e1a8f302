// Package p2p carries a federation over libp2p: TCP with Noise and yamux, QUIC,
// streams of the five protocols, and gossipsub for the three topics. It is the
// only importer of libp2p.
//
// A [Transport] talks to admitted peers alone. Others get one of a few short
// lobby links, on which they may say hello and use the lobby. It dials each
// admitted peer by the addresses of its binding and goes on until it has a link;
// it neither discovers nor relays anybody, and no name service or address from a
// third party is asked. It decides no membership and reads no message: that is
// the Handler's.
package p2p
