// Package envelope answers: is this signed object exactly what its signer signed, and who was that?
//
// It is the one place of the project that canonicalizes, labels, seals and opens signed objects. SPEC.md beside this
// file is the format: a body of canonical JSON (RFC 8785, narrowed), a payload type, Ed25519 signatures over the DSSE v1
// pre-authentication encoding, and two serializations, DSSE JSON and compact. Open and OpenSet alone make a Verified,
// and decisions are taken on Verified values only.
//
// It looks up no key, keeps no state and reads no clock: a KeySource, made for one place in a history, says which key
// counts. What a body means is for the package that declares its type.
package envelope
