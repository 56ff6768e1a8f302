package keyring

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/pins"
)

// Result is what an offer came to.
type Result struct {
	Advanced bool    // the head moved, or came to count again after a fork or behind the pins
	From     Version // where the DID stood before; zero if it was not held
	Version  Version // where it stands now
	Evidence []did.Evidence
}

// Offer judges a log of d, from anywhere. It may be the whole log or start at
// any entry up to the one after the head; the witness file goes with it, nil if
// there is none. The head moves only to a log that verifies and extends it, and
// not before the pin of the new head is durable. d may be any name the log has.
//
// For a did:web that is held, log is its did.json, which nobody vouches for:
// it says nothing new, or is the *Changed, or *Rollback, of OfferWeb.
//
// Errors: *didwebvh.Error for a log that does not verify (ReasonGap: it starts
// past the head, the earlier lines are needed); *Rollback for one that ends
// before the head; *Fork for a valid one that differs, which freezes the DID
// unless a decision settled it; ErrOtherDID, ErrMethod, ErrFull; *pins.Taken,
// *pins.Below and errors of the store as they come.
func (r *Ring) Offer(ctx context.Context, d did.DID, log, witness []byte) (Result, error) {
	switch m := r.find(d); {
	case d.Method() == webMethod && (m != nil || r.behind(d, &member{}, nil) != nil):
		return r.OfferWeb(ctx, d, log, "", r.now(), "")
	case d.Method() != didwebvh.Method:
		return Result{}, fmt.Errorf("%s: %w", d, ErrMethod)
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	m := r.of(d)
	if m == nil {
		if r.count() >= maxPinned {
			return Result{}, ErrFull
		}
		m = &member{}
	}
	other, common, err := m.history.Compare(log, witness, r.now())
	if err != nil {
		return Result{}, err
	}
	if !other.Names(d) {
		return Result{}, fmt.Errorf("%s offered for %s: %w", other.DID(), d, ErrOtherDID)
	}
	if m.did().IsZero() {
		m.record.Version.DID = r.pinnedName(d, other)
		m.below = r.behind(m.did(), m, nil)
	}
	return r.settle(ctx, m, other, common)
}

// pinnedName is the name to hold a new log under: one that is pinned already, else d. A state that was lost must not
// come back under a name the pin does not know.
func (r *Ring) pinnedName(d did.DID, h didwebvh.History) did.DID {
	for _, v := range versionsOf(h) {
		if _, _, ok := r.pins.Highest(pins.KindDID, v.doc.ID().String()); ok {
			return v.doc.ID()
		}
	}
	return d
}

// settle decides about a log that verified.
func (r *Ring) settle(ctx context.Context, m *member, other didwebvh.History, common int) (Result, error) {
	_, open := m.open()
	held := m.history.Len()
	switch {
	case m.below != nil:
		return r.heal(ctx, m, other)
	case common < held && common < other.Len(), open && other.Len() > held:
		return Result{}, r.keep(ctx, m, other, common)
	case other.Len() < held:
		head := m.head()
		return Result{}, &Rollback{DID: m.did(), Offered: other.Head().ID, Held: head.id, Number: head.number}
	case other.Len() == held:
		return r.unchanged(m), nil
	}
	n := logged(other)
	n.record.Branches = m.record.Branches // they part from what stays
	return r.commit(ctx, m, n, "")
}

func (r *Ring) unchanged(m *member) Result {
	v := m.record.Version
	return Result{From: v, Version: v, Evidence: r.evidence(m, v.ID)}
}

// heal takes a log that holds the pinned version, for a node whose state is behind its pins.
func (r *Ring) heal(ctx context.Context, m *member, other didwebvh.History) (Result, error) {
	b := m.below
	if n := pinnedIn(other, b.Pinned); n > 0 {
		return r.commit(ctx, m, m.adopt(other, 0, byPin, r.now()), byPin)
	}
	v, has := other.At(b.Number)
	if !has {
		return Result{}, &Rollback{DID: b.DID, Offered: other.Head().ID, Held: b.Pinned, Number: b.Number}
	}
	f := &Fork{DID: b.DID, Number: v.Number, Held: b.Pinned, Offered: v.ID, OfferedLine: v.Line}
	if err := r.keepBelow(ctx, m, other); err != nil {
		return Result{}, errors.Join(f, err)
	}
	return Result{}, f
}

// pinnedIn is the number of a version in a log, 0 if the log lacks it.
func pinnedIn(h didwebvh.History, version string) int {
	v, ok := h.ByID(version)
	if !ok {
		return 0
	}
	return v.Number
}

// commit pins the head of n, stores it, then shows it in the place of m. by is
// who decided for it, empty for a head that only extends what is pinned.
func (r *Ring) commit(ctx context.Context, m, n *member, by string) (Result, error) {
	n.record.Version = r.stand(m, n)
	if err := r.pin(ctx, n, by); err != nil {
		r.fell(m)
		return Result{}, err
	}
	if err := r.put(context.WithoutCancel(ctx), m, n); err != nil {
		return Result{}, err
	}
	v, from := n.record.Version, m.record.Version
	if from.Number == 0 {
		from = Version{}
	}
	return Result{Advanced: true, From: from, Version: v, Evidence: r.evidence(n, v.ID)}, nil
}

// stand is where n stands in the place of m. What was verified before keeps its time.
func (r *Ring) stand(m, n *member) Version {
	head := n.head()
	v := Version{DID: m.did(), Number: head.number, ID: head.id, State: n.state(), VerifiedAt: r.now()}
	if v.ID == m.record.Version.ID {
		v.VerifiedAt = m.record.Version.VerifiedAt
	}
	return v
}

// pin makes the pin of n's head durable. The number of a pin never falls, so
// after a decision for a shorter branch the head takes the slot of the longer one.
func (r *Ring) pin(ctx context.Context, n *member, by string) error {
	head := n.head()
	s := pins.Slot{Kind: pins.KindDID, Key: n.did().String(), N: uint64(head.number)}
	highest, value, ok := r.pins.Highest(s.Kind, s.Key)
	if !ok || by == "" && s.N > highest.N {
		return r.pins.Put(ctx, s, head.id)
	}
	if _, follows := n.byID(value); by == "" && !follows {
		return &pins.Taken{Slot: highest, Value: value}
	}
	s.N = max(s.N, highest.N)
	return r.pins.Move(ctx, s, head.id, cmp.Or(by, byPin))
}

// fell shows m behind the pins after a change of it was pinned and not stored:
// it answers no key until an offer or the same decision heals it.
func (r *Ring) fell(m *member) {
	b := r.behind(m.did(), m, nil)
	if b == nil || m.below != nil || m.record.Version.State == 0 {
		return
	}
	c := *m
	c.below = b
	r.publish(&c)
}

// put stores n in the place of m and shows it.
func (r *Ring) put(ctx context.Context, m, n *member) error {
	n.below = r.behind(m.did(), n, nil)
	from := m.record.Version
	if from.State == 0 {
		from = Version{} // nothing is stored
	}
	if err := r.store.Advance(ctx, from, n.record); err != nil {
		r.fell(m)
		return err
	}
	r.publish(n)
	return nil
}

// evidence is the chain a version rests on: its entry, the head, and the pin of that.
func (r *Ring) evidence(m *member, version string) []did.Evidence {
	d := m.did().String()
	_, value, _ := r.pins.Highest(pins.KindDID, d)
	return []did.Evidence{
		{Step: "key", Version: version},
		{Step: "head", Version: m.head().id},
		{Step: "pin", Version: value, Line: r.pins.Line(pins.KindDID, d)},
	}
}
