package keyring

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/pins"
)

// Ring is the set of verified DIDs of one node. It is safe for concurrent use.
type Ring struct {
	store Store
	pins  pins.Pins
	now   func() time.Time

	// writing is held through every change, so that judging and storing are one
	// step. It is a channel of one place, for its wait obeys the context.
	writing chan struct{}

	mu        sync.RWMutex
	held      map[did.DID]*member      // guarded by mu; a member is never changed once it is here
	scids     map[string]did.DID       // guarded by mu; the did:webvh DID that a log is held under
	confirmed map[did.DID]confirmation // guarded by mu
}

// New makes an empty ring. Load must be called once before anything else, as
// everything is answered from what Load and the offers verified in this process.
func New(store Store, p pins.Pins, now func() time.Time) *Ring {
	return &Ring{
		store: store, pins: p, now: now, writing: make(chan struct{}, 1),
		held: map[did.DID]*member{}, scids: map[string]did.DID{}, confirmed: map[did.DID]confirmation{},
	}
}

// lock waits for its turn to change something.
func (r *Ring) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case r.writing <- struct{}{}:
		return func() { <-r.writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// scidOf is the SCID of a did:webvh DID, which its log keeps through all its names; "" for any other.
func scidOf(d did.DID) string {
	if d.Method() != didwebvh.Method {
		return ""
	}
	scid, _, _ := strings.Cut(d.ID(), ":")
	return scid
}

func (r *Ring) publish(m *member) {
	m.beside = m.asides()
	r.mu.Lock()
	defer r.mu.Unlock()
	d := m.did()
	r.held[d] = m
	if scid := scidOf(d); scid != "" {
		if _, taken := r.scids[scid]; !taken {
			r.scids[scid] = d
		}
	}
}

// of answers the member a log of d belongs to, whether or not it has that name yet; nil if nothing is held.
func (r *Ring) of(d did.DID) *member {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if m := r.held[d]; m != nil {
		return m
	}
	return r.held[r.scids[scidOf(d)]]
}

// find answers the member for d, which may be behind the pins; nil if nothing
// is held. A name that is not in the verified log is another DID: only the
// controller says where a DID moved.
func (r *Ring) find(d did.DID) *member {
	m := r.of(d)
	if m != nil && m.did() != d && !m.history.Names(d) {
		return nil
	}
	return m
}

// get answers a member that may be used. Errors: *Below, ErrAbsent.
func (r *Ring) get(d did.DID) (*member, error) {
	m := r.find(d)
	if m == nil {
		if b := r.behind(d, &member{}, nil); b != nil {
			return nil, b
		}
		return nil, fmt.Errorf("%s: %w", d, ErrAbsent)
	}
	if m.below != nil {
		return nil, m.below
	}
	return m, nil
}

func (r *Ring) count() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.held)
}

// Head answers where d stands. Its DID is the name the log is held and pinned
// under, which may be another than d after a move. Errors: ErrAbsent, *Below;
// those of didkey.Key for a did:key that is none.
func (r *Ring) Head(_ context.Context, d did.DID) (Version, error) {
	if d.Method() == didkey.Method {
		_, err := didkey.Key(d)
		if err != nil {
			return Version{}, err
		}
		return Version{DID: d, ID: did.StaticVersion, State: did.Held}, nil
	}
	m, err := r.get(d)
	if err != nil {
		return Version{}, err
	}
	return m.record.Version, nil
}

// Name answers the DID that the newest document of d has: after a move it is another than the one the log is held and
// pinned under. It is d itself where nothing is held, and for a method whose DIDs do not move.
func (r *Ring) Name(d did.DID) did.DID {
	m := r.find(d)
	if m == nil || m.history.Len() == 0 {
		return d
	}
	return m.history.DID()
}

// Fingerprint answers what people compare of d by voice: Fingerprint of the name and the version of its newest document,
// so that it is the same wherever the log is held, and under whatever name. Errors: those of Head.
func (r *Ring) Fingerprint(ctx context.Context, d did.DID) (string, error) {
	v, err := r.Head(ctx, d)
	if err != nil {
		return "", err
	}
	return Fingerprint(r.Name(d), v.ID), nil
}

// Document answers the newest document of d. Errors: those of Head, ErrFrozen,
// ErrDeactivated.
func (r *Ring) Document(ctx context.Context, d did.DID) (did.Document, error) {
	if d.Method() == didkey.Method {
		res, err := didkey.Resolver{}.Resolve(ctx, d, did.Material{}, did.Options{Now: r.now()})
		return res.Document, err
	}
	m, err := r.get(d)
	if err != nil {
		return did.Document{}, err
	}
	if err := m.usable(); err != nil {
		return did.Document{}, err
	}
	return m.head().doc, nil
}

// Log answers the exact log lines after a version number, each with its
// newline; empty if there are none, nil for a did:key. Of a did:web it answers
// the newest did.json whatever the number, as each node counts for itself.
// Errors: those of Head.
func (r *Ring) Log(_ context.Context, d did.DID, afterVersion int) ([]byte, error) {
	if d.Method() == didkey.Method {
		return nil, nil
	}
	m, err := r.get(d)
	if err != nil {
		return nil, err
	}
	if d.Method() == webMethod {
		return m.bytes(m.head()), nil
	}
	return m.history.After(afterVersion), nil
}

// Files answers what Log and Witness do, of one moment. Two calls may be of two: a witness file holds the latest proof of
// each witness, which says nothing of a log that ends before it. Errors: those of Head.
func (r *Ring) Files(_ context.Context, d did.DID, afterVersion int) (log, witness []byte, err error) {
	if d.Method() == didkey.Method {
		return nil, nil, nil
	}
	m, err := r.get(d)
	switch {
	case err != nil:
		return nil, nil, err
	case d.Method() == webMethod:
		return m.bytes(m.head()), nil, nil
	}
	return m.history.After(afterVersion), m.history.Witness(), nil
}

// Witness answers the witness file that goes with Log, nil if none is needed. Errors: those of Head.
func (r *Ring) Witness(_ context.Context, d did.DID) ([]byte, error) {
	if d.Method() == didkey.Method {
		return nil, nil
	}
	m, err := r.get(d)
	if err != nil {
		return nil, err
	}
	return m.history.Witness(), nil
}

// History answers the verified log of d. Errors: those of Head, ErrMethod for a DID that has no log; Versions answers
// for all that have versions.
func (r *Ring) History(_ context.Context, d did.DID) (didwebvh.History, error) {
	if d.Method() != didwebvh.Method {
		return didwebvh.History{}, fmt.Errorf("%s: %w", d, ErrMethod)
	}
	m, err := r.get(d)
	if err != nil {
		return didwebvh.History{}, err
	}
	return m.history, nil
}

// List answers the versions of all DIDs that are held and not behind the pins, in the order of their text.
func (r *Ring) List(_ context.Context) ([]Version, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []Version
	for _, m := range r.held {
		if m.below == nil {
			out = append(out, m.record.Version)
		}
	}
	slices.SortFunc(out, func(a, b Version) int { return strings.Compare(a.DID.String(), b.DID.String()) })
	return out, nil
}
