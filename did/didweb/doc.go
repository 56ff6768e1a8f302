// Package didweb answers: where is the document of a did:web DID, and what does it say?
//
// It speaks did:web (W3C CCG): a did.json on a web server, found by the DID's own text. Such
// a document has no history and no signature: whoever holds the server writes it. So nobody
// trusts one because it was fetched: did/keyring pins the one an organization joined with,
// and says what may follow it.
//
// It does not fetch, store or remember anything: node/fetch has the bytes.
package didweb
