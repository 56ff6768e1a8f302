package lending

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
)

// ErrRandom is wrapped where a salt or nonce is not the unpadded base64url of
// its number of bytes, or is all zero: then nobody drew it.
var ErrRandom = errors.New("invalid salt or nonce")

// Salt is 16 random bytes: the nonce of a request, the salt of an answer or a
// row. As text it is unpadded base64url. The zero Salt is refused.
type Salt [16]byte

// Nonce is the 8 random bytes that keep the ids of two equal permissions apart.
// As text it is unpadded base64url. The zero Nonce is refused.
type Nonce [8]byte

// NewSalt draws a Salt.
func NewSalt() (s Salt) { rand.Read(s[:]); return s }

// NewNonce draws a Nonce.
func NewNonce() (n Nonce) { rand.Read(n[:]); return n }

// IsZero reports whether s was never drawn.
func (s Salt) IsZero() bool { return s == Salt{} }

// IsZero reports whether n was never drawn.
func (n Nonce) IsZero() bool { return n == Nonce{} }

// String returns the text.
func (s Salt) String() string { return base64.RawURLEncoding.EncodeToString(s[:]) }

// String returns the text.
func (n Nonce) String() string { return base64.RawURLEncoding.EncodeToString(n[:]) }

// MarshalText returns the text.
func (s Salt) MarshalText() ([]byte, error) { return randomText(s[:]) }

// MarshalText returns the text.
func (n Nonce) MarshalText() ([]byte, error) { return randomText(n[:]) }

// UnmarshalText takes the one text of 16 bytes.
func (s *Salt) UnmarshalText(b []byte) error { return readRandom(s[:], b) }

// UnmarshalText takes the one text of 8 bytes.
func (n *Nonce) UnmarshalText(b []byte) error { return readRandom(n[:], b) }

func randomText(b []byte) ([]byte, error) {
	if allZero(b) {
		return nil, fmt.Errorf("%w: never drawn", ErrRandom)
	}
	return base64.RawURLEncoding.AppendEncode(nil, b), nil
}

// strict refuses a last character whose unused bits are set: a nonce has one
// spelling.
var strict = base64.RawURLEncoding.Strict()

func readRandom(dst, text []byte) error {
	if len(text) != strict.EncodedLen(len(dst)) {
		return fmt.Errorf("%w: %d characters, want %d", ErrRandom, len(text), strict.EncodedLen(len(dst)))
	}
	got, err := strict.AppendDecode(nil, text)
	if err != nil || len(got) != len(dst) {
		return fmt.Errorf("%w: not unpadded base64url", ErrRandom)
	}
	if allZero(got) {
		return fmt.Errorf("%w: all zero", ErrRandom)
	}
	copy(dst, got)
	return nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
