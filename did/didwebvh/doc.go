// Package didwebvh answers, for DIDs of the method did:webvh: which documents
// did this DID have, one after the other, and is the log that says so whole?
//
// It speaks did:webvh 1.0: a log of JSON lines (did.jsonl), each holding a
// document, chained by hashes to the one before, signed with eddsa-jcs-2022 by
// an update key, and the file of witness proofs beside it (did-witness.json).
// A log is verified from its bytes alone. Every entry's hash and proof is
// checked, always; where witnesses govern an entry, the log is refused without
// a threshold of their proofs. Only Ed25519, sha2-256 and eddsa-jcs-2022 are
// known. The package also writes an organization's own entries (the first, ones
// that rotate keys, that move and that end the DID), a witness's proof, and the
// witness file of an entry whose proofs were collected.
//
// It does not fetch, store or remember anything: which history of two a node
// holds to is decided by did/keyring, and that a witness signs one entry of a
// number by whoever keeps its pins. It does not carry proofs about.
package didwebvh
