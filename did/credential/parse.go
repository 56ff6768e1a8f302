package credential

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/integrity"
	"trustnode/did/strictjson"
)

// claim is a credential that was read; nothing in it is verified.
type claim struct {
	doc         strictjson.Value // with its proof
	id          string
	types       []string
	issuer      did.DID
	kid         string
	subjects    []string
	from, until time.Time
	status      Status
	proof       integrity.Proof
}

// parse reads the form of SPEC.md, section 2. What is not supported is found before what is wrong, so that no verdict is
// given on what other rules govern.
func parse(raw []byte) (claim, error) {
	if len(raw) > MaxCredential {
		return claim{}, fmt.Errorf("credential of %d bytes: %w", len(raw), ErrTooLarge)
	}
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("eyJ")) {
		return claim{}, fmt.Errorf("%w: a JSON Web Token", ErrUnsupported)
	}
	v, err := strictjson.Parse(raw, maxDepth)
	if err != nil {
		return claim{}, fmt.Errorf("%w: %w", ErrForm, err)
	}
	if v.Kind() != strictjson.Object {
		return claim{}, fmt.Errorf("%w: it is %v, expected object", ErrForm, v.Kind())
	}
	c := claim{doc: v}
	for _, read := range []func() error{
		c.readContext, c.readType, c.readProof, c.readIssuer, c.readID, c.readSubjects, c.readDates,
	} {
		if err := read(); err != nil {
			return claim{}, err
		}
	}
	c.readStatus()
	return c, nil
}

// readContext tells the versions of the data model apart: VC 2.0, section 4.3.
func (c *claim) readContext() error {
	v, _ := c.doc.Get("@context")
	first := v
	if list := v.Elements(); len(list) > 0 {
		first = list[0]
	}
	switch s, _ := first.Text(); {
	case s == contextV1:
		return fmt.Errorf("%w: a credential of VC 1.1", ErrUnsupported)
	case !isContext(v):
		return fmt.Errorf("%w: @context is no list that starts with %s", ErrForm, contextV2)
	}
	return nil
}

// isContext reports whether v is the @context of a credential of VC 2.0.
func isContext(v strictjson.Value) bool {
	list := v.Elements()
	if len(list) == 0 {
		return false
	}
	s, _ := list[0].Text()
	return s == contextV2
}

func (c *claim) readType() error {
	v, _ := c.doc.Get("type")
	if s, ok := v.Text(); ok {
		c.types = []string{s}
	}
	for _, e := range v.Elements() {
		s, ok := e.Text()
		if !ok {
			return fmt.Errorf("%w: type holds %v", ErrForm, e.Kind())
		}
		c.types = append(c.types, s)
	}
	for _, other := range []string{"VerifiablePresentation", "EnvelopedVerifiableCredential", "EnvelopedVerifiablePresentation"} {
		if slices.Contains(c.types, other) {
			return fmt.Errorf("%w: type %s", ErrUnsupported, other)
		}
	}
	if !slices.Contains(c.types, typeCredential) {
		return fmt.Errorf("%w: type lacks %s", ErrForm, typeCredential)
	}
	return nil
}

// readProof takes the one proof, which may stand alone in a list. In a set, each proof may be another party's; which of
// them the credential stands by is not said.
func (c *claim) readProof() error {
	v, ok := c.doc.Get("proof")
	if !ok {
		return fmt.Errorf("%w: there is none", ErrProof)
	}
	if v.Kind() == strictjson.Array {
		switch n := len(v.Elements()); n {
		case 0:
			return fmt.Errorf("%w: there is none", ErrProof)
		case 1:
			v = v.Elements()[0]
		default:
			return fmt.Errorf("%w: a set or chain of %d proofs", ErrUnsupported, n)
		}
	}
	var err error
	if c.proof, err = integrity.Parse(v); err != nil {
		return err
	}
	if c.proof.Purpose != did.AssertionMethod {
		return fmt.Errorf("%w: its purpose is %.64q, expected %q", ErrProof, c.proof.Purpose, did.AssertionMethod)
	}
	// The proof's context is the one that is signed. Were it empty, anything else that the issuer signed in this suite
	// could be given the contexts of a credential afterwards.
	if own := c.proof.Context; own.Kind() != 0 && !isContext(own) {
		return fmt.Errorf("%w: its @context is no list that starts with %s", ErrProof, contextV2)
	}
	return nil
}

// readIssuer ties the key to the issuer by name: the DID of the proof's method is the issuer, byte for byte.
func (c *claim) readIssuer() error {
	v, _ := c.doc.Get("issuer")
	if id, ok := v.Get("id"); ok {
		v = id
	}
	issuer, ok := v.Text()
	if !ok {
		return fmt.Errorf("%w: issuer is neither a string nor an object with an id", ErrForm)
	}
	method := c.proof.Method
	if !strings.HasPrefix(method, "did:") {
		return fmt.Errorf("%w: proof by a key outside of DIDs, %.64q", ErrUnsupported, method)
	}
	u, err := did.ParseURL(method)
	if err != nil {
		return fmt.Errorf("%w: verificationMethod: %w", ErrProof, err)
	}
	if u.DID().String() != issuer {
		return fmt.Errorf("%w: proof by %s, issuer %.256q", ErrIssuer, u.DID(), issuer)
	}
	if u.Path() != "" || u.Query() != "" {
		return fmt.Errorf("%w: verificationMethod with a path or a query", ErrUnsupported)
	}
	if u.Fragment() == "" {
		return fmt.Errorf("%w: verificationMethod names no key", ErrProof)
	}
	c.issuer, c.kid = u.DID(), u.Fragment()
	return nil
}

func (c *claim) readID() (err error) {
	c.id, err = optionalText(c.doc, "id")
	return err
}

// readSubjects takes the ids of the subjects, "" for one without.
func (c *claim) readSubjects() error {
	v, _ := c.doc.Get("credentialSubject")
	list := v.Elements()
	if v.Kind() == strictjson.Object {
		list = []strictjson.Value{v}
	}
	if len(list) == 0 {
		return fmt.Errorf("%w: it has no subject", ErrForm)
	}
	for _, s := range list {
		if s.Kind() != strictjson.Object {
			return fmt.Errorf("%w: a subject is %v, expected object", ErrForm, s.Kind())
		}
		id, err := optionalText(s, "id")
		if err != nil {
			return err
		}
		c.subjects = append(c.subjects, id)
	}
	return nil
}

func (c *claim) readDates() (err error) {
	if c.from, err = optionalTime(c.doc, "validFrom"); err != nil {
		return err
	}
	c.until, err = optionalTime(c.doc, "validUntil")
	return err
}

func (c *claim) readStatus() {
	c.status = StatusNone
	if _, ok := c.doc.Get("credentialStatus"); ok {
		c.status = StatusUnchecked
	}
}

func optionalText(v strictjson.Value, name string) (string, error) {
	m, ok := v.Get(name)
	if !ok {
		return "", nil
	}
	s, ok := m.Text()
	if !ok {
		return "", fmt.Errorf("%w: %s is %v, expected string", ErrForm, name, m.Kind())
	}
	return s, nil
}

func optionalTime(v strictjson.Value, name string) (time.Time, error) {
	m, ok := v.Get(name)
	if !ok {
		return time.Time{}, nil
	}
	s, _ := m.Text()
	t, err := integrity.ParseTime(s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %s: %v", ErrForm, name, err)
	}
	return t, nil
}
