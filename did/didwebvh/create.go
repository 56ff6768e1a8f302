package didwebvh

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// CreateRequest is what a new organization decides about its DID.
type CreateRequest struct {
	Domain     string          // host name, with ":port" where it is not 443
	Path       []string        // segments under the domain; none: its .well-known
	Update     envelope.Signer // signs the first entry, then is spent
	Next       did.PublicKey   // signs the entry after it
	Recovery   did.PublicKey   // signs instead, should Next be lost
	Issuer     did.PublicKey   // assertionMethod and authentication
	Governance did.PublicKey   // assertionMethod alone; zero: none
	Services   []Service       // WitnessService among them names the own witness key, as did:key
	At         time.Time       // versionTime; whole seconds are kept
}

// Create makes a DID and the line of its first entry, without newline:
// portable, pre-rotating, with no witness yet. The SCID is the hash of the
// entry, so the same request makes the same DID. Errors of the signer come back
// as they are; a bad domain or path wraps ErrIdentifier.
func Create(ctx context.Context, r CreateRequest) (did.DID, []byte, error) {
	if err := r.check(); err != nil {
		return did.DID{}, nil, err
	}
	place := placeOf(r.Domain, r.Path)
	if _, err := didAt(hashText(sha256.Sum256(nil)), place); err != nil {
		return did.DID{}, nil, err
	}
	d, err := r.draft(place)
	if err != nil {
		return did.DID{}, nil, err
	}
	line, err := d.seal(ctx, r.Update, d.scid)
	if err != nil {
		return did.DID{}, nil, err
	}
	h, err := Verify(line, nil, r.At)
	if err != nil {
		return did.DID{}, nil, err
	}
	return h.DID(), line, nil
}

// check refuses a key that serves two roles, the witness key's included.
func (r CreateRequest) check() error {
	keys := []did.PublicKey{r.Update.Public(), r.Next, r.Recovery, r.Issuer}
	if !r.Governance.IsZero() {
		keys = append(keys, r.Governance)
	}
	if i := slices.IndexFunc(r.Services, func(s Service) bool { return s.Name == WitnessService }); i >= 0 {
		k, err := witnessOf(r.Services[i].Endpoint)
		if err != nil {
			return err
		}
		keys = append(keys, k)
	}
	return distinct(keys...)
}

// draft is the first entry with its SCID in place, unsigned.
func (r CreateRequest) draft(place string) (draft, error) {
	d := draft{versionTime: formatTime(r.At)}
	d.parameters = strictjson.ObjectOf(
		member("method", strictjson.StringOf(methodVersion)),
		member("scid", strictjson.StringOf(placeholder)),
		member("portable", strictjson.BoolOf(true)),
		member("updateKeys", strictjson.StringsOf(r.Update.Public().Multikey())),
		member("nextKeyHashes", strictjson.StringsOf(KeyHash(r.Next), KeyHash(r.Recovery))),
	)
	doc := newDocument("did:"+Method+":"+placeholder+":"+place, webAt(place))
	doc.key(did.PublicKey{}, r.Issuer, assertion, authentication)
	if !r.Governance.IsZero() {
		doc.key(did.PublicKey{}, r.Governance, assertion)
	}
	doc.services(r.Services...)
	d.state = doc.doc
	blank, err := d.entry()
	if err != nil {
		return draft{}, err
	}
	d.scid = hashText(blank.sum(placeholder))
	d.parameters = replaced(d.parameters, placeholder, d.scid)
	d.state = replaced(d.state, placeholder, d.scid)
	return d, nil
}

// placeOf is a host and a path as they stand in a DID.
func placeOf(domain string, path []string) string {
	parts := []string{escapeSegment(strings.ToLower(domain))} // host names are the same in either case, DIDs are not
	for _, p := range path {
		parts = append(parts, escapeSegment(p))
	}
	return strings.Join(parts, ":")
}

// didAt is the DID of an SCID at a place.
func didAt(scid, place string) (did.DID, error) {
	d, err := did.Parse("did:" + Method + ":" + scid + ":" + place)
	if err != nil {
		return did.DID{}, fmt.Errorf("%w: %v", ErrIdentifier, err)
	}
	_, err = ParseIdentifier(d)
	return d, err
}

// webAt is the parallel did:web of a place: did:webvh 1.0, "Publishing a Parallel did:web DID".
func webAt(place string) string { return "did:web:" + place }
