package keyring

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/pins"
)

// Result is what an offered log came to.
type Result struct {
	Advanced bool    // the head moved
	From     Version // where the DID stood before; zero if it was not held
	Version  Version // where it stands now
	Evidence []did.Evidence
}

// Offer judges a log of d, from anywhere. It may be the whole log or start at
// any entry up to the one after the head; the witness file goes with it, nil if
// there is none. The head moves only to a log that verifies and extends it, and
// not before the pin of the new head is durable.
//
// Errors: *didwebvh.Error for a log that does not verify (ReasonGap: it starts
// past the head, the earlier lines are needed); *Rollback for one that ends
// before the head; *Fork for a valid one that differs, which freezes the DID;
// ErrOtherDID, ErrMethod, ErrFull; *pins.Taken, *pins.Below and errors of the
// store as they come.
func (r *Ring) Offer(ctx context.Context, d did.DID, log, witness []byte) (Result, error) {
	if d.Method() != didwebvh.Method {
		return Result{}, fmt.Errorf("%s: %w", d, ErrMethod)
	}
	select {
	case r.writing <- struct{}{}:
		defer func() { <-r.writing }()
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	m := r.find(d)
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
	return r.settle(ctx, d, m, other, common)
}

func (r *Ring) count() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.held)
}

// settle decides about a log that verified.
func (r *Ring) settle(ctx context.Context, d did.DID, m *member, other didwebvh.History, common int) (Result, error) {
	if common < m.history.Len() && common < other.Len() {
		return Result{}, r.freeze(ctx, m, other, common)
	}
	if other.Len() < m.history.Len() {
		head := m.history.Head()
		return Result{}, &Rollback{DID: d, Offered: other.Head().ID, Held: head.ID, Number: head.Number}
	}
	if err := r.againstPin(d, other); err != nil {
		return Result{}, err
	}
	if other.Len() == m.history.Len() && m.below == nil {
		return Result{From: m.record.Version, Version: m.record.Version, Evidence: evidence(m.record.Version)}, nil
	}
	if f := m.fork(); f != nil {
		return Result{}, f
	}
	return r.advance(ctx, d, m, other)
}

// againstPin refuses what the pins contradict, for a node whose state is behind them.
func (r *Ring) againstPin(d did.DID, other didwebvh.History) error {
	slot, value, ok := r.pins.Highest(pins.KindDID, d.String())
	if !ok {
		return nil
	}
	v, has := other.At(int(slot.N))
	if !has {
		return &Rollback{DID: d, Offered: other.Head().ID, Held: value, Number: int(slot.N)}
	}
	if v.ID != value {
		return &Fork{DID: d, Number: v.Number, Held: value, Offered: v.ID, OfferedLine: v.Line}
	}
	return nil
}

// advance pins the new head, stores it, then shows it.
func (r *Ring) advance(ctx context.Context, d did.DID, m *member, next didwebvh.History) (Result, error) {
	head := next.Head()
	v := Version{DID: d, Number: head.Number, ID: head.ID, State: did.Held, VerifiedAt: r.now()}
	if next.Deactivated() {
		v.State = did.Deactivated
	}
	if err := r.pins.Put(ctx, pins.Slot{Kind: pins.KindDID, Key: d.String(), N: uint64(v.Number)}, v.ID); err != nil {
		return Result{}, err
	}
	n := &member{history: next, retired: retirements(next)}
	n.record = Record{Version: v, Log: next.Log(), Witness: next.Witness()}
	if err := r.store.Advance(ctx, m.record.Version, n.record); err != nil {
		return Result{}, err
	}
	r.publish(n)
	return Result{Advanced: true, From: m.record.Version, Version: v, Evidence: evidence(v)}, nil
}

// evidence is the chain a head rests on: its entry, and the pin of it.
func evidence(v Version) []did.Evidence {
	return []did.Evidence{{Step: "head", Version: v.ID}, {Step: "pin", Version: v.ID}}
}

// freeze keeps both branches. The head stays, and so does the end of a
// deactivated DID. The first other branch is kept: it proves the fork.
func (r *Ring) freeze(ctx context.Context, m *member, other didwebvh.History, common int) error {
	if f := m.fork(); f != nil {
		return f
	}
	n := *m
	n.record.Fork = &Branch{Parent: common, Lines: other.After(common), Witness: other.Witness()}
	if n.record.Version.State == did.Held {
		n.record.Version.State = did.Frozen
	}
	if err := r.store.Advance(ctx, m.record.Version, n.record); err != nil {
		return errors.Join(n.fork(), err)
	}
	r.publish(&n)
	return n.fork()
}

// fork describes the fork of a member, nil if there is none.
func (m *member) fork() *Fork {
	b := m.record.Fork
	if b == nil {
		return nil
	}
	line, _, _ := bytes.Cut(b.Lines, []byte("\n"))
	f := &Fork{DID: m.record.Version.DID, Number: b.Parent + 1, OfferedLine: line, Offered: didwebvh.VersionID(line)}
	if v, ok := m.history.At(b.Parent); ok {
		f.Parent = v.Line
	}
	if v, ok := m.history.At(b.Parent + 1); ok {
		f.Held, f.HeldLine = v.ID, v.Line
	}
	return f
}
