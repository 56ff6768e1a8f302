package casefile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/keyring"
	"trustnode/did/pins"
)

// endOfTime judges DID logs before the newest statement of a file is known: what they
// say of the future is then part of it.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// ring is what a file knows of DIDs. It implements history.Versions.
type ring struct {
	*keyring.Ring
	now time.Time
}

var _ history.Versions = (*ring)(nil)

func newRing() *ring {
	r := &ring{now: endOfTime}
	r.Ring = keyring.New(keyring.Memory(), pins.Memory(), func() time.Time { return r.now })
	return r
}

// Keys implements history.Versions.
func (r *ring) Keys(ctx context.Context, d did.DID, version string) (map[string]did.PublicKey, error) {
	kids, err := r.kids(ctx, d, version)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", history.ErrUnknownVersion, err)
	}
	src := r.AtSource(version)
	out := map[string]did.PublicKey{}
	for _, kid := range kids {
		if key, err := src.Key(ctx, d, kid); err == nil {
			out[kid] = key.Public
		}
	}
	return out, nil
}

// kids lists the fragments a version has under assertionMethod.
func (r *ring) kids(ctx context.Context, d did.DID, version string) ([]string, error) {
	if d.Method() == didkey.Method {
		k, err := didkey.Key(d)
		return []string{k.Multikey()}, err
	}
	h, err := r.History(ctx, d)
	if err != nil {
		return nil, err
	}
	v, ok := h.ByID(version)
	if !ok {
		return nil, fmt.Errorf("%s has no version %.80s here", d, version)
	}
	var out []string
	for _, id := range v.Document.Listed(did.AssertionMethod) {
		out = append(out, strings.TrimPrefix(id, v.Document.ID().String()+"#"))
	}
	return out, nil
}

// Known implements history.Versions.
func (r *ring) Known(ctx context.Context, d did.DID) ([]string, error) {
	if d.Method() == didkey.Method {
		return []string{did.StaticVersion}, nil
	}
	h, err := r.History(ctx, d)
	if errors.Is(err, keyring.ErrAbsent) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for n := 1; n <= h.Len(); n++ {
		v, _ := h.At(n)
		out = append(out, v.ID)
	}
	return out, nil
}

// witness returns the keys whose cosignatures count for d: those that any version names.
func (r *ring) witness(d did.DID) []did.PublicKey {
	h, err := r.History(context.Background(), d)
	if err != nil {
		return nil
	}
	return h.WitnessKeys()
}
