package integrity

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// What names the one suite of this package in a proof.
const (
	Type        = "DataIntegrityProof"
	Cryptosuite = "eddsa-jcs-2022"
)

// Errors of this package. A signature that does not verify is did.ErrSignature.
var (
	// ErrUnsupported: the proof is of another suite, or holds a member whose rule is not kept here. Nothing was decided.
	ErrUnsupported = errors.New("proof is not supported")
	// ErrProof: the proof is malformed, or does not fit the document it stands in.
	ErrProof = errors.New("bad proof")
)

// Proof is one eddsa-jcs-2022 proof that was read and not yet verified. Made by Parse.
type Proof struct {
	Method  string           // verificationMethod as written, never empty
	Purpose did.Relationship // proofPurpose as written, never empty
	Created time.Time        // zero if absent
	Expires time.Time        // zero if absent
	Context strictjson.Value // the proof's own @context; the zero Value if absent

	config []byte // RFC 8785 form of the proof without its value
	sig    did.Signature
	signed bool // proofValue was there
}

// Parse reads a proof: VC Data Integrity 1.0, section 2.1. Members beyond those of Proof, id and nonce are ErrUnsupported:
// previousProof makes a chain, domain and challenge bind the proof to an exchange this package knows nothing of, and one
// that is not known could bind it to anything. Errors: ErrUnsupported, ErrProof.
func Parse(v strictjson.Value) (Proof, error) {
	if v.Kind() != strictjson.Object {
		return Proof{}, fmt.Errorf("%w: it is %v, expected object", ErrProof, v.Kind())
	}
	if err := suite(v); err != nil {
		return Proof{}, err
	}
	var p Proof
	for _, m := range v.Members() {
		if err := p.member(m.Name, m.Value); err != nil {
			return Proof{}, err
		}
	}
	if p.Method == "" || p.Purpose == "" || !p.signed {
		return Proof{}, fmt.Errorf("%w: it lacks a method, a purpose or a value", ErrProof)
	}
	var err error
	if p.config, err = v.Without("proofValue").Canonical(); err != nil {
		return Proof{}, fmt.Errorf("%w: %v", ErrProof, err)
	}
	return p, nil
}

// suite is looked at before all else: what another suite means by its members is not this package's to judge.
func suite(v strictjson.Value) error {
	for _, want := range [...]struct{ name, text string }{{"type", Type}, {"cryptosuite", Cryptosuite}} {
		m, _ := v.Get(want.name)
		s, ok := m.Text()
		if !ok {
			return fmt.Errorf("%w: %s is missing or no string", ErrProof, want.name)
		}
		if s != want.text {
			return fmt.Errorf("%w: %s is %.64q", ErrUnsupported, want.name, s)
		}
	}
	return nil
}

func (p *Proof) member(name string, v strictjson.Value) (err error) {
	if name == "@context" {
		p.Context = v
		return nil
	}
	s, ok := v.Text()
	switch name {
	case "type", "cryptosuite", "id", "nonce":
	case "verificationMethod":
		p.Method = s
	case "proofPurpose":
		p.Purpose = did.Relationship(s)
	case "created":
		p.Created, err = ParseTime(s)
	case "expires":
		p.Expires, err = ParseTime(s)
	case "proofValue":
		p.signed = true
		p.sig, err = parseSignature(s)
	default:
		return fmt.Errorf("%w: member %.64q", ErrUnsupported, name)
	}
	if !ok {
		return fmt.Errorf("%w: %s is %v, expected string", ErrProof, name, v.Kind())
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %v", ErrProof, name, err)
	}
	return nil
}

var errValue = errors.New("not base58btc of 64 bytes")

// parseSignature needs no look at the text again: base58btc of 64 bytes has one spelling.
func parseSignature(s string) (did.Signature, error) {
	if !strings.HasPrefix(s, "z") || len(s) > maxProofValue {
		return did.Signature{}, errValue
	}
	raw, err := did.ParseMultibase(s)
	if err != nil || len(raw) != len(did.Signature{}) {
		return did.Signature{}, errValue
	}
	return did.Signature(raw), nil
}

var errTime = errors.New("not a time with an offset from UTC")

// ParseTime reads an XML Schema dateTimeStamp of the years 0001 to 9999: "2026-12-01T10:00:00Z", with an optional fraction
// of up to nine digits, "Z" or an offset. The zero time.Time is refused, since it stands for none.
func ParseTime(s string) (time.Time, error) {
	const layout = "2006-01-02T15:04:05"
	if len(s) <= len(layout) || len(s) > maxTime {
		return time.Time{}, errTime
	}
	digits, fraction := strings.CutPrefix(s[len(layout):], ".")
	if n := len(digits) - len(strings.TrimLeft(digits, "0123456789")); fraction && n > 9 || s[len(layout)] == ',' {
		return time.Time{}, errTime
	}
	// Parse takes more than RFC 3339 has: a comma above, here an hour of one digit.
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Format(layout) != s[:len(layout)] || t.IsZero() || t.UTC().Year() < 1 {
		return time.Time{}, errTime
	}
	return t.UTC(), nil
}

// Verify returns nil if key made p over the document whose RFC 8785 form, without proofs, has the SHA-256 hash document.
// Errors: did.ErrSignature; did.ErrNotSigning for a key that is not Ed25519.
func (p Proof) Verify(key did.PublicKey, document [sha256.Size]byte) error {
	return key.Verify(preimage(p.config, document).Bytes(), p.sig)
}

// preimage is what eddsa-jcs-2022 signs: the hash of the proof without its value, then that of the document.
func preimage(config []byte, document [sha256.Size]byte) envelope.Preimage {
	options := sha256.Sum256(config)
	return envelope.DataIntegrity([64]byte(append(options[:], document[:]...)))
}
