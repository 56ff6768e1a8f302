package did

import (
	"crypto/ecdh"
	"fmt"

	"trustnode/did/strictjson"
)

// DecodeJWK reads a public JSON Web Key (RFC 7517, RFC 8037): OKP with Ed25519 or X25519, EC with P-256, members in
// unpadded base64url of exact length. A private or symmetric member refuses the key. Ed25519 and P-256 keys marked for
// encryption, or whose key_ops lack "verify", are ErrNotSigning. Other errors as for DecodeKey.
func DecodeJWK(raw []byte) (PublicKey, error) {
	if len(raw) > MaxJWK {
		return PublicKey{}, fmt.Errorf("JWK of %d bytes: %w", len(raw), ErrTooLarge)
	}
	v, err := strictjson.Parse(raw, jwkDepth)
	if err != nil {
		return PublicKey{}, fmt.Errorf("JWK: %v: %w", err, ErrKeyText)
	}
	return decodeJWK(v)
}

func decodeJWK(v strictjson.Value) (PublicKey, error) {
	if v.Kind() != strictjson.Object {
		return PublicKey{}, fmt.Errorf("JWK is no object: %w", ErrKeyText)
	}
	for _, name := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} {
		if _, ok := v.Get(name); ok {
			return PublicKey{}, fmt.Errorf("JWK holds the private member %s: %w", name, ErrKeyInvalid)
		}
	}
	k, err := jwkPoint(v)
	if err != nil {
		return PublicKey{}, err
	}
	if k.alg != X25519 && !jwkSigns(v) {
		return PublicKey{}, fmt.Errorf("JWK is marked for another use: %w", ErrNotSigning)
	}
	return k, nil
}

func jwkPoint(v strictjson.Value) (PublicKey, error) {
	kty, err := jwkText(v, "kty")
	if err != nil {
		return PublicKey{}, err
	}
	if kty != "OKP" && kty != "EC" {
		return PublicKey{}, fmt.Errorf("JWK type: %w", ErrKeyUnsupported)
	}
	crv, err := jwkText(v, "crv")
	if err != nil {
		return PublicKey{}, err
	}
	switch kty + " " + crv {
	case "OKP Ed25519", "OKP X25519":
		return jwkOctets(v, crv)
	case "EC P-256":
		return jwkP256(v)
	}
	return PublicKey{}, fmt.Errorf("JWK curve: %w", ErrKeyUnsupported)
}

func jwkOctets(v strictjson.Value, crv string) (PublicKey, error) {
	x, err := jwkBytes(v, "x")
	if err != nil {
		return PublicKey{}, err
	}
	if _, ok := v.Get("y"); ok {
		return PublicKey{}, fmt.Errorf("OKP key has a y: %w", ErrKeyInvalid)
	}
	if crv == "Ed25519" {
		return NewEd25519(x)
	}
	return NewX25519(x)
}

func jwkP256(v strictjson.Value) (PublicKey, error) {
	x, err := jwkBytes(v, "x")
	if err != nil {
		return PublicKey{}, err
	}
	y, err := jwkBytes(v, "y")
	if err != nil {
		return PublicKey{}, err
	}
	point := append(append([]byte{4}, x...), y...)
	if _, err := ecdh.P256().NewPublicKey(point); err != nil {
		return PublicKey{}, fmt.Errorf("no point on P-256: %w", ErrKeyInvalid)
	}
	return newKey(P256, append([]byte{2 + y[31]&1}, x...)), nil
}

// jwkBytes reads a member of exactly 32 bytes.
func jwkBytes(v strictjson.Value, name string) ([]byte, error) {
	text, err := jwkText(v, name)
	if err != nil {
		return nil, err
	}
	b, err := decodeBase64URL(text)
	if err != nil {
		return nil, fmt.Errorf("JWK member %s: %v: %w", name, err, ErrKeyText)
	}
	if len(b) != 32 {
		return nil, fmt.Errorf("JWK member %s of %d bytes, expected 32: %w", name, len(b), ErrKeyLength)
	}
	return b, nil
}

func jwkText(v strictjson.Value, name string) (string, error) {
	m, _ := v.Get(name)
	s, ok := m.Text()
	if !ok {
		return "", fmt.Errorf("JWK lacks the string %s: %w", name, ErrKeyText)
	}
	return s, nil
}

func jwkSigns(v strictjson.Value) bool {
	if use, ok := v.Get("use"); ok {
		if s, _ := use.Text(); s != "sig" {
			return false
		}
	}
	ops, ok := v.Get("key_ops")
	if !ok {
		return true
	}
	for _, op := range ops.Elements() {
		if s, _ := op.Text(); s == "verify" {
			return true
		}
	}
	return false
}
