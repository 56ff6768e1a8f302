// Package didweb answers: where is the document of a did:web DID, and are the
// keys it holds still those that were agreed on?
//
// It speaks did:web (W3C CCG): a did.json on a web server, found by the DID's own
// text. Such a document has no history and no signature: whoever holds the server
// writes it. So a node trusts a snapshot of it, pinned when the organization
// joined, and never a document because it was fetched. Snapshot is the row that is
// kept beside the bytes; Judge compares what a server has now with it. Other bytes
// with the same keys are ordinary news, other keys are not trusted until one of the
// other ways to change them was taken, and until then the pinned document stands.
//
// It does not fetch, store or remember anything: node/fetch has the bytes, and who
// may approve new keys is decided above.
package didweb
