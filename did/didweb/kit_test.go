package didweb_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

const beta = "did:web:beta.example"

var (
	at     = envelope.TimeOf(time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC))
	k1, k2 = seeded(0x11), seeded(0x13)
)

func seeded(b byte) did.PublicKey {
	priv := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, 32))
	k, err := did.NewEd25519(priv.Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	return k
}

// method is one verification method of d; more are members to add, each with its comma.
func method(d, kid string, k did.PublicKey, more ...string) string {
	s := fmt.Sprintf(`{"id":"%s#%s","type":"Multikey","controller":"%s","publicKeyMultibase":"%s"`, d, kid, d, k)
	for _, m := range more {
		s += m
	}
	return s + "}"
}

// document lists methods, a JSON list without its brackets, and names kids under assertionMethod.
func document(d, methods string, kids ...string) []byte {
	refs := ""
	for i, k := range kids {
		if i > 0 {
			refs += ","
		}
		refs += `"#` + k + `"`
	}
	return fmt.Appendf(nil, `{"id":"%s","verificationMethod":[%s],"assertionMethod":[%s]}`, d, methods, refs)
}

// with adds a member to a document.
func with(doc []byte, member string) []byte {
	return append(bytes.TrimSuffix(bytes.Clone(doc), []byte("}")), ","+member+"}"...)
}

func name(err error) did.ErrorName {
	var r *did.ResolutionError
	if errors.As(err, &r) {
		return r.Name
	}
	return ""
}
