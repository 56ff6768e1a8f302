package member

import (
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/self"
	"trustnode/node/store"
)

// TestARevokedAgentJoinsNoOtherOrganization: whoever has the key of an agent that was
// revoked cannot have a second organization make it good again.
func TestARevokedAgentJoinsNoOtherOrganization(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	ctx := t.Context()
	a := vendor.agent("quant", "borrow")
	e := arbiter.claims(a, vendor)
	vendor.logTo(acme)
	acme.project()
	if _, err := acme.TakeAgent(ctx, vendor.object(a.Object)); err != nil {
		t.Fatal(err)
	}
	vendor.revoke(a)
	vendor.logTo(acme)
	acme.project()
	arbiter.logTo(acme)
	acme.project()
	if _, err := acme.TakeAgent(ctx, e); err != nil {
		t.Fatal(err)
	}
	if row, err := acme.row(a.Agent); err != nil || row.Org != vendor.did || !row.Revoked {
		t.Errorf("row is %+v, %v", row, err)
	}
}

// TestAMemberCannotHideAnothersAgents: objects that do not exist keep those of another
// member from being asked for in no round, and each other for ever in none.
func TestAMemberCannotHideAnothersAgents(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	ghost := vendor.agent("ghost", "borrow")
	var ghosts []envelope.ID
	for i := range 30 {
		ghost.Object, ghost.Serial = envelope.IDOf([]byte{byte(i)}), uint64(i)+2
		arbiter.say(arbiter.issued(ghost))
		ghosts = append(ghosts, ghost.Object)
	}
	arbiter.logTo(acme)
	acme.project()
	quant := vendor.agent("quant", "borrow")
	vendor.logTo(acme)
	acme.project()
	asked := map[envelope.ID]bool{}
	for round := range 5 {
		wants, err := acme.Wants(t.Context(), 10)
		if err != nil || len(wants) != 10 || wants[quant.Object] != vendor.did {
			t.Fatalf("round %d: wants %d, of them quant from %s, %v", round, len(wants), wants[quant.Object], err)
		}
		for id := range wants {
			asked[id] = true
		}
	}
	if n := slices.IndexFunc(ghosts, func(id envelope.ID) bool { return !asked[id] }); n >= 0 {
		t.Errorf("object %d of %d was never asked for", n, len(ghosts))
	}
}

// TestOneDamagedLogHoldsUpNoOther: what cannot be projected of one log is told, and all
// others are projected.
func TestOneDamagedLogHoldsUpNoOther(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	first, last := vendor, arbiter
	if last.did.String() < first.did.String() {
		first, last = last, first
	}
	a := last.agent("quant", "borrow")
	first.agent("other", "borrow")
	last.logTo(acme)
	first.logTo(acme)
	if err := acme.state.Update(t.Context(), func(tx store.Tx) error { return tx.Set([]byte(cursorKey(first.did)), []byte("{")) }); err != nil {
		t.Fatal(err)
	}
	if err := acme.Project(t.Context()); err == nil || !strings.Contains(err.Error(), first.did.String()) {
		t.Errorf("the damage is not told: %v", err)
	}
	if took, err := acme.TakeAgent(t.Context(), last.object(a.Object)); !took || err != nil {
		t.Errorf("take: %v, %v", took, err)
	}
	if row, err := acme.row(a.Agent); err != nil || row.Org != last.did {
		t.Errorf("row is %+v, %v", row, err)
	}
}

// TestProjectingStepByStepIsProjectingAtOnce: a node that follows a log as it grows knows
// of its agents what a node knows that gets the whole log later.
func TestProjectingStepByStepIsProjectingAtOnce(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	ctx := t.Context()
	var agents []self.AgentRow
	follow := func(o *org) {
		vendor.logTo(o)
		o.project()
		for _, a := range agents {
			if _, err := o.TakeAgent(ctx, vendor.object(a.Object)); err != nil {
				t.Fatal(err)
			}
		}
	}
	issue := func(name string) self.AgentRow {
		agents = append(agents, vendor.agent(name, "borrow"))
		follow(acme)
		return agents[len(agents)-1]
	}
	a, b := issue("quant"), issue("desk")
	clock.turn(25 * 24 * time.Hour)
	if err := vendor.Renew(ctx, clock.Now()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{a.Name, b.Name} {
		row, err := vendor.node.OwnAgent(self.ViewGetter(ctx, vendor.state), name)
		if err != nil || row.Serial != 2 {
			t.Fatalf("%s was not renewed: %+v, %v", name, row, err)
		}
		agents = append(agents, row)
	}
	follow(acme)
	vendor.revoke(agents[2])
	vendor.project()
	follow(acme)
	if row, err := acme.row(a.Agent); err != nil || !row.Revoked {
		t.Errorf("once revoked it is %+v, %v", row, err)
	}
	c := issue("quant")
	follow(arbiter)
	for _, d := range []did.DID{a.Agent, b.Agent, c.Agent} {
		step, err := acme.row(d)
		if err != nil {
			t.Fatal(err)
		}
		if once, err := arbiter.row(d); err != nil || !same(step, once) {
			t.Errorf("step by step %+v\nat once %+v, %v", step, once, err)
		}
	}
	if step, _ := acme.row(b.Agent); step.Serial != 2 || step.Revoked {
		t.Errorf("the renewed one is %+v", step)
	}
}
