package attestation

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
)

// TypeEvent is the payload type of an event.
const TypeEvent envelope.Type = "application/vnd.trustnode.event.v1+json"

// Type is the name of what an event says, such as "loan.issued": at most
// MaxType bytes of [a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+.
type Type string

// Event is the signed body of one statement of an organization, and its wire
// form; the members are those of SPEC.md, "Event". Order is the index in the log,
// never At, which only the signer's clock made.
type Event struct {
	Actor   did.DID       `json:"actor,omitempty"`
	At      envelope.Time `json:"at"`
	Body    envelope.ID   `json:"body,omitempty"`
	Data    envelope.Raw  `json:"data"`
	Kid     string        `json:"kid"`
	Nonce   string        `json:"nonce"`
	Org     did.DID       `json:"org"`
	Refs    []envelope.ID `json:"refs"`
	Subject string        `json:"subject,omitempty"`
	Type    Type          `json:"type"`
}

// Payload implements envelope.Body.
func (e Event) Payload() envelope.Type { return TypeEvent }

// Signer implements envelope.Body: the organization whose log it is for.
func (e Event) Signer() (did.DID, string) { return e.Org, e.Kid }

// MaxBytes is the cap of an event body.
func (e Event) MaxBytes() int { return MaxEvent }

// Check implements envelope.Body: the form rules that hold for every type,
// known here or not. What a known type adds is [CheckKnown].
func (e Event) Check() error {
	switch {
	case !e.Type.Valid():
		return fmt.Errorf("event type %.60q has not the form of one", string(e.Type))
	case e.Org.IsZero():
		return errors.New("event names no organization")
	case !did.IsFragment(e.Kid):
		return errors.New("event kid is not a fragment")
	case e.At.IsZero():
		return errors.New("event has no time")
	case len(e.Refs) > MaxRefs:
		return fmt.Errorf("event has %d refs, limit %d", len(e.Refs), MaxRefs)
	case len(e.Data) == 0 || e.Data[0] != '{':
		return errors.New("event data is not an object")
	}
	if err := checkSubject(e.Subject); err != nil {
		return err
	}
	return CheckNonce(e.Nonce)
}

// Decode reads the data of e into v, strictly.
func (e Event) Decode(v any) error { return envelope.Unmarshal(e.Data, v) }

// Valid reports whether t has the form of a type name.
func (t Type) Valid() bool {
	if len(t) > MaxType {
		return false
	}
	parts := strings.Split(string(t), ".")
	for i, p := range parts {
		if !validPart(p, i > 0) {
			return false
		}
	}
	return len(parts) > 1
}

func validPart(p string, under bool) bool {
	for i := 0; i < len(p); i++ {
		c := p[i]
		letter := c >= 'a' && c <= 'z'
		digit := c >= '0' && c <= '9'
		if !letter && (i == 0 || !digit && !(under && c == '_')) {
			return false
		}
	}
	return p != ""
}

func checkSubject(s string) error {
	if s == "" {
		return nil
	}
	if _, err := envelope.ParseID(s); err == nil {
		return nil
	}
	if _, err := did.Parse(s); err != nil {
		return errors.New("event subject is neither an id nor a DID")
	}
	return nil
}

// CheckNonce reports whether s is 16 bytes in unpadded base64url, spelled in
// the one way there is.
func CheckNonce(s string) error {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != nonceBytes || strings.ContainsAny(s, "\r\n") {
		return errors.New("nonce is not 16 bytes of base64url")
	}
	return nil
}

// Draft is a statement before it has a place: who drafts it adds org, kid, at
// and nonce.
type Draft struct {
	Type    Type
	Subject string        // a DID or an id; "" where the type has none
	Refs    []envelope.ID // in the order the type names
	Data    any           // the type's data struct; nil is {}
	Actor   did.DID       // optional: in whose name
	Body    []byte        // optional: the attached body's canonical bytes
}

// Head is the size and RFC 6962 root of a log. The root of an empty log is the
// SHA-256 of nothing.
type Head struct {
	Size uint64
	Root envelope.ID
}

// Seen says that an organization had seen an event by a time: its earliest
// cosignature over a head that covers it.
type Seen struct {
	Org did.DID
	At  envelope.Time
}

// Fact is the one input of every fold: an event that is authored and valid.
type Fact struct {
	Event     envelope.Verified[Event]
	Index     uint64
	Body      []byte // the attached body; nil when there is none or it is not held
	Witnessed []Seen // earliest cosignature of each organization, by time and organization
}

// SeenOutside returns when the first organization for which counts returns
// true had seen f, and false while none has.
func (f Fact) SeenOutside(counts func(did.DID) bool) (envelope.Time, bool) {
	for _, s := range f.Witnessed {
		if counts(s.Org) {
			return s.At, true
		}
	}
	return envelope.Time{}, false
}
