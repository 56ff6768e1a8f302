package member

import (
	"errors"
	"slices"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

func (o *org) agent(name string, can ...string) self.AgentRow {
	o.t.Helper()
	a, err := o.AddAgent(o.t.Context(), AgentInput{Name: name, Can: can})
	if err != nil {
		o.t.Fatalf("%s: agent %s: %v", o.name, name, err)
	}
	return a
}

// row is an agent's row as decisions read it; ErrNoAgent without one.
func (o *org) row(d did.DID) (self.AgentRow, error) {
	return self.Agent(self.ViewGetter(o.t.Context(), o.state), d)
}

func TestAgentAdd(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	a, err := acme.AddAgent(t.Context(), AgentInput{Name: "research", Can: []string{"lend", "borrow", "lend"}, Project: "portfolio"})
	if err != nil {
		t.Fatal(err)
	}
	want := self.AgentRow{Agent: a.Agent, Capabilities: []string{"borrow", "lend"}, KID: a.Pub.Multikey(), Kind: "agent", Name: "research", NotAfter: envelope.TimeOf(t0.Add(30 * 24 * time.Hour)),
		NotBefore: envelope.TimeOf(t0), Object: a.Object, Org: acme.did, Project: "portfolio", Pub: a.Pub, Serial: 1}
	if !same(a, want) || a.Agent.String() != "did:key:"+a.Pub.Multikey() {
		t.Errorf("got %+v, want %+v", a, want)
	}
	if got := acme.eventTypes(); !slices.Equal(got, []string{"log.opened", "agent.issued"}) {
		t.Errorf("log holds %v", got)
	}
	acme.project()
	acme.project()
	want.Index = 1
	if got, err := acme.row(a.Agent); err != nil || !same(got, want) {
		t.Errorf("projected: got %+v, %v, want %+v", got, err, want)
	}
	if _, err := keyring.OpenAgent(t.Context(), acme.object(a.Object), acme.node.Ring.HeadSource()); err != nil {
		t.Errorf("object: %v", err)
	}
	if err := acme.node.Lib.MayRead(t.Context(), acme.did, a.Object); err != nil {
		t.Errorf("a member may not have the object: %v", err)
	}
	if list, err := acme.Agents(t.Context()); err != nil || len(list) != 1 || !same(list[0], want) {
		t.Errorf("list is %+v, %v", list, err)
	}
}

func same(a, b self.AgentRow) bool {
	x, errX := envelope.Marshal(a)
	y, errY := envelope.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func TestAgentRefusals(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	acme.agent("research", "lend")
	cases := []struct {
		name   string
		in     AgentInput
		code   fault.Code
		reason string
	}{
		{"a name in use", AgentInput{Name: "research", Can: []string{"lend"}}, fault.Conflict, "name_taken"},
		{"a capability nobody knows", AgentInput{Name: "x", Can: []string{"fly"}}, fault.Invalid, "capability"},
		{"an approver that is no person", AgentInput{Name: "x", Can: []string{"approve"}}, fault.Invalid, "capability"},
		{"no capability", AgentInput{Name: "x"}, fault.Invalid, "capability"},
		{"a name with a capital", AgentInput{Name: "Research", Can: []string{"lend"}}, fault.Invalid, "name"},
		{"a project that is none", AgentInput{Name: "x", Can: []string{"lend"}, Project: "a/b"}, fault.Invalid, "project"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := acme.AddAgent(t.Context(), c.in)
			refusedAs(t, err, c.code, c.reason)
		})
	}
}

func TestAgentWhileRecovering(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	acme.start()
	a := acme.agent("research", "lend")
	if _, err := acme.row(a.Agent); err != nil {
		t.Errorf("own node does not know it: %v", err)
	}
	if n := acme.size(acme.did); n != 2 {
		t.Errorf("a recovering log grew to %d", n)
	}
	if err := acme.Confirmed(t.Context(), vendor.did); err != nil {
		t.Fatal(err)
	}
	if got := acme.eventTypes(); !slices.Equal(got, []string{"log.opened", "charter.signed", "agent.issued"}) {
		t.Errorf("log holds %v", got)
	}
}

func TestAgentOfAPeer(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	ctx := t.Context()
	a := vendor.agent("quant", "borrow")
	vendor.logTo(acme)
	acme.project()
	if _, err := acme.row(a.Agent); !errors.Is(err, self.ErrNoAgent) {
		t.Errorf("before its object came: %v", err)
	}
	wants, err := acme.Wants(ctx, 10)
	if err != nil || len(wants) != 1 || wants[a.Object] != vendor.did {
		t.Fatalf("wants %v, %v", wants, err)
	}
	if took, err := acme.TakeAgent(ctx, vendor.object(a.Object)); err != nil || !took {
		t.Fatalf("take: %v, %v", took, err)
	}
	got, err := acme.row(a.Agent)
	if err != nil || got.Org != vendor.did || got.Index != 2 || got.Name != "quant" || got.May("borrow", clock.Now()) != nil {
		t.Errorf("row is %+v, %v", got, err)
	}
	if wants, err := acme.Wants(ctx, 10); err != nil || len(wants) != 0 {
		t.Errorf("still wants %v, %v", wants, err)
	}
	if took, err := acme.TakeAgent(ctx, vendor.object(a.Object)); err != nil || took {
		t.Errorf("taken twice: %v, %v", took, err)
	}
	// Nothing in it is lost by a restart, and nothing is done twice.
	acme.start()
	acme.project()
	if again, err := acme.row(a.Agent); err != nil || !same(got, again) {
		t.Errorf("after a restart: %+v, %v", again, err)
	}
}

func TestAgentObjectsThatAreNotTaken(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	ctx := t.Context()
	a := vendor.agent("quant", "borrow")
	unasked := arbiter.agent("judge", "lend")
	vendor.logTo(acme)
	acme.project()
	if took, err := acme.TakeAgent(ctx, arbiter.object(unasked.Object)); err != nil || took {
		t.Errorf("one that no event names: %v, %v", took, err)
	}
	bad := vendor.object(a.Object)
	bad.Signatures[0].Sig[3] ^= 1
	if took, err := acme.TakeAgent(ctx, bad); took || !errors.Is(err, envelope.ErrSignature) {
		t.Errorf("one with a false signature: %v, %v", took, err)
	}
	if _, err := acme.row(a.Agent); !errors.Is(err, self.ErrNoAgent) {
		t.Errorf("a row came of it: %v", err)
	}
	if took, err := acme.TakeAgent(ctx, vendor.object(a.Object)); err != nil || !took {
		t.Errorf("the true one after that: %v, %v", took, err)
	}
}

// TestEventThatTwistsItsObject: an agent.issued that says something else than the object
// it names makes no row.
func TestEventThatTwistsItsObject(t *testing.T) {
	acme := found(t, "acme", newDial())
	a := acme.agent("research", "lend")
	acme.project()
	before, err := acme.row(a.Agent)
	if err != nil {
		t.Fatal(err)
	}
	twisted := a
	twisted.Name, twisted.Serial = "root", 7
	acme.say(acme.issued(twisted))
	acme.project()
	if after, err := acme.row(a.Agent); err != nil || !same(before, after) {
		t.Errorf("row is %+v, %v, was %+v", after, err, before)
	}
	if _, err := acme.node.OwnAgent(self.ViewGetter(t.Context(), acme.state), "root"); !errors.Is(err, self.ErrNoAgent) {
		t.Errorf("root is an agent: %v", err)
	}
}

// say logs an event of a peer as it would draft it.
func (o *org) say(d attestation.Draft) {
	o.t.Helper()
	err := o.state.Update(o.t.Context(), func(tx store.Tx) error {
		_, err := o.node.Rec.Event(tx, d)
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *org) issued(a self.AgentRow) attestation.Draft {
	return attestation.Draft{Type: "agent.issued", Subject: a.Agent.String(), Refs: []envelope.ID{a.Object}, Data: attestation.AgentIssued{Agent: a.Agent, ID: a.Object, Name: a.Name, Serial: a.Serial}}
}

func (o *org) revoke(a self.AgentRow) {
	o.say(attestation.Draft{Type: "agent.revoked", Subject: a.Agent.String(), Refs: []envelope.ID{a.Object},
		Data: attestation.AgentRevoked{Agent: a.Agent, Name: a.Name, Reason: "other", ThroughSerial: a.Serial}})
}

func TestRevokedAgent(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	ctx := t.Context()
	late := vendor.agent("late", "borrow")
	a := vendor.agent("quant", "borrow")
	vendor.logTo(acme)
	acme.project()
	if _, err := acme.TakeAgent(ctx, vendor.object(a.Object)); err != nil {
		t.Fatal(err)
	}
	vendor.revoke(a)
	vendor.revoke(late)
	vendor.logTo(acme)
	acme.project()
	vendor.project()
	if _, err := acme.TakeAgent(ctx, vendor.object(late.Object)); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*org{acme, vendor} {
		for _, d := range []did.DID{a.Agent, late.Agent} {
			if row, err := o.row(d); err != nil || !row.Revoked || row.May("borrow", clock.Now()) == nil {
				t.Errorf("%s at %s: %+v, %v", row.Name, o.name, row, err)
			}
		}
	}
	// Its name comes back with a higher serial and another key.
	b := vendor.agent("quant", "borrow")
	if b.Serial != 2 || b.Agent == a.Agent {
		t.Errorf("after the revocation: serial %d, same agent %v", b.Serial, b.Agent == a.Agent)
	}
	vendor.logTo(acme)
	acme.project()
	if _, err := acme.TakeAgent(ctx, vendor.object(b.Object)); err != nil {
		t.Fatal(err)
	}
	if row, err := acme.row(b.Agent); err != nil || row.Revoked {
		t.Errorf("the new one: %+v, %v", row, err)
	}
}

// claims says in the log that an agent of another organization is this one's, and returns
// the object that both signed.
func (o *org) claims(a self.AgentRow, of *org) envelope.Envelope {
	o.t.Helper()
	ctx := o.t.Context()
	signer, _, err := of.node.Signers.Agent(ctx, a.Agent)
	if err != nil {
		o.t.Fatal(err)
	}
	issuer, kid, err := o.node.Signers.Issuer(ctx)
	if err != nil {
		o.t.Fatal(err)
	}
	version, err := o.version(ctx)
	if err != nil {
		o.t.Fatal(err)
	}
	e, err := keyring.SealAgent(ctx, keyring.Agent{Agent: a.Agent, Capabilities: []keyring.Capability{"lend"}, DIDVersion: version, IssuedAt: envelope.TimeOf(t0), Key: keyring.AgentKey{Kid: a.KID, Pub: a.Pub},
		Kid: kid, Kind: keyring.KindAgent, Name: "stolen", NotAfter: envelope.TimeOf(t0.Add(time.Hour)), NotBefore: envelope.TimeOf(t0), Org: o.did, Serial: 1}, issuer, signer)
	if err != nil {
		o.t.Fatal(err)
	}
	claim := a
	claim.Object, claim.Name = e.ID(), "stolen"
	o.say(o.issued(claim))
	return e
}

// TestSecondClaimOfAnAgent: an agent belongs to the organization that came first while it
// is live.
func TestSecondClaimOfAnAgent(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	ctx := t.Context()
	a := vendor.agent("quant", "borrow")
	e := arbiter.claims(a, vendor)
	vendor.logTo(acme)
	arbiter.logTo(acme)
	acme.project()
	if _, err := acme.TakeAgent(ctx, vendor.object(a.Object)); err != nil {
		t.Fatal(err)
	}
	before, err := acme.row(a.Agent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acme.TakeAgent(ctx, e); err != nil {
		t.Fatal(err)
	}
	acme.project()
	if after, err := acme.row(a.Agent); err != nil || !same(before, after) {
		t.Errorf("row is %+v, %v, was %+v", after, err, before)
	}
}

func TestTwoObjectsOfOneSerial(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	ctx := t.Context()
	a := vendor.agent("quant", "borrow")
	// Another object of the same name and serial, as from a restored backup.
	if err := vendor.state.Update(ctx, func(tx store.Tx) error { return tx.Delete([]byte(namedKey(vendor.did, "quant"))) }); err != nil {
		t.Fatal(err)
	}
	b := vendor.agent("quant", "borrow")
	vendor.logTo(acme)
	acme.project()
	for _, x := range []self.AgentRow{a, b} {
		if _, err := acme.TakeAgent(ctx, vendor.object(x.Object)); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []self.AgentRow{a, b} {
		if row, err := acme.row(x.Agent); err == nil && row.May("borrow", clock.Now()) == nil {
			t.Errorf("%s may act: %+v", x.Agent, row)
		}
	}
}

func TestAgentsAreRenewed(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	a := acme.agent("research", "lend")
	renew := func(after time.Duration) self.AgentRow {
		clock.turn(after)
		if err := acme.Renew(ctx, clock.Now()); err != nil {
			t.Fatal(err)
		}
		row, err := acme.row(a.Agent)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	if row := renew(19 * 24 * time.Hour); row.Serial != 1 {
		t.Errorf("renewed after 19 days: serial %d", row.Serial)
	}
	if row := renew(24 * time.Hour); row.Serial != 2 || row.NotAfter != envelope.TimeOf(clock.Now().Add(30*24*time.Hour)) || row.May("lend", clock.Now()) != nil {
		t.Errorf("after 20 days: %+v", row)
	}
	acme.project()
	if row, _ := acme.row(a.Agent); row.Serial != 2 || row.Index == 0 {
		t.Errorf("projected: %+v", row)
	}
	// A node that was away when it ran out does not bring it back by itself.
	if row := renew(31 * 24 * time.Hour); row.Serial != 2 {
		t.Errorf("an ended agent was renewed: %+v", row)
	}
	if again := acme.agent("research", "lend"); again.Serial != 3 || again.Agent != a.Agent {
		t.Errorf("added again: serial %d, same key %v", again.Serial, again.Agent == a.Agent)
	}
}

// TestAnObjectUnderARetiredKeyIsRenewed: nobody outside could verify its credential for as long as it lasts.
func TestAnObjectUnderARetiredKeyIsRenewed(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	ctx := t.Context()
	a := acme.agent("research", "lend")
	k, text := outside(0x31)
	in := AgentInput{Name: "billing", Can: []string{"borrow"}, For: text}
	in.Request = signed(t, acme.drafts(in), k)
	far := must(acme.AddAgent(ctx, in))
	renewed := func(want uint64) {
		t.Helper()
		clock.turn(time.Minute)
		if err := acme.Renew(ctx, clock.Now()); err != nil {
			t.Fatal(err)
		}
		r := must(acme.row(a.Agent))
		if body := must(acme.bodyOf(ctx, r)); r.Serial != want || body.Kid != acme.roles().Issuer.Multikey() {
			t.Errorf("serial %d, want %d; by %s", r.Serial, want, body.Kid)
		}
		if r := must(acme.row(far.Agent)); r.Serial != 1 || r.Revoked {
			t.Errorf("the agent whose key is not here: %+v", r)
		}
	}
	renewed(1)
	acme.rotate(RotateInput{Role: RoleWitness, Reason: "scheduled"})
	renewed(1)
	acme.rotate(RotateInput{Reason: "scheduled"})
	renewed(2)
	renewed(2)
}
