// Package credential answers two questions at the edge to the world of Verifiable Credentials 2.0: how is an agent object
// shown there, and did the issuer that a foreign credential names really make it?
//
// Export turns a verified agent object into a credential with one eddsa-jcs-2022 proof; Verify reads such credentials of
// anybody, with the issuer's document as a given function resolves it. SPEC.md is both forms.
//
// The project's own decisions rest on the agent object and never on a credential. Verify fetches nothing itself: no
// context, schema or status list. What it does not read (other suites, proof sets and chains, VC 1.1, JWT) is
// ErrUnsupported, and that says nothing of its validity.
package credential
