package member

import (
	"context"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/keys"
	"trustnode/node/fault"
)

// stick is a store of update keys that counts how often it was to be remembered.
type stick struct {
	*keys.Store
	remembered *int
}

var _ UpdateKeys = stick{}

func (stick) Place() string { return "/media/stick" }

func (s stick) Remember() error {
	if s.remembered != nil {
		*s.remembered++
	}
	return nil
}

// TestAStoreIsRememberedWithItsEntry: an entry that waits for witnesses is pinned, and its
// next key is looked for where it lies; a store that lacks that key stays unknown.
func TestAStoreIsRememberedWithItsEntry(t *testing.T) {
	clock := newDial()
	acme, _, _ := witnessedTrio(t, clock)
	meet(acme)
	ctx := t.Context()
	remembered := 0
	a := acme.authority()
	a.Update = func(context.Context) (UpdateKeys, error) { return stick{acme.update, &remembered}, nil }
	_, err := acme.Rotate(ctx, RotateInput{Authority: a, Reason: "scheduled"})
	refusedAs(t, err, fault.NeedsApproval, reasonWitnesses)
	if remembered != 1 {
		t.Errorf("remembered %d times", remembered)
	}
	other := func(context.Context) (UpdateKeys, error) { return stick{must(keys.Memory()), &remembered}, nil }
	_, err = acme.ResumeEntry(ctx, other, nil, 0)
	refusedAs(t, err, fault.NeedsApproval, reasonWitnesses)
	if remembered != 1 {
		t.Errorf("a store without the next key is remembered, %d in all", remembered)
	}
}

// TestWitnessesThatAreSetAlready: an entry that says nothing new is not made.
func TestWitnessesThatAreSetAlready(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := witnessedTrio(t, clock)
	ctx := t.Context()
	for name, c := range map[string]struct {
		in     WitnessInput
		reason string
	}{
		"the default again":         {WitnessInput{}, "unchanged"},
		"the same in another order": {WitnessInput{Members: []did.DID{arbiter.did, vendor.did, arbiter.did}}, "unchanged"},
		"none of a number":          {WitnessInput{None: true, Threshold: 2}, "witnesses"},
		"more than there are":       {WitnessInput{Threshold: 3}, "threshold"},
	} {
		c.in.Authority = acme.authority()
		_, err := acme.SetWitnesses(ctx, c.in)
		if d := fault.From(err); d == nil || d.Reason != c.reason || d.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := acme.history().Len(); n != 2 {
		t.Errorf("%d entries", n)
	}
	clock.turn(time.Minute)
	for _, in := range []WitnessInput{{Threshold: 2}, {None: true}} {
		in.Authority = acme.authority()
		if e, err := acme.SetWitnesses(ctx, in); err != nil || !e.Active {
			t.Fatalf("%+v, %v", e, err)
		}
		acme.logTo2(vendor)
		acme.logTo2(arbiter)
		clock.turn(time.Minute)
	}
	_, err := acme.SetWitnesses(ctx, WitnessInput{Authority: acme.authority(), None: true})
	refusedAs(t, err, fault.Conflict, "unchanged")
}
