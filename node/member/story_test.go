package member

import (
	"errors"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
)

// TestHeadStaysWhateverIsServedAfterwards: the partner's server is never asked. What came by gossip verifies; then its host, or
// whoever has it, serves an older log and another one, and neither moves the head nor takes back what was verified.
func TestHeadStaysWhateverIsServedAfterwards(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	first := acme.history()
	// What the thief of the next update key makes, before its owner spends it.
	other := must(didwebvh.Rotate(ctx, first, didwebvh.RotateRequest{Update: must(nextUpdate(ctx, first, stick{Store: acme.update})), Next: newPaper(t).Public(),
		Issuer: newPaper(t).Public(), At: clock.Now().Add(time.Second)}))

	a := acme.agent("research", "lend")
	clock.turn(time.Minute)
	acme.rotate(RotateInput{Reason: "scheduled"})
	b := acme.agent("billing", "borrow")
	acme.logTo2(vendor)
	verifies := func(when string, want ...did.DID) {
		t.Helper()
		issued := map[string]bool{}
		for f, err := range vendor.node.Rec.Facts(ctx, attestation.Query{Org: acme.did, Type: "agent.issued"}) {
			if err != nil {
				t.Fatal(err)
			}
			issued[f.Event.Body().Subject] = true
		}
		for _, d := range want {
			if !issued[d.String()] {
				t.Errorf("%s: the event of %s does not verify", when, d)
			}
		}
	}
	verifies("by gossip", a.Agent, b.Agent)
	head := func(when string, state did.State) {
		t.Helper()
		v, err := vendor.node.Ring.Head(ctx, acme.did)
		if want := acme.history().Head().ID; err != nil || v.ID != want || v.State != state {
			t.Errorf("%s: head %s, %v, %v, want %s, %v", when, v.ID, v.State, err, want, state)
		}
	}
	head("by gossip", did.Held)

	var back *keyring.Rollback
	if _, err := vendor.node.Ring.Offer(ctx, acme.did, first.Log(), nil); !errors.As(err, &back) {
		t.Errorf("a rollback: %v", err)
	}
	head("after the rollback", did.Held)
	verifies("after the rollback", a.Agent, b.Agent)

	var fork *keyring.Fork
	if _, err := vendor.node.Ring.Offer(ctx, acme.did, append(first.Log(), append(other, '\n')...), nil); !errors.As(err, &fork) || fork.Number != first.Len()+1 {
		t.Errorf("a fork: %v", err)
	}
	head("after the fork", did.Frozen)
	verifies("after the fork", a.Agent)
	k, err := vendor.node.Ring.AtSource(first.Head().ID).Key(ctx, acme.did, didwebvh.RolesOf(first.Head().Document).Issuer.Multikey())
	if err != nil || k.Version != first.Head().ID {
		t.Errorf("the key of before the fork: %v, %v", k, err)
	}
	if _, err := vendor.node.Ring.HeadSource().Key(ctx, acme.did, acme.roles().Issuer.Multikey()); !errors.Is(err, keyring.ErrFrozen) {
		t.Errorf("a key past the fork: %v", err)
	}
}
