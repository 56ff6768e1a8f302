// Package envelopetest makes signers from fixed seeds, for tests and golden vectors. Nothing but tests imports it: real
// keys live in did/keys and have no seed that a program could name.
package envelopetest

import (
	"bytes"
	"context"
	"crypto/ed25519"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Signer signs with a key made of a seed. Safe for concurrent use.
type Signer struct {
	private ed25519.PrivateKey
	public  did.PublicKey
}

var _ envelope.Signer = (*Signer)(nil)

// New makes a signer of a seed of 32 bytes.
func New(seed [32]byte) *Signer {
	private := ed25519.NewKeyFromSeed(seed[:])
	public, err := did.NewEd25519(private.Public().(ed25519.PublicKey))
	if err != nil {
		panic("envelopetest: " + err.Error())
	}
	return &Signer{private, public}
}

// Repeat makes a signer of 32 equal bytes, as the design's golden values do.
func Repeat(b byte) *Signer { return New([32]byte(bytes.Repeat([]byte{b}, 32))) }

// Public returns the public key.
func (s *Signer) Public() did.PublicKey { return s.public }

// Sign signs p.
func (s *Signer) Sign(_ context.Context, p envelope.Preimage) (did.Signature, error) {
	return did.Signature(ed25519.Sign(s.private, p.Bytes())), nil
}

// Keys is a key source that lists the keys of some DIDs: DID, then kid, then key. Its version is always "1-test".
type Keys map[did.DID]map[string]did.PublicKey

// Key returns the listed key, or envelope.ErrUnknownKey.
func (k Keys) Key(_ context.Context, signer did.DID, kid string) (did.Key, error) {
	public, ok := k[signer][kid]
	if !ok {
		return did.Key{}, envelope.ErrUnknownKey
	}
	return did.Key{Public: public, Version: "1-test"}, nil
}
