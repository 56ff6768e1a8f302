package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

func (o *org) revokes(in AgentRevokeInput) AgentRevoked {
	o.t.Helper()
	r, err := o.RevokeAgent(o.t.Context(), in)
	if err != nil {
		o.t.Fatalf("%s: revoke %s: %v", o.name, in.Agent, err)
	}
	return r
}

// revocations decodes each agent.revoked of the own log, in order.
func (o *org) revocations() (out []attestation.AgentRevoked) {
	o.t.Helper()
	if err := o.node.Rec.Flush(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
	for f, err := range o.node.Rec.Facts(o.t.Context(), attestation.Query{Org: o.did, Type: "agent.revoked"}) {
		var d attestation.AgentRevoked
		if err = errors.Join(err, f.Event.Body().Decode(&d)); err != nil {
			o.t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

func TestRevokeAgent(t *testing.T) {
	acme := found(t, "acme", newDial())
	var at self.AgentRow
	var ended []did.DID
	acme.tweak = func(c *Config) {
		c.AgentEnded = func(ctx context.Context, d did.DID) int {
			row, err := self.Agent(self.ViewGetter(ctx, acme.state), d)
			if err != nil {
				t.Error(err)
			}
			at, ended = row, append(ended, d)
			return 3
		}
	}
	acme.start()
	a := acme.agent("research", "lend", "borrow")
	if _, _, err := acme.MakeToken(t.Context(), "research", ForHTTP); err != nil {
		t.Fatal(err)
	}
	r := acme.revokes(AgentRevokeInput{Agent: "research"})
	if !at.Revoked || !slices.Equal(ended, []did.DID{a.Agent}) {
		t.Errorf("when its end was told the row was %+v, told of %v", at, ended)
	}
	if r.Agent.Agent != a.Agent || !r.Agent.Revoked || r.Reason != "ended" || !r.Logged || r.Index != 2 || r.Loans != 3 {
		t.Errorf("got %+v", r)
	}
	want := attestation.AgentRevoked{Agent: a.Agent, Name: "research", Reason: "ended", ThroughSerial: 1}
	if got := acme.revocations(); len(got) != 1 || got[0] != want {
		t.Errorf("log says %+v, want %+v", got, want)
	}
	if n, _, err := get[namedRow](self.ViewGetter(t.Context(), acme.state), namedKey(acme.did, "research")); err != nil || n.Through != 1 {
		t.Errorf("name is %+v, %v", n, err)
	}
	if v, err := acme.ShowAgent(t.Context(), "research"); err != nil || len(v.Tokens) != 0 {
		t.Errorf("tokens %v, %v", v.Tokens, err)
	}
	again := acme.revokes(AgentRevokeInput{Agent: a.Agent.String(), Reason: "misuse"})
	if again.Event != r.Event || again.Index != r.Index || again.Reason != "ended" || len(acme.revocations()) != 1 {
		t.Errorf("a second revocation: %+v", again)
	}
	acme.project()
	if row, err := acme.row(a.Agent); err != nil || !row.Revoked || row.Index != 1 {
		t.Errorf("projected: %+v, %v", row, err)
	}
}

func TestRevokeAgentRefusals(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	quant := vendor.agent("quant", "borrow")
	vendor.logTo(acme)
	acme.project()
	if _, err := acme.TakeAgent(t.Context(), vendor.object(quant.Object)); err != nil {
		t.Fatal(err)
	}
	acme.agent("research", "lend")
	index := func(n uint64) *uint64 { return &n }
	for _, c := range []struct {
		name   string
		in     AgentRevokeInput
		code   fault.Code
		reason string
	}{
		{"no such name", AgentRevokeInput{Agent: "ghost"}, fault.NotFound, "agent"},
		{"an agent of another member", AgentRevokeInput{Agent: quant.Agent.String()}, fault.NotFound, "agent"},
		{"a reason that is none", AgentRevokeInput{Agent: "research", Reason: "boredom"}, fault.Invalid, "reason"},
		{"a taint without a compromise", AgentRevokeInput{Agent: "research", TaintFrom: index(0)}, fault.Invalid, "taint"},
		{"a taint beyond the log", AgentRevokeInput{Agent: "research", Reason: "key_compromise", TaintFrom: index(99)}, fault.Invalid, "taint"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := acme.RevokeAgent(t.Context(), c.in)
			refusedAs(t, err, c.code, c.reason)
		})
	}
	if row, err := acme.node.OwnAgent(self.ViewGetter(t.Context(), acme.state), "research"); err != nil || row.Revoked {
		t.Errorf("a refused revocation left %+v, %v", row, err)
	}
	acme.revokes(AgentRevokeInput{Agent: "research", Reason: "key_compromise", TaintFrom: index(1)})
	if got := acme.revocations(); len(got) != 1 || got[0].TaintFrom == nil || *got[0].TaintFrom != 1 || got[0].Reason != "key_compromise" {
		t.Errorf("log says %+v", got)
	}
}

// TestRevokedWhileTheLogWaits: a revocation holds at once where the own log takes nothing,
// survives a crash, and is logged once.
func TestRevokedWhileTheLogWaits(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	a := acme.agent("research", "lend")
	acme.start() // recovering: it has to hear from a peer first
	r := acme.revokes(AgentRevokeInput{Agent: "research"})
	if r.Logged || !r.Agent.Revoked {
		t.Errorf("got %+v", r)
	}
	acme.start() // and the process dies
	if row, err := acme.row(a.Agent); err != nil || !row.Revoked {
		t.Errorf("after a crash: %+v, %v", row, err)
	}
	if again := acme.revokes(AgentRevokeInput{Agent: "research"}); again.Event != r.Event {
		t.Errorf("revoked again: %+v", again)
	}
	if err := acme.Confirmed(t.Context(), vendor.did); err != nil {
		t.Fatal(err)
	}
	acme.project()
	if got := acme.revocations(); len(got) != 1 {
		t.Errorf("log says %+v", got)
	}
	if again := acme.revokes(AgentRevokeInput{Agent: "research"}); again.Event != r.Event || !again.Logged {
		t.Errorf("once the log is open: %+v", again)
	}
}

// TestARevocationThatTheStateForgot: a state that was put back from a copy holds an agent
// live that the log has revoked since. It is not by the time the node leaves recovering.
func TestARevocationThatTheStateForgot(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	ctx := t.Context()
	a := acme.agent("research", "lend")
	acme.project()
	var copied [][2][]byte
	keys := []string{cursorKey(acme.did), namedKey(acme.did, "research"), "agent/" + a.Agent.String()}
	err := acme.state.View(ctx, func(r store.Reader) error {
		for _, k := range keys {
			v, err := r.Get([]byte(k))
			if err != nil {
				return err
			}
			copied = append(copied, [2][]byte{[]byte(k), slices.Clone(v)})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	acme.revokes(AgentRevokeInput{Agent: "research"})
	acme.project()
	acme.stop()
	err = acme.state.Update(ctx, func(tx store.Tx) (err error) {
		for _, kv := range copied {
			err = errors.Join(err, tx.Set(kv[0], kv[1]))
		}
		return errors.Join(err, tx.Delete([]byte(endedKey(a.Agent))))
	})
	if err != nil {
		t.Fatal(err)
	}
	acme.start()
	if row, err := acme.row(a.Agent); err != nil || row.Revoked {
		t.Fatalf("the copy is %+v, %v", row, err)
	}
	if err := acme.Confirmed(ctx, vendor.did); err != nil {
		t.Fatal(err)
	}
	if row, err := acme.row(a.Agent); err != nil || !row.Revoked {
		t.Errorf("once it may lend again it is %+v, %v", row, err)
	}
	_, err = acme.AddAgent(ctx, AgentInput{Name: "research", Can: []string{"lend"}})
	if row, _ := acme.node.OwnAgent(self.ViewGetter(ctx, acme.state), "research"); err != nil || row.Serial != 2 || row.Agent == a.Agent {
		t.Errorf("its name comes back as %+v, %v", row, err)
	}
}

// TestAFailedTransactionRevokesNothing: half a revocation is none.
func TestAFailedTransactionRevokesNothing(t *testing.T) {
	acme := found(t, "acme", newDial())
	a := acme.agent("research", "lend")
	text, _, err := acme.MakeToken(t.Context(), "research", ForHTTP)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("disk on fire")
	err = acme.state.Update(t.Context(), func(tx store.Tx) error {
		if _, err := acme.putRevoked(tx, AgentRevokeInput{Agent: "research", Reason: "ended"}); err != nil {
			t.Error(err)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if row, err := acme.row(a.Agent); err != nil || row.Revoked {
		t.Errorf("row is %+v, %v", row, err)
	}
	if _, err := acme.Authenticate(t.Context(), text, ForHTTP); err != nil {
		t.Errorf("its token: %v", err)
	}
	if got := acme.revocations(); len(got) != 0 {
		t.Errorf("log says %+v", got)
	}
}

// inForce says whether any object of an agent counts at an index of its log.
func inForce(t *testing.T, k history.Keys, d did.DID, index uint64) bool {
	t.Helper()
	return slices.ContainsFunc(k.Terms(d), func(x history.Term) bool { return x.Holds(index) == nil })
}

// TestNothingOfARevokedAgentCountsLater is I-19: at every node that holds the event, no
// object of the agent counts at a later position, what counted before goes on to, and an
// object that is said again in the log brings nothing back.
func TestNothingOfARevokedAgentCountsLater(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(vendor, acme, arbiter)
	ctx := t.Context()
	first := vendor.agent("quant", "borrow")
	clock.turn(21 * 24 * time.Hour)
	if err := vendor.Renew(ctx, clock.Now()); err != nil {
		t.Fatal(err)
	}
	second, err := vendor.row(first.Agent)
	if err != nil || second.Serial != 2 {
		t.Fatalf("renewed: %+v, %v", second, err)
	}
	r := vendor.revokes(AgentRevokeInput{Agent: "quant"})
	for _, old := range []self.AgentRow{first, second} {
		vendor.say(vendor.issued(old)) // the replay of an object
	}
	next := vendor.agent("quant", "borrow")
	if next.Serial != 3 || next.Agent == first.Agent {
		t.Errorf("it came back as %+v", next)
	}
	for _, o := range []*org{acme, vendor} {
		if o != vendor {
			vendor.logTo(o)
		}
		o.project()
		for _, a := range []self.AgentRow{first, second, next} {
			if _, err := o.TakeAgent(ctx, vendor.object(a.Object)); err != nil {
				t.Fatal(err)
			}
		}
		o.project()
		k, err := o.node.Rec.Keys(ctx, vendor.did)
		if err != nil {
			t.Fatal(err)
		}
		if !inForce(t, k, first.Agent, r.Index) {
			t.Errorf("%s: what it signed before does not count any more", o.name)
		}
		for i := r.Index + 1; i < k.Size()+5; i++ {
			if inForce(t, k, first.Agent, i) {
				t.Errorf("%s: it counts at %d, revoked at %d", o.name, i, r.Index)
			}
		}
		if row, err := o.row(first.Agent); err != nil || !row.Revoked {
			t.Errorf("%s: %+v, %v", o.name, row, err)
		}
		if row, err := o.row(next.Agent); err != nil || row.Revoked || row.May("borrow", clock.Now()) != nil {
			t.Errorf("%s: the next one is %+v, %v", o.name, row, err)
		}
	}
}

// TestOneNameManyHands: adding, revoking and renewing one name at once. Serials rise, none
// is used twice, no renewal outlives a revocation, and every node ends with the same agents.
func TestOneNameManyHands(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for range 5 {
				if _, err := acme.AddAgent(ctx, AgentInput{Name: "one", Can: []string{"lend"}}); err != nil && fault.Of(err) != fault.Conflict {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for range 5 {
				r, err := acme.RevokeAgent(ctx, AgentRevokeInput{Agent: "one"})
				if err != nil && fault.Of(err) != fault.NotFound {
					t.Error(err)
				}
				if err != nil {
					continue
				}
				if row, err := acme.row(r.Agent.Agent); err != nil || !row.Revoked {
					t.Errorf("after its revocation returned: %+v, %v", row, err)
				}
			}
		})
		all.Go(func() {
			for range 5 {
				// As the hour in which each agent is due, whatever its age.
				if err := acme.Renew(ctx, clock.Now().Add(25*24*time.Hour)); err != nil && fault.Of(err) != fault.Conflict {
					t.Error(err)
				}
				if err := acme.Project(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	acme.project()
	k, err := acme.node.Rec.Keys(ctx, acme.did)
	if err != nil {
		t.Fatal(err)
	}
	terms := k.Terms(did.DID{})
	for i, x := range terms {
		if i > 0 && x.Serial != terms[i-1].Serial+1 {
			t.Errorf("serial %d comes after %d", x.Serial, terms[i-1].Serial)
		}
	}
	live := map[did.DID]bool{}
	for _, x := range terms {
		if x.Holds(k.Size()) == nil {
			live[x.Agent] = true
		}
	}
	if len(live) > 1 {
		t.Errorf("%d agents of one name are in force", len(live))
	}
	acme.logTo(vendor)
	vendor.project()
	for _, x := range terms {
		if _, err := vendor.TakeAgent(ctx, acme.object(x.ID)); err != nil {
			t.Fatal(err)
		}
	}
	vendor.project()
	for _, x := range terms {
		here, err := acme.row(x.Agent)
		if err != nil {
			t.Fatal(err)
		}
		there, err := vendor.row(x.Agent)
		if err != nil || !same(here, there) || here.Revoked == live[x.Agent] {
			t.Errorf("%s is here %+v, there %+v, %v; in force by the log %v", x.Agent, here, there, err, live[x.Agent])
		}
	}
}

// TestAnObjectOfAnotherPlace: agent objects that are replayed, altered or of another
// organization are not taken for the one an event names.
// It is identity I-19.
func TestAgentObjectsReplayed(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	ctx := t.Context()
	old := vendor.agent("quant", "borrow")
	vendor.revokes(AgentRevokeInput{Agent: "quant"})
	next := vendor.agent("quant", "borrow", "lend")
	vendor.logTo(acme)
	acme.project()
	e, o := vendor.object(next.Object), vendor.object(old.Object)
	for name, x := range map[string]envelope.Envelope{
		"the old one's signatures on the new body": {Type: e.Type, Body: e.Body, Signatures: o.Signatures},
		"without the agent's signature":            {Type: e.Type, Body: e.Body, Signatures: e.Signatures[:1]},
		"without the organization's":               {Type: e.Type, Body: e.Body, Signatures: e.Signatures[1:]},
		"a signature twice":                        {Type: e.Type, Body: e.Body, Signatures: append(slices.Clone(e.Signatures), e.Signatures[0])},
	} {
		if took, err := acme.TakeAgent(ctx, x); took || err == nil {
			t.Errorf("%s: taken %v, %v", name, took, err)
		}
	}
	for i := range 3 { // the true ones, in any order and again
		for _, x := range []envelope.Envelope{e, o} {
			if took, err := acme.TakeAgent(ctx, x); err != nil || took != (i == 0) {
				t.Errorf("round %d: %v, %v", i, took, err)
			}
		}
	}
	if row, err := acme.row(old.Agent); err != nil || !row.Revoked {
		t.Errorf("the old one is %+v, %v", row, err)
	}
	if row, err := acme.row(next.Agent); err != nil || row.Revoked || row.Serial != 2 {
		t.Errorf("the new one is %+v, %v", row, err)
	}
}

func TestAsManyAgentsAsAllowed(t *testing.T) {
	acme := found(t, "acme", newDial())
	a := acme.agent("first", "lend")
	err := acme.state.Update(t.Context(), func(tx store.Tx) error {
		for i := 1; i < maxAgents; i++ {
			row := a
			row.Name, row.Agent = fmt.Sprintf("a%d", i), did.MustParse(fmt.Sprintf("did:web:acme.example:%d", i))
			if err := errors.Join(acme.node.PutAgent(tx, row), put(tx, namedKey(acme.did, row.Name), namedRow{Agent: row.Agent, Object: row.Object, Serial: 1})); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = acme.AddAgent(t.Context(), AgentInput{Name: "more", Can: []string{"lend"}})
	refusedAs(t, err, fault.TooLarge, "agents")
	acme.revokes(AgentRevokeInput{Agent: "first"})
	if _, err := acme.AddAgent(t.Context(), AgentInput{Name: "first", Can: []string{"lend"}}); err != nil {
		t.Errorf("a name that ended: %v", err)
	}
}
