package didwebvh

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// proof is one eddsa-jcs-2022 proof as it stood in a log or witness file.
type proof struct {
	key    string           // multikey text of the did:key that signed
	config []byte           // RFC 8785 form of the proof without its value
	sig    did.Signature    //
	raw    strictjson.Value // as read
}

// proofFixed holds the members of a proof whose values the method fixes.
var proofFixed = map[string]string{
	"type": "DataIntegrityProof", "cryptosuite": "eddsa-jcs-2022", "proofPurpose": "assertionMethod",
}

// parseProof reads the form. Members beyond these change what a proof means
// (an own @context, an expiry, a previous proof) and none is needed in a log.
func parseProof(v strictjson.Value) (proof, error) {
	p := proof{raw: v}
	seen := 0
	for _, m := range v.Members() {
		s, ok := m.Value.Text()
		if !ok {
			return proof{}, fmt.Errorf("proof member %q is not a string", m.Name)
		}
		if want, fixed := proofFixed[m.Name]; fixed {
			if s != want {
				return proof{}, fmt.Errorf("proof %s is %q, not %q", m.Name, s, want)
			}
			seen++
			continue
		}
		if err := p.member(m.Name, s); err != nil {
			return proof{}, err
		}
	}
	if seen != len(proofFixed) || p.key == "" || p.sig == (did.Signature{}) {
		return proof{}, fmt.Errorf("proof lacks a member")
	}
	var err error
	p.config, err = v.Without("proofValue").Canonical()
	return p, err
}

func (p *proof) member(name, s string) (err error) {
	switch name {
	case "verificationMethod":
		p.key, err = proofKey(s)
	case "proofValue":
		p.sig, err = decodeSignature(s)
	case "created":
		_, err = parseTime(s)
	case "id":
	default:
		err = fmt.Errorf("proof has a member %q", name)
	}
	return err
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

// maxProofValue is the longest base58btc text of 64 bytes, with its multibase letter.
const maxProofValue = 1 + 88

func decodeSignature(s string) (did.Signature, error) {
	if !strings.HasPrefix(s, "z") || len(s) > maxProofValue {
		return did.Signature{}, fmt.Errorf("proofValue is not base58btc of 64 bytes")
	}
	raw, err := did.ParseMultibase(s)
	if err != nil || len(raw) != len(did.Signature{}) || did.Multibase(raw) != s {
		return did.Signature{}, fmt.Errorf("proofValue is not base58btc of 64 bytes")
	}
	return did.Signature(raw), nil
}

// preimage is what eddsa-jcs-2022 signs: VC Data Integrity EdDSA, section 3.3.4.
func preimage(config []byte, document [32]byte) envelope.Preimage {
	options := sha256.Sum256(config)
	return envelope.DataIntegrity([64]byte(append(options[:], document[:]...)))
}

func (p proof) verify(key did.PublicKey, document [32]byte) error {
	return key.Verify(preimage(p.config, document).Bytes(), p.sig)
}

// prove makes a proof over a document hash.
func prove(ctx context.Context, s envelope.Signer, document [32]byte, created time.Time) (strictjson.Value, error) {
	key := s.Public().Multikey()
	v := strictjson.ObjectOf(
		member("type", strictjson.StringOf(proofFixed["type"])),
		member("cryptosuite", strictjson.StringOf(proofFixed["cryptosuite"])),
		member("created", strictjson.StringOf(formatTime(created))),
		member("verificationMethod", strictjson.StringOf("did:key:"+key+"#"+key)),
		member("proofPurpose", strictjson.StringOf(proofFixed["proofPurpose"])),
	)
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

// parseTime reads ISO 8601 in UTC, with or without a fraction of a second.
func parseTime(s string) (time.Time, error) {
	const layout = "2006-01-02T15:04:05"
	body, ok := strings.CutSuffix(s, "Z")
	if !ok || len(body) < len(layout) || len(body) > len(layout)+10 {
		return time.Time{}, fmt.Errorf("%q is not a time in UTC", s)
	}
	fraction := body[len(layout):]
	if fraction != "" && (fraction[0] != '.' || strings.Trim(fraction[1:], "0123456789") != "" || len(fraction) < 2) {
		return time.Time{}, fmt.Errorf("%q is not a time in UTC", s)
	}
	t, err := time.Parse(layout, body)
	if err != nil || t.Format(layout) != body[:len(layout)] {
		return time.Time{}, fmt.Errorf("%q is not a time in UTC", s)
	}
	return t, nil
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
