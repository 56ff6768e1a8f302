package member

import (
	"context"
	"testing"
	"time"

	"trustnode/did/pins"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// leaving are pins after which the caller of a pin is gone.
type leaving struct {
	pins.Pins
	gone func()
}

func (p leaving) Put(ctx context.Context, s pins.Slot, value string) error {
	err := p.Pins.Put(ctx, s, value)
	if s.Kind == pins.KindEntry {
		p.gone()
	}
	return err
}

// TestAPinnedEntryIsNotAbandoned: its pin alone makes an entry committed, whatever a crash
// kept its row from saying. Once it were forgotten, no entry of its number could be signed.
func TestAPinnedEntryIsNotAbandoned(t *testing.T) {
	ctx := t.Context()
	clock := newDial()
	acme := found(t, "acme", clock)
	clock.turn(time.Minute)
	row, err := acme.buildNext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if p, _, err := acme.Pending(ctx); err != nil || !p.Committed.IsZero() || p.Line != nil {
		t.Errorf("only built: %+v, %v", p, err)
	}
	if err := acme.pins.Put(ctx, entrySlot(acme.history().SCID(), 2), row.Version); err != nil {
		t.Fatal(err)
	}
	refusedAs(t, acme.AbandonEntry(ctx, acme.authority().Update), fault.Conflict, "committed")
	p, ok, err := acme.Pending(ctx)
	if err != nil || !ok || p.Version != row.Version || p.Committed.IsZero() || p.Line == nil {
		t.Errorf("pinned: %+v, %v, %v", p, ok, err)
	}
	clock.turn(time.Minute)
	if again, _, err := acme.Pending(ctx); err != nil || again.Committed != p.Committed {
		t.Errorf("committed at %s, and then at %s, %v", p.Committed, again.Committed, err)
	}
	acme.start() // it needs nobody else, so the start goes on with it
	if err := acme.PushEntry(ctx); err != nil {
		t.Fatal(err)
	}
	if got := acme.history().Head().ID; got != row.Version {
		t.Errorf("in force is %s, pinned was %s", got, row.Version)
	}
	clock.turn(time.Minute)
	acme.rotate(RotateInput{})
}

// TestWhoLeavesAfterThePin: a caller that hangs up right after the pin leaves a committed
// entry, which goes on.
func TestWhoLeavesAfterThePin(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	ctx, cancel := context.WithCancel(t.Context())
	acme.pins = leaving{acme.pins, cancel}
	acme.start()
	clock.turn(time.Minute)
	_, _ = acme.Rotate(ctx, RotateInput{Authority: acme.authority(), Reason: "scheduled"})
	row, ok, err := get[entryRow](self.ViewGetter(t.Context(), acme.state), keyEntry)
	if err != nil || !ok || row.step() < stepCommitted {
		t.Errorf("its row is at step %d, %v, %v", row.step(), ok, err)
	}
	refusedAs(t, acme.AbandonEntry(t.Context(), acme.authority().Update), fault.Conflict, "committed")
	if e, err := acme.ResumeEntry(t.Context(), acme.authority().Update, nil, 0); err != nil || !e.Active {
		t.Errorf("resumed: %+v, %v", e, err)
	}
	clock.turn(time.Minute)
	acme.rotate(RotateInput{})
}
