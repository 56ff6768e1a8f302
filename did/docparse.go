package did

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/did/strictjson"
)

// docParser fills doc. An error refuses the document; what concerns one method or service becomes a warning.
type docParser struct{ doc Document }

func (p *docParser) parse(v strictjson.Value) error {
	if v.Kind() != strictjson.Object {
		return fmt.Errorf("document is %v, expected object", v.Kind())
	}
	if err := p.identity(v); err != nil {
		return err
	}
	if err := p.methodList(v); err != nil {
		return err
	}
	for _, rel := range relationships {
		if err := p.relationship(v, rel); err != nil {
			return err
		}
	}
	p.dangling()
	return p.serviceList(v)
}

func (p *docParser) warn(where, format string, args ...any) {
	p.doc.warnings = append(p.doc.warnings, Warning{where, fmt.Sprintf(format, args...)})
}

func (p *docParser) identity(v strictjson.Value) error {
	m, _ := v.Get("id")
	s, ok := m.Text()
	if !ok {
		return errors.New("id is missing or no string")
	}
	id, err := Parse(s)
	if err != nil {
		return fmt.Errorf("id: %w", err)
	}
	if id != p.doc.id {
		return fmt.Errorf("id is %s, expected %s", id, p.doc.id)
	}
	if p.doc.ctrl, err = textOrTexts(v, "controller"); err != nil {
		return err
	}
	p.doc.aka, err = textOrTexts(v, "alsoKnownAs")
	return err
}

// textOrTexts reads a member that is a string or an array of strings; absent is nil.
func textOrTexts(v strictjson.Value, name string) ([]string, error) {
	m, ok := v.Get(name)
	if !ok {
		return nil, nil
	}
	if s, ok := m.Text(); ok {
		return []string{s}, nil
	}
	if m.Kind() != strictjson.Array {
		return nil, fmt.Errorf("%s is %v, expected strings", name, m.Kind())
	}
	out := make([]string, len(m.Elements()))
	for i, e := range m.Elements() {
		if out[i], ok = e.Text(); !ok {
			return nil, fmt.Errorf("%s[%d] is %v, expected string", name, i, e.Kind())
		}
	}
	return out, nil
}

// list returns the elements of an array member, at most limit; absent is empty.
func list(v strictjson.Value, name string, limit int) ([]strictjson.Value, error) {
	m, ok := v.Get(name)
	if !ok {
		return nil, nil
	}
	if m.Kind() != strictjson.Array {
		return nil, fmt.Errorf("%s is %v, expected array", name, m.Kind())
	}
	if n := len(m.Elements()); n > limit {
		return nil, fmt.Errorf("%s has %d entries, more than %d: %w", name, n, limit, ErrTooLarge)
	}
	return m.Elements(), nil
}

func (p *docParser) methodList(v strictjson.Value) error {
	elems, err := list(v, "verificationMethod", MaxMethods)
	if err != nil {
		return err
	}
	for i, e := range elems {
		if _, err := p.method(e); err != nil {
			return fmt.Errorf("verificationMethod[%d]: %w", i, err)
		}
	}
	return nil
}

// method adds a verification method and returns its absolute id.
func (p *docParser) method(v strictjson.Value) (string, error) {
	idv, _ := v.Get("id")
	ref, ok := idv.Text()
	if !ok {
		return "", errors.New("method has no id")
	}
	m := Method{ID: absolute(p.doc.id, ref)}
	if u, err := ParseURL(m.ID); err != nil || u.Fragment() == "" {
		return "", errors.New("method id is no DID URL with a fragment")
	}
	if slices.ContainsFunc(p.doc.methods, func(o Method) bool { return o.ID == m.ID }) {
		return "", fmt.Errorf("duplicate method id %s", m.ID)
	}
	if len(p.doc.methods) == MaxMethods {
		return "", fmt.Errorf("more than %d methods: %w", MaxMethods, ErrTooLarge)
	}
	if err := p.fill(&m, v); err != nil {
		m.Public, m.Err = PublicKey{}, fmt.Errorf("%s: %w: %w", m.ID, ErrUnusable, err)
		p.warn(m.ID, "%v", err)
	}
	p.doc.methods = append(p.doc.methods, m)
	return m.ID, nil
}

// fill reads what makes a method usable.
func (p *docParser) fill(m *Method, v strictjson.Value) error {
	typ, _ := v.Get("type")
	var ok bool
	if m.Type, ok = typ.Text(); !ok {
		return errors.New("method has no type")
	}
	if err := p.controller(m, v); err != nil {
		return err
	}
	if err := dateTime(v, "expires", &m.Expires); err != nil {
		return err
	}
	if err := dateTime(v, "revoked", &m.Revoked); err != nil {
		return err
	}
	var err error
	m.Public, err = methodKey(m.Type, v)
	return err
}

// controller lets only did:webvh leave the member out: there the log itself proves who controls the document.
func (p *docParser) controller(m *Method, v strictjson.Value) error {
	c, ok := v.Get("controller")
	if ok {
		if m.Controller, ok = c.Text(); !ok {
			return errors.New("controller is no string")
		}
		return nil
	}
	if p.doc.id.Method() != "webvh" || !strings.HasPrefix(m.ID, p.doc.id.String()+"#") {
		return errors.New("method has no controller")
	}
	m.Controller = p.doc.id.String()
	return nil
}

// dateTime reads an XML Schema dateTime as DID documents carry it (DID Core 1.0, section 5.1.3).
func dateTime(v strictjson.Value, name string, t *time.Time) error {
	m, ok := v.Get(name)
	if !ok {
		return nil
	}
	s, _ := m.Text()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil || at.IsZero() {
		return fmt.Errorf("%s is no time", name)
	}
	*t = at
	return nil
}

// methodKey decodes the one encoding that the method type allows.
func methodKey(typ string, v strictjson.Value) (PublicKey, error) {
	encodings := 0
	for _, m := range v.Members() {
		switch m.Name {
		case "publicKeyMultibase", "publicKeyJwk", "publicKeyBase58", "publicKeyHex", "publicKeyBase64",
			"publicKeyPem", "blockchainAccountId", "ethereumAddress":
			encodings++
		case "privateKeyMultibase", "privateKeyJwk", "privateKeyBase58", "secretKeyMultibase", "secretKeyJwk":
			return PublicKey{}, errors.New("method holds a private key")
		}
	}
	if encodings != 1 {
		return PublicKey{}, fmt.Errorf("method has %d key encodings, expected 1", encodings)
	}
	switch typ {
	case "Multikey":
		return multikeyOf(v, DecodeMultikey, Ed25519, P256, X25519)
	case "Ed25519VerificationKey2020":
		return multikeyOf(v, DecodeKey, Ed25519)
	case "X25519KeyAgreementKey2020":
		return multikeyOf(v, DecodeKey, X25519)
	case "Ed25519VerificationKey2018":
		return legacyKey(v, Ed25519)
	case "X25519KeyAgreementKey2019":
		return legacyKey(v, X25519)
	case "JsonWebKey", "JsonWebKey2020":
		jwk, ok := v.Get("publicKeyJwk")
		if !ok {
			return PublicKey{}, errors.New("publicKeyJwk is missing")
		}
		return DecodeJWK(jwk.Raw())
	}
	return PublicKey{}, fmt.Errorf("method type %q: %w", typ, ErrKeyUnsupported)
}

func multikeyOf(v strictjson.Value, decode func(string) (PublicKey, error), allowed ...Algorithm) (PublicKey, error) {
	m, _ := v.Get("publicKeyMultibase")
	text, ok := m.Text()
	if !ok {
		return PublicKey{}, errors.New("publicKeyMultibase is missing or no string")
	}
	k, err := decode(text)
	if err != nil {
		return PublicKey{}, err
	}
	if !slices.Contains(allowed, k.alg) {
		return PublicKey{}, fmt.Errorf("%v key in a method for %v: %w", k.alg, allowed[0], ErrKeyInvalid)
	}
	return k, nil
}

// legacyKey reads the two types whose keys carry no codec: base58, or the same behind a multibase "z".
func legacyKey(v strictjson.Value, a Algorithm) (PublicKey, error) {
	if m, ok := v.Get("publicKeyBase58"); ok {
		text, _ := m.Text()
		return DecodeBase58Key(text, a)
	}
	if m, ok := v.Get("publicKeyMultibase"); ok {
		if text, _ := m.Text(); strings.HasPrefix(text, "z") {
			return DecodeBase58Key(text[1:], a)
		}
	}
	return PublicKey{}, errors.New("publicKeyBase58 is missing")
}

// relationship collects absolute ids; an embedded method becomes a method of this relationship alone.
func (p *docParser) relationship(v strictjson.Value, rel Relationship) error {
	elems, err := list(v, string(rel), MaxReferences)
	if err != nil {
		return err
	}
	for i, e := range elems {
		id, err := p.reference(e)
		if err != nil {
			return fmt.Errorf("%s[%d]: %w", rel, i, err)
		}
		if !slices.Contains(p.doc.rels[rel], id) {
			p.doc.rels[rel] = append(p.doc.rels[rel], id)
		}
	}
	return nil
}

func (p *docParser) reference(v strictjson.Value) (string, error) {
	if s, ok := v.Text(); ok {
		return absolute(p.doc.id, s), nil
	}
	if v.Kind() != strictjson.Object {
		return "", fmt.Errorf("reference is %v", v.Kind())
	}
	return p.method(v)
}

// dangling warns of references to methods that are not here, another DID's among them.
func (p *docParser) dangling() {
	for _, rel := range relationships {
		for _, id := range p.doc.rels[rel] {
			if !slices.ContainsFunc(p.doc.methods, func(m Method) bool { return m.ID == id }) {
				p.warn(id, "%s names a method that is not in this document", rel)
			}
		}
	}
}

func (p *docParser) serviceList(v strictjson.Value) error {
	elems, err := list(v, "service", MaxServices)
	if err != nil {
		return err
	}
	for i, e := range elems {
		s, err := p.service(e)
		if err != nil {
			p.warn(fmt.Sprintf("service[%d]", i), "%v", err)
			continue
		}
		p.doc.services = append(p.doc.services, s)
	}
	return nil
}

func (p *docParser) service(v strictjson.Value) (Service, error) {
	idv, _ := v.Get("id")
	ref, ok := idv.Text()
	if !ok {
		return Service{}, errors.New("service has no id")
	}
	s := Service{ID: absolute(p.doc.id, ref)}
	if slices.ContainsFunc(p.doc.services, func(o Service) bool { return o.ID == s.ID }) {
		return Service{}, fmt.Errorf("duplicate service id %s", s.ID)
	}
	var err error
	if s.Types, err = textOrTexts(v, "type"); err != nil {
		return Service{}, err
	}
	end, _ := v.Get("serviceEndpoint")
	if text, ok := end.Text(); ok {
		s.Endpoints = []string{text}
	}
	for _, e := range end.Elements() {
		if text, ok := e.Text(); ok {
			s.Endpoints = append(s.Endpoints, text)
		}
	}
	return s, nil
}

// absolute resolves a relative reference against the document's DID; only fragments, paths and queries occur.
func absolute(base DID, ref string) string {
	if ref != "" && (ref[0] == '#' || ref[0] == '?' || ref[0] == '/') {
		return base.String() + ref
	}
	return ref
}
