package didwebvh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// Service is one service of a document, under a fragment of its DID.
type Service struct {
	Name     string // fragment: "lending"
	Type     string // "TrustnodeLending"
	Endpoint string // a URL, or a DID
}

// CreateRequest is what a new organization decides about its DID.
type CreateRequest struct {
	Domain   string          // host name, with ":port" where it is not 443
	Path     []string        // segments under the domain; none: its .well-known
	Update   envelope.Signer // signs the first entry, then is spent
	Next     did.PublicKey   // signs the entry after it
	Recovery did.PublicKey   // signs instead, should Next be lost
	Issuer   did.PublicKey   // assertionMethod and authentication
	Services []Service
	At       time.Time // versionTime; whole seconds are kept
}

// Create makes a DID and the line of its first entry, without newline:
// portable, pre-rotating, with no witness yet. The SCID is the hash of the
// entry, so the same request makes the same DID. Errors of the signer come back
// as they are; a bad domain or path wraps ErrIdentifier.
func Create(ctx context.Context, r CreateRequest) (did.DID, []byte, error) {
	if err := distinct(r.Update.Public(), r.Next, r.Recovery, r.Issuer); err != nil {
		return did.DID{}, nil, err
	}
	place := r.place()
	if _, err := did.Parse("did:" + Method + ":" + hashText([32]byte{}) + ":" + place); err != nil {
		return did.DID{}, nil, fmt.Errorf("%w: %v", ErrIdentifier, err)
	}
	e, err := r.entry(place)
	if err != nil {
		return did.DID{}, nil, err
	}
	line, err := e.seal(ctx, r.Update, e.scid)
	if err != nil {
		return did.DID{}, nil, err
	}
	h, err := Verify(line, nil, r.At)
	if err != nil {
		return did.DID{}, nil, err
	}
	return h.DID(), line, nil
}

func (r CreateRequest) place() string {
	parts := []string{escapeSegment(r.Domain)}
	for _, p := range r.Path {
		parts = append(parts, escapeSegment(p))
	}
	return strings.Join(parts, ":")
}

// entry is the first entry with its SCID in place, unsigned.
func (r CreateRequest) entry(place string) (draft, error) {
	d := draft{versionTime: formatTime(r.At)}
	d.parameters = strictjson.ObjectOf(
		member("method", strictjson.StringOf(methodVersion)),
		member("scid", strictjson.StringOf(placeholder)),
		member("portable", strictjson.BoolOf(true)),
		member("updateKeys", strictjson.StringsOf(r.Update.Public().Multikey())),
		member("nextKeyHashes", strictjson.StringsOf(KeyHash(r.Next), KeyHash(r.Recovery))),
	)
	id := "did:" + Method + ":" + placeholder + ":" + place
	d.state = newDocument(id, "did:web:"+place, r.Issuer, r.Services)
	blank, err := d.entry()
	if err != nil {
		return draft{}, err
	}
	d.scid = hashText(blank.sum(placeholder))
	d.parameters = replaced(d.parameters, placeholder, d.scid)
	d.state = replaced(d.state, placeholder, d.scid)
	return d, nil
}

func newDocument(id, alias string, issuer did.PublicKey, services []Service) strictjson.Value {
	doc := strictjson.ObjectOf(
		member("@context", strictjson.StringsOf("https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1")),
		member("id", strictjson.StringOf(id)),
		member("alsoKnownAs", strictjson.StringsOf(alias)),
	)
	return withServices(withIssuer(doc, id, issuer), id, services)
}

// withIssuer sets the one key that speaks for the organization. Its fragment
// is its own text, so that a kid names its key.
func withIssuer(doc strictjson.Value, id string, issuer did.PublicKey) strictjson.Value {
	kid := id + "#" + issuer.Multikey()
	method := strictjson.ObjectOf(
		member("id", strictjson.StringOf(kid)),
		member("type", strictjson.StringOf("Multikey")),
		member("controller", strictjson.StringOf(id)),
		member("publicKeyMultibase", strictjson.StringOf(issuer.Multikey())),
	)
	return doc.With("verificationMethod", strictjson.ArrayOf(method)).
		With("assertionMethod", strictjson.StringsOf(kid)).
		With("authentication", strictjson.StringsOf(kid))
}

func withServices(doc strictjson.Value, id string, services []Service) strictjson.Value {
	var list []strictjson.Value
	for _, s := range services {
		list = append(list, strictjson.ObjectOf(
			member("id", strictjson.StringOf(id+"#"+s.Name)),
			member("type", strictjson.StringOf(s.Type)),
			member("serviceEndpoint", strictjson.StringOf(s.Endpoint)),
		))
	}
	return doc.With("service", strictjson.ArrayOf(list...))
}

// RotateRequest is one rotation: the committed update key is shown and spent.
type RotateRequest struct {
	Update   envelope.Signer // the next key, or the recovery key
	Next     did.PublicKey   // the key to commit to
	Recovery did.PublicKey   // zero: the recovery hash is kept. Must be given when Update is the recovery key
	Issuer   did.PublicKey   // zero: the issuer key stays
	Services []Service       // nil: the services stay
	Witness  *WitnessList    // nil: the list stays
	At       time.Time       // versionTime, moved to a second after the head where it is not later
}

// Rotate makes the line of the entry after h, without newline. Where witnesses
// govern the entry it is not valid before they signed. A key that is not
// committed to wraps ErrKey.
func Rotate(ctx context.Context, h History, r RotateRequest) ([]byte, error) {
	hashes, err := r.commit(h.Head().Parameters.NextKeyHashes)
	if err != nil {
		return nil, err
	}
	state, err := r.state(h)
	if err != nil {
		return nil, err
	}
	if soonest := h.Head().Time.Add(time.Second); r.At.Before(soonest) {
		r.At = soonest
	}
	d := draft{versionTime: formatTime(r.At), state: state}
	d.parameters = strictjson.ObjectOf(
		member("updateKeys", strictjson.StringsOf(r.Update.Public().Multikey())),
		member("nextKeyHashes", strictjson.StringsOf(hashes...)),
	)
	if r.Witness != nil {
		d.parameters = d.parameters.With("witness", r.Witness.value())
	}
	line, err := d.seal(ctx, r.Update, h.Head().ID)
	if err != nil {
		return nil, err
	}
	if _, err := h.Check(line, r.At); err != nil {
		return nil, err
	}
	return line, nil
}

// commit answers the new hashes. The first of the old ones is the next key's,
// so a key found later in the list is the recovery key, used because the next
// one is lost: the lost one must not stay committed.
func (r RotateRequest) commit(old []string) ([]string, error) {
	i := slices.Index(old, KeyHash(r.Update.Public()))
	if i < 0 {
		return nil, fmt.Errorf("%s: %w", r.Update.Public().Multikey(), ErrKey)
	}
	if !r.Recovery.IsZero() {
		return []string{KeyHash(r.Next), KeyHash(r.Recovery)}, distinct(r.Update.Public(), r.Next, r.Recovery)
	}
	if i > 0 {
		return nil, errors.New("the recovery key is spent by this rotation: a new one is needed")
	}
	return append([]string{KeyHash(r.Next)}, old[1:]...), distinct(r.Update.Public(), r.Next)
}

func (r RotateRequest) state(h History) (strictjson.Value, error) {
	head := h.Head().Document
	doc, err := strictjson.Parse(head.Raw(), maxDepth)
	if err != nil {
		return strictjson.Value{}, err
	}
	if !r.Issuer.IsZero() {
		if h.lists(r.Issuer) {
			return strictjson.Value{}, fmt.Errorf("key %s was listed before and stays retired", r.Issuer.Multikey())
		}
		doc = withIssuer(doc, head.ID().String(), r.Issuer)
	}
	if r.Services != nil {
		doc = withServices(doc, head.ID().String(), r.Services)
	}
	return doc, nil
}

// lists reports whether any version has a method with this key.
func (h History) lists(k did.PublicKey) bool {
	return slices.ContainsFunc(h.nodes, func(n *node) bool {
		return slices.ContainsFunc(n.Document.Methods(), func(m did.Method) bool { return m.Public == k })
	})
}

func (w WitnessList) value() strictjson.Value {
	if w.None() {
		return strictjson.ObjectOf()
	}
	var list []strictjson.Value
	for _, k := range w.Keys {
		list = append(list, strictjson.ObjectOf(member("id", strictjson.StringOf("did:key:"+k.Multikey()))))
	}
	return strictjson.ObjectOf(
		member("threshold", strictjson.UintOf(uint64(w.Threshold))), member("witnesses", strictjson.ArrayOf(list...)))
}

// distinct refuses a key in two roles: whoever steals it from one would have the other.
func distinct(keys ...did.PublicKey) error {
	for i, k := range keys {
		if k.Algorithm() != did.Ed25519 {
			return fmt.Errorf("key %d of %d is no Ed25519 key", i+1, len(keys))
		}
		if slices.Contains(keys[:i], k) {
			return fmt.Errorf("key %s serves two roles", k.Multikey())
		}
	}
	return nil
}

// draft is an entry that is being written.
type draft struct {
	versionTime string
	parameters  strictjson.Value
	state       strictjson.Value
	scid        string // of a first entry
}

func (d draft) entry() (e entry, err error) {
	e.timeText = d.versionTime
	if e.canonicalParameters, err = d.parameters.Canonical(); err != nil {
		return entry{}, err
	}
	e.canonicalState, err = d.state.Canonical()
	return e, err
}

// seal hashes and signs the entry after the given versionId, or SCID, and writes its line.
func (d draft) seal(ctx context.Context, s envelope.Signer, before string) ([]byte, error) {
	e, err := d.entry()
	if err != nil {
		return nil, err
	}
	number := 1
	if n, _, err := parseVersionID(before); err == nil {
		number = n + 1
	}
	id := fmt.Sprintf("%d-%s", number, hashText(e.sum(before)))
	created, err := parseTime(d.versionTime)
	if err != nil {
		return nil, err
	}
	p, err := prove(ctx, s, e.sum(id), created)
	if err != nil {
		return nil, err
	}
	return strictjson.ObjectOf(
		member("versionId", strictjson.StringOf(id)),
		member("versionTime", strictjson.StringOf(d.versionTime)),
		member("parameters", d.parameters),
		member("state", d.state),
		member("proof", strictjson.ArrayOf(p)),
	).Canonical()
}
