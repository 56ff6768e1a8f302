package did

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did/strictjson"
)

// Errors of Document.Key.
var (
	// ErrNoMethod: no verification method has this id, or its id or controller is another DID.
	ErrNoMethod = errors.New("no such verification method")
	// ErrRelationship: the method exists but is not listed under the relationship asked for.
	ErrRelationship = errors.New("verification method lacks the relationship")
	// ErrUnusable: the method exists but its key cannot be used; a Warning says why.
	ErrUnusable = errors.New("verification method is unusable")
)

// ErrDocument says that bytes are no document of the DID asked for.
var ErrDocument = errors.New("bad DID document")

// Relationship is a verification relationship of DID Core 1.0, section 5.3.
type Relationship string

// The verification relationships.
const (
	Authentication       Relationship = "authentication"
	AssertionMethod      Relationship = "assertionMethod"
	KeyAgreement         Relationship = "keyAgreement"
	CapabilityInvocation Relationship = "capabilityInvocation"
	CapabilityDelegation Relationship = "capabilityDelegation"
)

var relationships = [...]Relationship{
	Authentication, AssertionMethod, KeyAgreement, CapabilityInvocation, CapabilityDelegation,
}

// Document is a DID document: its exact bytes and, beside them, a typed view of what this project understands. What is
// unknown or broken in a single method leaves that method unusable and a Warning, never the document. Immutable; the
// zero value is no document. Made by ParseDocument.
type Document struct {
	raw      []byte
	id       DID
	aka      []string
	ctrl     []string
	methods  []Method
	services []Service
	rels     map[Relationship][]string // absolute ids
	warnings []Warning
}

// Method is one verification method. Usable methods have a Public key and a nil Err.
type Method struct {
	ID         string // absolute DID URL
	Type       string
	Controller string // "" only where the document's method lets it be left out
	Public     PublicKey
	Expires    time.Time // zero for none
	Revoked    time.Time // zero for none
	Err        error     // why the key cannot be used; wraps ErrUnusable
}

// Service is one service entry. Endpoints holds the endpoints that are strings; maps among them are left out.
type Service struct {
	ID        string // absolute, where it was a relative reference
	Types     []string
	Endpoints []string
}

// ParseDocument reads a DID document (JSON representation, DID Core 1.0, section 6.2) that must be about want, at most
// MaxDocument bytes. The JSON is read strictly, the document tolerantly. Errors are ErrDocument, with line and column
// where the JSON is at fault, and ErrTooLarge.
func ParseDocument(raw []byte, want DID) (Document, error) {
	if len(raw) > MaxDocument {
		return Document{}, fmt.Errorf("DID document of %d bytes: %w", len(raw), ErrTooLarge)
	}
	v, err := strictjson.Parse(raw, MaxDocumentDepth)
	if err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	return documentOf(v, want)
}

func documentOf(v strictjson.Value, want DID) (Document, error) {
	p := docParser{doc: Document{raw: v.Raw(), id: want, rels: map[Relationship][]string{}}}
	if err := p.parse(v); err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	return p.doc, nil
}

// Raw returns the document's exact bytes without surrounding white space. The caller must not change them.
func (d Document) Raw() []byte { return d.raw }

// ID returns the DID the document is about.
func (d Document) ID() DID { return d.id }

// IsZero reports whether d is no document.
func (d Document) IsZero() bool { return d.id.IsZero() }

// AlsoKnownAs returns the other names the document claims, unchecked. The caller must not change the slice.
func (d Document) AlsoKnownAs() []string { return d.aka }

// Controllers returns the document's controllers as written, empty where it names none.
func (d Document) Controllers() []string { return d.ctrl }

// Methods returns all verification methods, unusable ones too, in document order; embedded ones follow. The caller must
// not change the slice.
func (d Document) Methods() []Method { return d.methods }

// Services returns the services in document order. The caller must not change the slice.
func (d Document) Services() []Service { return d.services }

// Service returns the service with the absolute or relative id, false if there is none.
func (d Document) Service(id string) (Service, bool) {
	id = absolute(d.id, id)
	for _, s := range d.services {
		if s.ID == id {
			return s, true
		}
	}
	return Service{}, false
}

// Warnings returns what was set aside. The caller must not change the slice.
func (d Document) Warnings() []Warning { return d.warnings }

// Method returns the verification method whose id is the document's DID, '#', and kid; ErrNoMethod if there is none, or
// if another DID controls it: such a method never speaks for this one.
func (d Document) Method(kid string) (Method, error) {
	id := d.id.String() + "#" + kid
	for _, m := range d.methods {
		if m.ID != id {
			continue
		}
		if m.Controller != d.id.String() {
			return Method{}, fmt.Errorf("%s is controlled by another DID: %w", id, ErrNoMethod)
		}
		return m, nil
	}
	return Method{}, fmt.Errorf("%s: %w", id, ErrNoMethod)
}

// Key returns the key of the method with fragment kid, which must be listed under rel. A method that carries an
// expires or revoked time needs KeyAt and is ErrUnusable here. Errors: ErrNoMethod, ErrRelationship, ErrUnusable.
func (d Document) Key(kid string, rel Relationship) (PublicKey, error) {
	m, err := d.listed(kid, rel)
	if err != nil {
		return PublicKey{}, err
	}
	if !m.Expires.IsZero() || !m.Revoked.IsZero() {
		return PublicKey{}, fmt.Errorf("%s ends by itself: %w", m.ID, ErrUnusable)
	}
	return m.Public, nil
}

// KeyAt is Key at a given time: from its expires or revoked time on, a method is ErrUnusable.
func (d Document) KeyAt(kid string, rel Relationship, at time.Time) (PublicKey, error) {
	m, err := d.listed(kid, rel)
	if err != nil {
		return PublicKey{}, err
	}
	for _, end := range []time.Time{m.Expires, m.Revoked} {
		if !end.IsZero() && !at.Before(end) {
			return PublicKey{}, fmt.Errorf("%s ended at %s: %w", m.ID, end.UTC().Format(time.RFC3339), ErrUnusable)
		}
	}
	return m.Public, nil
}

func (d Document) listed(kid string, rel Relationship) (Method, error) {
	m, err := d.Method(kid)
	if err != nil {
		return Method{}, err
	}
	if !d.Lists(kid, rel) {
		return Method{}, fmt.Errorf("%s is not in %s: %w", m.ID, rel, ErrRelationship)
	}
	if m.Err != nil {
		return Method{}, m.Err
	}
	return m, nil
}

// Lists reports whether the relationship names the method with fragment kid. It says nothing about the method's key.
func (d Document) Lists(kid string, rel Relationship) bool {
	return slices.Contains(d.rels[rel], d.id.String()+"#"+kid)
}

// Listed returns the absolute ids under a relationship in document order, without duplicates.
func (d Document) Listed(rel Relationship) []string { return d.rels[rel] }
