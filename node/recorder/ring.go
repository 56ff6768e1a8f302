package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
)

// RingOf returns the Ring of a keyring.
func RingOf(k *keyring.Ring) Ring { return ring{k} }

type ring struct{ k *keyring.Ring }

// Keys implements history.Versions.
func (r ring) Keys(ctx context.Context, d did.DID, version string) (map[string]did.PublicKey, error) {
	list, err := r.k.At(d, version)
	if errors.Is(err, keyring.ErrDeactivated) {
		return map[string]did.PublicKey{}, nil
	}
	if err != nil { // not held, frozen, behind the pins: it may become known
		return nil, fmt.Errorf("%w: %v", history.ErrUnknownVersion, err)
	}
	src := r.k.AtSource(version)
	out := map[string]did.PublicKey{}
	for kid, pub := range r.named(ctx, d, version, list) {
		if key, err := src.Key(ctx, d, kid); err == nil && key.Public == pub {
			out[kid] = pub
		}
	}
	return out, nil
}

// named returns the fragments under which a version lists keys.
func (r ring) named(ctx context.Context, d did.DID, version string, list []did.PublicKey) map[string]did.PublicKey {
	out := map[string]did.PublicKey{}
	if d.Method() == didkey.Method {
		for _, k := range list {
			out[k.Multikey()] = k
		}
		return out
	}
	doc, ok := r.document(ctx, d, version)
	if !ok {
		return out
	}
	for _, id := range doc.Listed(did.AssertionMethod) {
		kid := strings.TrimPrefix(id, doc.ID().String()+"#")
		if k, err := doc.Key(kid, did.AssertionMethod); err == nil {
			out[kid] = k
		}
	}
	return out
}

// document is the document of one version.
func (r ring) document(ctx context.Context, d did.DID, version string) (did.Document, bool) {
	if h, err := r.k.History(ctx, d); err == nil {
		v, ok := h.ByID(version)
		return v.Document, ok
	}
	versions, err := r.k.Versions(ctx, d) // a did:web keeps snapshots
	i := slices.IndexFunc(versions, func(v keyring.Listing) bool { return v.ID == version })
	if err != nil || i < 0 {
		return did.Document{}, false
	}
	return versions[i].Document, true
}

// Known implements history.Versions.
func (r ring) Known(ctx context.Context, d did.DID) ([]string, error) {
	if d.Method() == didkey.Method {
		return []string{did.StaticVersion}, nil
	}
	var out []string
	if h, err := r.k.History(ctx, d); err == nil {
		for n := 1; n <= h.Len(); n++ {
			v, _ := h.At(n)
			out = append(out, v.ID)
		}
		return out, nil
	}
	versions, err := r.k.Versions(ctx, d)
	if err != nil {
		return nil, nil // nothing is known that could be used
	}
	for _, v := range versions {
		out = append(out, v.ID)
	}
	return out, nil
}

// Witness implements Ring: the keys of the witness service of any version, the newest
// first.
func (r ring) Witness(ctx context.Context, d did.DID) []did.PublicKey {
	if h, err := r.k.History(ctx, d); err == nil {
		return h.WitnessKeys()
	}
	doc, err := r.k.Document(ctx, d)
	if err != nil {
		return nil
	}
	if k := didwebvh.RolesOf(doc).Witness; !k.IsZero() {
		return []did.PublicKey{k}
	}
	return nil
}
