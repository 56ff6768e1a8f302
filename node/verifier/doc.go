// Package verifier answers: what does this file prove by its bytes, and on what trust does
// that rest? It is behind "trustnode verify": no network, no data directory, no state.
//
// What a file is, is known by its bytes: a DID log (did.jsonl, with did-witness.json), a
// bundle (join file, draft, boot file, sync reply), one signed object, a Verifiable
// Credential, a DID document, or the file of a case, which node/casefile verifies; a directory may be a whole log. Other
// files may be given as material: what they prove is used, and nothing else of them.
//
// The answer is a Report in plain sentences: what verifies, what is claimed by whom, what
// remains unsaid. Whatever is false, of an unknown kind, or out of its place fails a file. Where something that
// is not at hand could decide, the outcome is Pending; where nothing in such a file can be
// proven, Unproven; where other rules govern, Unsupported. Only Verifies is a success.
package verifier
