// Package bundle answers: how do signed things travel in one file? It reads and
// writes the one unsigned form shared by join files, drafts, boot files, case
// files and sync replies: JSON lines, a header first, then one thing per line.
//
//	{"trustnode":"bundle","v":1}
//	{"did":"did:webvh:…","did_log":"…","from":1}
//	{"payload":"…","payloadType":"application/vnd.trustnode.join.v1+json","signatures":[…]}
//
// Each line is its own canonical form and ends with a newline, so a file has no
// byte that does not count. The header may name a pin and, in a proof file, the
// ids the file is about. Lines are written in order of kind and id: equal
// contents are equal bytes.
//
// Nothing here is trusted or verified: a line proves itself to whoever verifies
// it, and where it came from does not matter. A well-formed line of an unknown
// shape is returned as Unknown, so that an import can skip and count it while a
// verifier fails on it.
package bundle
