package did

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Multicodec numbers of the keys whose length is known here (multiformats table; did:key 0.9).
const (
	codecSecp256k1   = 0xe7
	codecBLS12381G1  = 0xea
	codecBLS12381G2  = 0xeb
	codecX25519      = 0xec
	codecEd25519     = 0xed
	codecBLS12381G12 = 0xee
	codecP256        = 0x1200
	codecP384        = 0x1201
	codecP521        = 0x1202
)

// codecLength is the exact length of a key in bytes, 0 if the codec is unknown.
func codecLength(codec uint64) int {
	switch codec {
	case codecEd25519, codecX25519:
		return 32
	case codecP256, codecSecp256k1:
		return 33
	case codecBLS12381G1:
		return 48
	case codecP384:
		return 49
	case codecP521:
		return 67
	case codecBLS12381G2:
		return 96
	case codecBLS12381G12:
		return 144
	}
	return 0
}

// DecodeKey reads a key from its base58btc multikey text, "z6Mk…" for Ed25519, as in did:key, update keys, witness ids
// and members. For an accepted Ed25519 key Multikey gives the same text back. Errors: ErrKeyText, ErrKeyLength,
// ErrKeyInvalid, ErrKeyUnsupported, ErrTooLarge.
func DecodeKey(text string) (PublicKey, error) {
	b, err := ParseMultibase(text)
	if err != nil {
		return PublicKey{}, err
	}
	return DecodeMultikeyBytes(b)
}

// DecodeMultikey reads publicKeyMultibase of a Multikey method in a document: base58btc as DecodeKey does, or
// unpadded base64url after "u". Errors as for DecodeKey.
func DecodeMultikey(text string) (PublicKey, error) {
	b, err := decodeMultibase(text)
	if err != nil {
		return PublicKey{}, err
	}
	return DecodeMultikeyBytes(b)
}

func decodeMultibase(text string) ([]byte, error) {
	if len(text) > MaxMultibase {
		return nil, fmt.Errorf("multibase text of %d bytes: %w", len(text), ErrTooLarge)
	}
	if !strings.HasPrefix(text, "u") {
		return ParseMultibase(text)
	}
	b, err := decodeBase64URL(text[1:])
	if err != nil {
		return nil, fmt.Errorf("%v: %w", err, ErrKeyText)
	}
	return b, nil
}

// decodeBase64URL reads unpadded base64url in its one canonical spelling. The decoder of the standard library skips
// line breaks and, unless strict, ignores trailing bits: one key would have many texts.
func decodeBase64URL(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("line break in base64url")
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("not unpadded base64url")
	}
	return b, nil
}

// DecodeMultikeyBytes reads a key from its multicodec form: a minimal unsigned varint, then the raw key.
// Errors: ErrKeyText for the varint, ErrKeyLength, ErrKeyInvalid, ErrKeyUnsupported.
func DecodeMultikeyBytes(b []byte) (PublicKey, error) {
	codec, n := binary.Uvarint(b)
	if n <= 0 {
		return PublicKey{}, fmt.Errorf("malformed codec: %w", ErrKeyText)
	}
	if n > 1 && b[n-1] == 0 {
		return PublicKey{}, fmt.Errorf("codec is not a minimal varint: %w", ErrKeyText)
	}
	raw := b[n:]
	if want := codecLength(codec); want > 0 && len(raw) != want {
		return PublicKey{}, fmt.Errorf("codec 0x%x with %d bytes, expected %d: %w", codec, len(raw), want, ErrKeyLength)
	}
	switch codec {
	case codecEd25519:
		return NewEd25519(raw)
	case codecP256:
		return NewP256(raw)
	case codecX25519:
		return NewX25519(raw)
	}
	return PublicKey{}, fmt.Errorf("codec 0x%x: %w", codec, ErrKeyUnsupported)
}

// DecodeBase58Key reads publicKeyBase58, or codec-less publicKeyMultibase without its "z", of the two method types
// that carry raw keys: Ed25519VerificationKey2018 and X25519KeyAgreementKey2019. a says which. Errors as for DecodeKey.
func DecodeBase58Key(text string, a Algorithm) (PublicKey, error) {
	b, err := ParseBase58(text)
	if err != nil {
		return PublicKey{}, err
	}
	switch a {
	case Ed25519:
		return NewEd25519(b)
	case X25519:
		return NewX25519(b)
	}
	return PublicKey{}, fmt.Errorf("%v in base58: %w", a, ErrKeyUnsupported)
}

// MultikeyBytes returns the multicodec form: the codec as varint, then the raw key; nil for the zero key.
func (k PublicKey) MultikeyBytes() []byte {
	var codec uint64
	switch k.alg {
	case Ed25519:
		codec = codecEd25519
	case P256:
		codec = codecP256
	case X25519:
		codec = codecX25519
	default:
		return nil
	}
	b := binary.AppendUvarint(make([]byte, 0, 36), codec)
	return append(b, k.raw[:k.alg.size()]...)
}

// Multikey returns the base58btc multikey text, "z6Mk…" for Ed25519, and "" for the zero key.
func (k PublicKey) Multikey() string {
	if k.alg == 0 {
		return ""
	}
	return Multibase(k.MultikeyBytes())
}

// String returns Multikey.
func (k PublicKey) String() string { return k.Multikey() }

// MarshalText returns Multikey; the zero key is an error.
func (k PublicKey) MarshalText() ([]byte, error) {
	if k.alg == 0 {
		return nil, errors.New("public key is missing")
	}
	return []byte(k.Multikey()), nil
}

// UnmarshalText is DecodeKey.
func (k *PublicKey) UnmarshalText(b []byte) error {
	p, err := DecodeKey(string(b))
	if err != nil {
		return err
	}
	*k = p
	return nil
}
