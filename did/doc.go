// Package did answers: who is this, and is this really their signature?
//
// It holds the values that identify a party and are made only by their parsers: DID and URL (DID Core 1.0, section 3),
// PublicKey (multikey text, JSON Web Key, base58, raw bytes), Signature, and Document (DID Core 1.0, section 4). It
// declares the seams between DID methods and the rest (Resolver, Source, Resolution) and the error names of DID
// Resolution 1.0. PublicKey.Verify is the one place that calls crypto/ed25519.Verify.
//
// It does not resolve: each method is a package of its own below this folder. It does not sign: did/keys does. It never
// dials, and nothing here reads a clock.
package did
