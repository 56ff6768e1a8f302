package did

import (
	"bytes"
	"crypto/ed25519"
	"crypto/elliptic"
	"errors"
	"fmt"
	"strconv"

	"filippo.io/edwards25519"
)

// Errors of the key decoders. ErrKeyText means that the text, base or codec prefix is malformed (did:key 0.9:
// invalidDid); the others are invalidPublicKeyLength, invalidPublicKey and unsupportedPublicKeyType there. ErrTooLarge
// is the fifth. No message quotes the text, which could be a private key's.
var (
	ErrKeyText        = errors.New("malformed key text")
	ErrKeyLength      = errors.New("wrong public key length")
	ErrKeyInvalid     = errors.New("invalid public key")
	ErrKeyUnsupported = errors.New("unsupported public key type")
)

// ErrSignature says that a signature was not made over this message by this key.
var ErrSignature = errors.New("signature does not verify")

// ErrNotSigning says that a key's algorithm cannot verify signatures here: everything but Ed25519.
var ErrNotSigning = errors.New("not a signing key")

// Algorithm is what a key is for. Values are stored: never reorder, never reuse.
type Algorithm uint8

// The algorithms a PublicKey can have. Only Ed25519 verifies; the others are read and compared.
const (
	Ed25519 Algorithm = iota + 1
	P256
	X25519
)

// String returns the algorithm's usual name.
func (a Algorithm) String() string {
	switch a {
	case Ed25519:
		return "Ed25519"
	case P256:
		return "P-256"
	case X25519:
		return "X25519"
	}
	return "algorithm " + strconv.Itoa(int(a))
}

// size is the length of the raw key in bytes; P-256 keys are compressed points.
func (a Algorithm) size() int {
	if a == P256 {
		return 33
	}
	return 32
}

// PublicKey is a checked public key. Comparable: two keys are equal if algorithm and raw bytes are, however each was
// written. The zero value is no key. Made by DecodeKey and the other decoders of this package.
type PublicKey struct {
	alg Algorithm
	raw [33]byte // alg.size() bytes, then zero
}

// NewEd25519 makes a key of 32 raw bytes (RFC 8032, section 5.1.2). It refuses y ≥ p, points off the curve, every
// encoding that is not the point's own, and points of small order, under which one signature fits many messages.
// Errors: ErrKeyLength, ErrKeyInvalid.
func NewEd25519(raw []byte) (PublicKey, error) {
	if len(raw) != 32 {
		return PublicKey{}, lengthError(Ed25519, len(raw))
	}
	var p edwards25519.Point
	if _, err := p.SetBytes(raw); err != nil {
		return PublicKey{}, fmt.Errorf("point is not on the curve: %w", ErrKeyInvalid)
	}
	if !reduced(raw) {
		return PublicKey{}, fmt.Errorf("point is not in its canonical encoding: %w", ErrKeyInvalid)
	}
	if p.MultByCofactor(&p).Equal(edwards25519.NewIdentityPoint()) == 1 {
		return PublicKey{}, fmt.Errorf("point of small order: %w", ErrKeyInvalid)
	}
	return newKey(Ed25519, raw), nil
}

// reduced reports whether the y in 32 bytes is below p = 2^255 - 19. Then the encoding of a point is its own, but where
// x is 0 and the sign says negative; both points with x = 0 are of small order. Encoding the point anew would tell the
// same at twice the price.
func reduced(raw []byte) bool {
	if raw[31]&0x7f != 0x7f || raw[0] < 0xed {
		return true
	}
	for _, b := range raw[1:31] {
		if b != 0xff {
			return true
		}
	}
	return false
}

// NewP256 makes a key of 33 raw bytes, a compressed point (SEC 1, section 2.3.3) on the curve.
// Errors: ErrKeyLength, ErrKeyInvalid.
func NewP256(raw []byte) (PublicKey, error) {
	if len(raw) != 33 {
		return PublicKey{}, lengthError(P256, len(raw))
	}
	if x, _ := elliptic.UnmarshalCompressed(elliptic.P256(), raw); x == nil {
		return PublicKey{}, fmt.Errorf("no compressed point on P-256: %w", ErrKeyInvalid)
	}
	return newKey(P256, raw), nil
}

// NewX25519 makes a key-agreement key of 32 raw bytes (RFC 7748, section 5), all of which are valid.
// Error: ErrKeyLength.
func NewX25519(raw []byte) (PublicKey, error) {
	if len(raw) != 32 {
		return PublicKey{}, lengthError(X25519, len(raw))
	}
	return newKey(X25519, raw), nil
}

func newKey(a Algorithm, raw []byte) PublicKey {
	k := PublicKey{alg: a}
	copy(k.raw[:], raw)
	return k
}

func lengthError(a Algorithm, n int) error {
	return fmt.Errorf("%v key of %d bytes, expected %d: %w", a, n, a.size(), ErrKeyLength)
}

// Algorithm returns what the key is for, zero for the zero key.
func (k PublicKey) Algorithm() Algorithm { return k.alg }

// IsZero reports whether k is no key.
func (k PublicKey) IsZero() bool { return k.alg == 0 }

// Raw returns a copy of the raw bytes: 32 for Ed25519 and X25519, 33 for P-256, nil for the zero key.
func (k PublicKey) Raw() []byte {
	if k.alg == 0 {
		return nil
	}
	return bytes.Clone(k.raw[:k.alg.size()])
}

// Verify returns nil if sig is the Ed25519 signature (RFC 8032) of msg under k. The equation is cofactorless and S must
// be canonical, the verdict of crypto/ed25519. Errors: ErrSignature; ErrNotSigning for any other kind of key.
func (k PublicKey) Verify(msg []byte, sig Signature) error {
	if k.alg != Ed25519 {
		return fmt.Errorf("%v: %w", k.alg, ErrNotSigning)
	}
	if !ed25519.Verify(k.raw[:32], msg, sig[:]) {
		return ErrSignature
	}
	return nil
}

// Signature is an Ed25519 signature, R then S.
type Signature [64]byte

// ParseSignature copies a signature of exactly 64 bytes; any other length is ErrSignature.
func ParseSignature(b []byte) (Signature, error) {
	if len(b) != len(Signature{}) {
		return Signature{}, fmt.Errorf("signature of %d bytes, expected 64: %w", len(b), ErrSignature)
	}
	return Signature(b), nil
}

// Key is a public key together with the version of the DID document that lists it: a did:webvh versionId, a snapshot's
// id, or "static" where the DID itself is the key.
type Key struct {
	Public  PublicKey
	Version string
}
