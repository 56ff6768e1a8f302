package didwebvh

import (
	"context"
	"fmt"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/integrity"
	"trustnode/did/strictjson"
)

// proof is one eddsa-jcs-2022 proof as it stood in a log or witness file.
type proof struct {
	suite integrity.Proof
	key   string           // multikey text of the did:key that signed
	raw   strictjson.Value // as read
}

// parseProof reads the form. Members beyond these change what a proof means
// (an own @context, an expiry) and none is needed in a log.
func parseProof(v strictjson.Value) (proof, error) {
	for _, m := range v.Members() {
		switch m.Name {
		case "id", "type", "cryptosuite", "proofPurpose", "verificationMethod", "proofValue":
		case "created":
			s, _ := m.Value.Text()
			if _, err := parseTime(s); err != nil {
				return proof{}, err
			}
		default:
			return proof{}, fmt.Errorf("proof has a member %q", m.Name)
		}
	}
	p, err := integrity.Parse(v)
	if err != nil {
		return proof{}, err
	}
	if p.Purpose != did.AssertionMethod {
		return proof{}, fmt.Errorf("proof proofPurpose is %q, not %q", p.Purpose, did.AssertionMethod)
	}
	key, err := proofKey(p.Method)
	if err != nil {
		return proof{}, err
	}
	return proof{suite: p, key: key, raw: v}, nil
}

func (p proof) verify(key did.PublicKey, document [32]byte) error {
	return p.suite.Verify(key, document)
}

// proofKey takes K out of did:key:K#K. The key itself is decoded with the lists it must be in.
func proofKey(method string) (string, error) {
	d, fragment, _ := strings.Cut(method, "#")
	key, ok := strings.CutPrefix(d, "did:key:")
	if !ok || key == "" || key != fragment {
		return "", fmt.Errorf("proof verificationMethod is not did:key:K#K")
	}
	return key, nil
}

// prove makes a proof over a document hash.
func prove(ctx context.Context, s envelope.Signer, document [32]byte, created time.Time) (strictjson.Value, error) {
	key := s.Public().Multikey()
	return integrity.Make(ctx, s, document, integrity.Options{
		Created: created, Method: "did:key:" + key + "#" + key, Purpose: did.AssertionMethod,
	})
}

// parseTime reads ISO 8601 in UTC, with or without a fraction of a second.
func parseTime(s string) (time.Time, error) {
	t, err := integrity.ParseTime(s)
	if err != nil || !strings.HasSuffix(s, "Z") {
		return time.Time{}, fmt.Errorf("%q is not a time in UTC", s)
	}
	return t, nil
}

func formatTime(t time.Time) string { return integrity.FormatTime(t) }
