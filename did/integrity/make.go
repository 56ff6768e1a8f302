package integrity

import (
	"context"
	"crypto/sha256"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// Options is what a new proof says besides its value.
type Options struct {
	Context strictjson.Value // the document's @context, which the proof repeats; the zero Value if it has none
	Created time.Time        // cut to whole seconds UTC
	Method  string           // verificationMethod: a DID URL with the key's fragment
	Purpose did.Relationship
}

// Make signs the document whose RFC 8785 form has the SHA-256 hash document and returns the proof: VC Data Integrity EdDSA
// 1.0, section 3.3.1. Ed25519 is deterministic, so equal arguments give equal proofs. Errors are the signer's, and that of
// a text that is not UTF-8.
func Make(ctx context.Context, s envelope.Signer, document [sha256.Size]byte, o Options) (strictjson.Value, error) {
	v := o.value()
	config, err := v.Canonical()
	if err != nil {
		return strictjson.Value{}, err
	}
	sig, err := s.Sign(ctx, preimage(config, document))
	if err != nil {
		return strictjson.Value{}, err
	}
	return v.With("proofValue", strictjson.StringOf(did.Multibase(sig[:]))), nil
}

func (o Options) value() strictjson.Value {
	var members []strictjson.Member
	if o.Context.Kind() != 0 {
		members = append(members, strictjson.Member{Name: "@context", Value: o.Context})
	}
	for _, m := range [...][2]string{
		{"type", Type}, {"cryptosuite", Cryptosuite}, {"created", FormatTime(o.Created)},
		{"verificationMethod", o.Method}, {"proofPurpose", string(o.Purpose)},
	} {
		members = append(members, strictjson.Member{Name: m[0], Value: strictjson.StringOf(m[1])})
	}
	return strictjson.ObjectOf(members...)
}

// FormatTime writes t in whole seconds UTC, as Make does: "2026-12-01T10:00:00Z".
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
