package didjwk

import (
	"errors"
	"fmt"
	"slices"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// signing are the relationships of a key that signs, in the order of the document's members.
var signing = []did.Relationship{
	did.AssertionMethod, did.Authentication, did.CapabilityDelegation, did.CapabilityInvocation,
}

// relationships returns what the document lists the key under: what its algorithm can serve, narrowed by its use and
// key_ops. A key left with nothing is refused.
func relationships(jwk strictjson.Value) ([]did.Relationship, error) {
	key, err := did.DecodeJWK(jwk.Raw())
	signs := err == nil && key.Algorithm() != did.X25519
	if errors.Is(err, did.ErrNotSigning) {
		key, err = did.DecodeJWK(jwk.Without("use").Without("key_ops").Raw())
	}
	if err != nil {
		return nil, err
	}
	var rels []did.Relationship
	if signs {
		rels = append(rels, signing...)
	}
	if key.Algorithm() != did.Ed25519 && mayEncrypt(jwk) {
		rels = append(rels, did.KeyAgreement)
	}
	if len(rels) == 0 {
		return nil, fmt.Errorf("%v key is marked for a use it cannot serve: %w", key.Algorithm(), did.ErrKeyInvalid)
	}
	return rels, nil
}

// mayEncrypt reports whether the key's use leaves room for key agreement.
func mayEncrypt(jwk strictjson.Value) bool {
	use, ok := jwk.Get("use")
	text, _ := use.Text()
	return !ok || text == "enc"
}

const contexts = `["https://www.w3.org/ns/did/v1","https://w3id.org/security/jwk/v1"]`

// document returns the document of d in its RFC 8785 form, so that it has one byte string; rels are in the order of its
// members. DIDs hold no character that JSON escapes. A foreign member of the key may hold a number that has no such form:
// did.ErrKeyText.
func document(d did.DID, jwk strictjson.Value, rels []did.Relationship) ([]byte, error) {
	key, err := jwk.Canonical()
	if err != nil {
		return nil, fmt.Errorf("JWK: %v: %w", err, did.ErrKeyText)
	}
	id := d.String()
	method := id + "#" + Fragment
	b := make([]byte, 0, 512+8*len(method)+len(key))
	b = append(b, `{"@context":`+contexts...)
	for _, rel := range rels {
		if rel != did.KeyAgreement {
			b = append(b, `,"`+string(rel)+`":["`+method+`"]`...)
		}
	}
	b = append(b, `,"id":"`+id+`"`...)
	if slices.Contains(rels, did.KeyAgreement) {
		b = append(b, `,"`+string(did.KeyAgreement)+`":["`+method+`"]`...)
	}
	b = append(b, `,"verificationMethod":[{"controller":"`+id+`","id":"`+method+`","publicKeyJwk":`...)
	return append(append(b, key...), `,"type":"JsonWebKey"}]}`...), nil
}
