package keyring

import (
	"context"
	"errors"
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

	// writing is held through an Offer, so that judging and storing are one
	// step. It is a channel of one place, for its wait obeys the context.
	writing chan struct{}

	mu   sync.RWMutex
	held map[did.DID]*member // guarded by mu; a member is never changed once it is here
}

// member is one held DID.
type member struct {
	record  Record
	history didwebvh.History
	retired map[did.PublicKey]int // assertion key to the number of the version that removed it first
	below   *Below                // not nil: state is behind the pins
}

// New makes an empty ring. Load must be called once before anything else, as
// everything is answered from what Load and Offer verified in this process.
func New(store Store, p pins.Pins, now func() time.Time) *Ring {
	return &Ring{store: store, pins: p, now: now, writing: make(chan struct{}, 1), held: map[did.DID]*member{}}
}

// Load verifies all stored logs again from their bytes. What does not verify,
// or is behind the pins, is a *Below in the joined error; the ring is usable
// for all other DIDs, and an Offer heals those. Another error is the store's.
func (r *Ring) Load(ctx context.Context) error {
	var behind []error
	var after did.DID
	for {
		page, err := r.store.List(ctx, after, listPage)
		if err != nil {
			return err
		}
		for _, rec := range page {
			m := r.restore(rec)
			r.publish(m)
			if m.below != nil {
				behind = append(behind, m.below)
			}
			after = rec.Version.DID
		}
		if len(page) < listPage {
			return errors.Join(behind...)
		}
	}
}

// restore verifies one record. A clock that was set back must not refuse what
// was verified before, so the later of the two times judges.
func (r *Ring) restore(rec Record) *member {
	at := r.now()
	if rec.Version.VerifiedAt.After(at) {
		at = rec.Version.VerifiedAt
	}
	h, err := didwebvh.Verify(rec.Log, rec.Witness, at)
	if err == nil && (!h.Names(rec.Version.DID) || h.Head().ID != rec.Version.ID) {
		err = fmt.Errorf("stored log is of %s at %s: %w", h.DID(), h.Head().ID, ErrOtherDID)
	}
	m := &member{record: rec}
	if err == nil {
		m.history, m.retired = h, retirements(h)
	}
	m.below = r.behind(rec.Version.DID, m.history, err)
	return m
}

// behind answers what the pins know beyond the history, nil if nothing.
func (r *Ring) behind(d did.DID, h didwebvh.History, cause error) *Below {
	slot, value, ok := r.pins.Highest(pins.KindDID, d.String())
	if !ok && cause == nil {
		return nil
	}
	if v, has := h.At(int(slot.N)); ok && has && v.ID == value && cause == nil {
		return nil
	}
	return &Below{DID: d, Held: h.Len(), Number: int(slot.N), Pinned: value, Cause: cause}
}

func (r *Ring) publish(m *member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[m.record.Version.DID] = m
}

// find answers the member for d, which may be behind the pins; nil if nothing is held.
func (r *Ring) find(d did.DID) *member {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.held[d]
}

// get answers a member that may be used. Errors: *Below, ErrAbsent.
func (r *Ring) get(d did.DID) (*member, error) {
	m := r.find(d)
	if m == nil {
		if b := r.behind(d, didwebvh.History{}, nil); b != nil {
			return nil, b
		}
		return nil, fmt.Errorf("%s: %w", d, ErrAbsent)
	}
	if m.below != nil {
		return nil, m.below
	}
	return m, nil
}

// Head answers where d stands. Errors: ErrAbsent, *Below, ErrMethod; those of
// didkey.Key for a did:key that is none.
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
	return m.history.Head().Document, nil
}

// usable refuses a member nothing new is accepted from.
func (m *member) usable() error {
	switch m.record.Version.State {
	case did.Frozen:
		return fmt.Errorf("%s, after entry %d: %w", m.record.Version.DID, m.record.Fork.Parent, ErrFrozen)
	case did.Deactivated:
		return fmt.Errorf("%s at %s: %w", m.record.Version.DID, m.record.Version.ID, ErrDeactivated)
	}
	return nil
}

// Log answers the exact log lines after a version number, each with its
// newline; empty if there are none, nil for a did:key. Errors: those of Head.
func (r *Ring) Log(_ context.Context, d did.DID, afterVersion int) ([]byte, error) {
	if d.Method() == didkey.Method {
		return nil, nil
	}
	m, err := r.get(d)
	if err != nil {
		return nil, err
	}
	return m.history.After(afterVersion), nil
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

// History answers the verified history of d. Errors: those of Head, ErrMethod for a did:key.
func (r *Ring) History(_ context.Context, d did.DID) (didwebvh.History, error) {
	if d.Method() == didkey.Method {
		return didwebvh.History{}, fmt.Errorf("%s: %w", d, ErrMethod)
	}
	m, err := r.get(d)
	if err != nil {
		return didwebvh.History{}, err
	}
	return m.history, nil
}

// Forked answers the two branches of d, nil if no fork is known. Errors: those of Head.
func (r *Ring) Forked(_ context.Context, d did.DID) (*Fork, error) {
	m, err := r.get(d)
	if err != nil {
		return nil, err
	}
	return m.fork(), nil
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
