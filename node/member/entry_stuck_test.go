package member

import (
	"errors"
	"testing"
	"time"

	"trustnode/did/keyring"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

// activeCompromise brings a rotation for compromise to where its agents are to be issued
// anew. All that the own log says is in doubt.
func activeCompromise(t *testing.T, o *org) entryRow {
	t.Helper()
	ctx := t.Context()
	row, err := o.buildNext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	zero := uint64(0)
	row.Reason, row.Taint = "compromise", &zero
	if err := o.keepEntry(ctx, row); err != nil {
		t.Fatal(err)
	}
	if row, err = o.commitEntry(ctx, row); err == nil {
		if row, err = collected(o.collect(ctx, row)); err == nil {
			row, err = o.activate(ctx, row)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// TestAnEntryEndsWhateverAgentsDo: an agent that cannot be issued anew after a compromise
// keeps no entry from its end, and what its operator revoked stays revoked.
func TestAnEntryEndsWhateverAgentsDo(t *testing.T) {
	ctx := t.Context()
	clock := newDial()
	acme := found(t, "acme", clock)
	lives, revoked := acme.agent("lives", "lend"), acme.agent("revoked", "lend")
	damaged, raced := acme.agent("damaged", "lend"), acme.agent("raced", "lend")
	acme.project()
	clock.turn(time.Minute)
	activeCompromise(t, acme)
	if _, err := acme.RevokeAgent(ctx, AgentRevokeInput{Agent: "revoked"}); err != nil {
		t.Fatal(err)
	}
	bad, gone := must(acme.row(damaged.Agent)), must(acme.row(raced.Agent))
	bad.Capabilities = []string{"nothing that is known"}
	gone.Revoked = true // by its row alone, no event says so
	err := acme.state.Update(ctx, func(tx store.Tx) error {
		return errors.Join(acme.node.PutAgent(tx, bad), acme.node.PutAgent(tx, gone))
	})
	if err != nil {
		t.Fatal(err)
	}
	acme.start() // and the projection is quicker than what is left to do
	if err := acme.Project(ctx); err != nil {
		t.Fatal(err)
	}
	if err := acme.PushEntry(ctx); err != nil {
		t.Errorf("in the background: %v", err)
	}
	acme.project()
	for _, c := range []struct {
		self.AgentRow
		ended bool
	}{{lives, false}, {revoked, true}, {damaged, true}, {raced, true}} {
		if r := must(acme.row(c.Agent)); r.Revoked != c.ended {
			t.Errorf("%s: %+v", c.Name, r)
		}
	}
	clock.turn(time.Minute)
	acme.rotate(RotateInput{})
	if r := must(acme.row(revoked.Agent)); !r.Revoked {
		t.Errorf("revoked, and %+v", r)
	}
}

// TestAContestedEntryKeepsItsRest: while two branches of the own DID log are signed, what
// an entry has still to do waits, and its row with it.
func TestAContestedEntryKeepsItsRest(t *testing.T) {
	ctx := t.Context()
	clock := newDial()
	acme := found(t, "acme", clock)
	a := acme.agent("research", "lend")
	acme.project()
	clock.turn(time.Minute)
	thief := acme.stolen(1)
	row := activeCompromise(t, acme)
	if err := acme.offer(acme, thief); !errors.Is(err, keyring.ErrFrozen) {
		t.Fatalf("the other branch: %v", err)
	}
	refusedAs(t, acme.signAnew(ctx, row), fault.Forked, "did_log")
	if got := must(acme.row(a.Agent)); got.Object != a.Object {
		t.Error("issued anew by a key of one branch")
	}
}
