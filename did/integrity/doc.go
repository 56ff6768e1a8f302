// Package integrity answers: was this eddsa-jcs-2022 proof made by this key over this document?
//
// It is the cryptosuite of VC Data Integrity EdDSA Cryptosuites 1.0, section 3.3, over values of did/strictjson: the form
// of a proof, the rule that a proof's @context must begin the document's, the two hashes and the signature over them.
// did/didwebvh uses it for entries of a log, did/credential for Verifiable Credentials; both narrow what may stand in a
// proof further.
//
// It looks up no key: whether the key may speak for anyone is its callers' question. It reads one proof, no sets and no
// chains, and no other suite; those are ErrUnsupported, which is neither valid nor invalid.
package integrity
