// Package federationtest holds the one suite both transports of a federation
// pass: what [federation.Transport] and [federation.Handler] promise, tried by
// nodes that admit, refuse, ignore, restart, and send what they should not.
//
// A failure seen over sockets only becomes a case here.
package federationtest
