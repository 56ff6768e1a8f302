package member

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/node/fault"
)

// stolen is the next entry of o's DID log as whoever has its next update key writes it.
func (o *org) stolen(issuer byte) []byte {
	o.t.Helper()
	h := o.history()
	s, err := nextUpdate(o.t.Context(), h, stick{Store: o.update})
	if err != nil {
		o.t.Fatal(err)
	}
	line, err := didwebvh.Rotate(o.t.Context(), h, didwebvh.RotateRequest{Update: s, Next: envelopetest.Repeat(0x70 + issuer).Public(),
		Issuer: envelopetest.Repeat(0x60 + issuer).Public(), At: o.clock.Now()})
	if err != nil {
		o.t.Fatal(err)
	}
	return append(line, '\n')
}

// offer gives lines of another organization's DID log to o's ring.
func (o *org) offer(of *org, lines []byte) error {
	_, err := o.node.Ring.Offer(o.t.Context(), of.did, lines, nil)
	return err
}

// theft is acme with two entries 2: its own, which vendor saw, and the thief's, which the
// arbiter saw.
func theft(t *testing.T, clock *dial) (acme, vendor, arbiter *org, own, thief []byte) {
	t.Helper()
	acme, vendor, arbiter = federated(t, clock)
	hear(acme, vendor, arbiter)
	clock.turn(time.Minute)
	thief = acme.stolen(1)
	acme.rotate(RotateInput{})
	own = acme.history().After(1)
	if err := errors.Join(vendor.offer(acme, own), arbiter.offer(acme, thief)); err != nil {
		t.Fatal(err)
	}
	return acme, vendor, arbiter, own, thief
}

// proofs are the bodies of the fork.proven in o's own log.
func (o *org) proofs() (out []federation.ForkProof) {
	o.t.Helper()
	ctx := o.t.Context()
	if err := o.node.Rec.Flush(ctx); err != nil {
		o.t.Fatal(err)
	}
	for f, err := range o.node.Rec.Facts(ctx, attestation.Query{Org: o.did, Type: "fork.proven"}) {
		if err != nil {
			o.t.Fatal(err)
		}
		p, err := federation.ParseForkProof(f.Body)
		if err != nil {
			o.t.Fatalf("%s: body %s: %v", o.name, f.Body, err)
		}
		var d attestation.ForkProven
		if err := f.Event.Body().Decode(&d); err != nil || d.A != p.A.ID || d.B != p.B.ID || d.Kind != "did_log" {
			o.t.Errorf("%s: event says %+v, %v, its body %+v", o.name, d, err, p)
		}
		out = append(out, p)
	}
	return out
}

func (o *org) proveForks() {
	o.t.Helper()
	if err := o.ProveForks(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
}

// TestAForkIsLoggedOnce: whichever entry came first, each finder logs the same proof, one
// time, over repeats and restarts; and the lines it keeps prove it.
func TestAForkIsLoggedOnce(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter, own, thief := theft(t, clock)
	for _, o := range []*org{vendor, arbiter} {
		for _, lines := range [][]byte{own, thief, own} {
			_ = o.offer(acme, lines)
			o.proveForks()
		}
		o.start()
		o.proveForks()
		if err := o.AcceptUnconfirmed(t.Context()); err != nil {
			t.Fatal(err)
		}
		list := o.proofs()
		if len(list) != 1 {
			t.Fatalf("%s logged %d proofs", o.name, len(list))
		}
		lines := o.node.Ring.Lines(acme.did, 2)
		side := func(id envelope.ID) federation.DIDLogSide {
			i := slices.IndexFunc(lines, func(l []byte) bool { return envelope.IDOf(l) == id })
			if i < 0 {
				t.Fatalf("%s keeps no line %s", o.name, id)
			}
			return federation.DIDLogSide{Lines: lines[i]}
		}
		p := list[0]
		if err := p.CheckDIDLog(acme.history().Prefix(1), side(p.A.ID), side(p.B.ID), clock.Now()); err != nil {
			t.Errorf("%s: %v", o.name, err)
		}
	}
	a, _ := vendor.proofs()[0].Encode()
	if b, _ := arbiter.proofs()[0].Encode(); !bytes.Equal(a, b) {
		t.Errorf("two proofs of one fork:\n%s\n%s", a, b)
	}
	// A third entry 2 is another pair, which is logged too; what only goes on is none.
	if err := vendor.offer(acme, acme.third()); !errors.Is(err, keyring.ErrFrozen) {
		t.Fatal(err)
	}
	vendor.proveForks()
	if got := len(vendor.proofs()); got != 2 {
		t.Errorf("%d proofs after a third entry", got)
	}
}

// third is one more entry 2, by the recovery key.
func (o *org) third() []byte {
	o.t.Helper()
	h := o.history().Prefix(1)
	line, err := didwebvh.Rotate(o.t.Context(), h, didwebvh.RotateRequest{Update: o.recovery, Next: envelopetest.Repeat(0x51).Public(), Recovery: envelopetest.Repeat(0x52).Public(), At: o.clock.Now()})
	if err != nil {
		o.t.Fatal(err)
	}
	return append(line, '\n')
}

// TestACrashLosesNoProof: the freeze is durable, the event was not drafted yet.
func TestACrashLosesNoProof(t *testing.T) {
	acme, vendor, _, _, thief := theft(t, newDial())
	if err := vendor.offer(acme, thief); !errors.Is(err, keyring.ErrFrozen) {
		t.Fatal(err)
	}
	if got := vendor.proofs(); len(got) != 0 {
		t.Fatalf("%d proofs before the crash", len(got))
	}
	vendor.start()
	if err := vendor.AcceptUnconfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := vendor.proofs(); len(got) != 1 {
		t.Errorf("%d proofs after the start", len(got))
	}
}

// TestAForkOfAStrangerIsNotLogged: who is in no charter fills nobody's log.
func TestAForkOfAStrangerIsNotLogged(t *testing.T) {
	clock := newDial()
	_, vendor, _ := federated(t, clock)
	stranger := found(t, "stranger", clock)
	clock.turn(time.Minute)
	thief := stranger.stolen(1)
	stranger.rotate(RotateInput{})
	if err := vendor.offer(stranger, stranger.history().Log()); err != nil {
		t.Fatal(err)
	}
	if err := vendor.offer(stranger, thief); !errors.Is(err, keyring.ErrFrozen) {
		t.Fatal(err)
	}
	vendor.proveForks()
	vendor.start()
	if err := vendor.AcceptUnconfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := vendor.proofs(); len(got) != 0 {
		t.Errorf("%d proofs", len(got))
	}
}

// TestAFrozenOrganizationSignsNothing: its own node says so, and signs nothing for others
// until somebody decided.
func TestAFrozenOrganizationSignsNothing(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter, _, thief := theft(t, clock)
	ctx := t.Context()
	file := amend(t, vendor, "later")
	hearFrom(acme, arbiter)
	if s := acme.stateNow(); s != federation.Fresh {
		t.Fatalf("state %s before", s)
	}
	if err := acme.offer(acme, thief); !errors.Is(err, keyring.ErrFrozen) {
		t.Fatal(err)
	}
	acme.proveForks()
	check := func() {
		t.Helper()
		state, reasons, may := acme.State(clock.Now())
		if state != federation.Suspended || len(reasons) == 0 || reasons[0].Why != federation.WhyForkProof || may.Beacon || may.NewLoans || may.LiveReads || may.Sign != federation.SignNothing {
			t.Errorf("state %s, %v, %+v", state, reasons, may)
		}
		if st, err := acme.Status(ctx, clock.Now()); err != nil || len(st.Reasons) == 0 || !strings.Contains(st.Reasons[0], "two entries 2 of our DID log") {
			t.Errorf("status %+v, %v", st, err)
		}
		_, err := acme.MakeBeacon(ctx)
		if fault.Of(err) != fault.Refused {
			t.Errorf("beacon: %v", err)
		}
		_, err = acme.Rotate(ctx, RotateInput{Authority: acme.authority(), Reason: "scheduled"})
		refusedAs(t, err, fault.Forked, "did_log")
		_, err = acme.Sign(ctx, file, nil)
		refusedAs(t, err, fault.Forked, "suspended")
		if _, err = acme.WitnessEntry(ctx, acme.did, thief); err == nil {
			t.Error("it witnesses its own entry")
		}
		if err := acme.Renew(ctx, clock.Now().Add(80*24*time.Hour)); err != nil {
			t.Errorf("renewal: %v", err)
		}
	}
	check()
	if got := len(acme.proofs()); got != 0 {
		t.Errorf("%d events count that a contested key signed", got)
	}
	before := acme.serial
	check()
	if acme.serial != before {
		t.Error("a binding was signed")
	}
	if _, err := acme.node.Ring.AcceptHead(ctx, acme.did, acme.history().Head().ID, "operator"); err != nil {
		t.Fatal(err)
	}
	if err := acme.node.Rec.Recheck(ctx, acme.did); err != nil {
		t.Fatal(err)
	}
	if s := acme.stateNow(); s != federation.Fresh {
		t.Errorf("state %s after the decision", s)
	}
	if got := len(acme.proofs()); got != 1 {
		t.Errorf("%d proofs in its own log", got)
	}
	clock.turn(time.Second)
	acme.rotate(RotateInput{})
	acme.beacon()
}

// TestAClaimMakesANodeAskAndNoMore: a fork.proven freezes nobody, and accuses nobody at
// home: anybody can log one. It says whom to ask for the lines.
func TestAClaimMakesANodeAskAndNoMore(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter, own, thief := theft(t, clock)
	ctx := t.Context()
	if err := vendor.offer(acme, thief); !errors.Is(err, keyring.ErrFrozen) {
		t.Fatal(err)
	}
	vendor.proveForks()
	var asked []did.DID
	for _, o := range []*org{acme, arbiter} {
		o.tweak = func(c *Config) { c.Doubted = func(by did.DID) { asked = append(asked, by) } }
		o.start()
		asked = nil
		vendor.logTo(o)
		o.project()
		if len(asked) != 0 || len(o.Doubted(vendor.did)) != 0 {
			t.Errorf("%s asks before it has the body", o.name)
		}
		body, _ := vendor.proofs()[0].Encode()
		if _, err := o.node.Rec.PutBody(ctx, body); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			o.project()
		}
		if !slices.Equal(asked, []did.DID{vendor.did}) || !slices.Equal(o.Doubted(vendor.did), []did.DID{acme.did}) || o.Doubted(arbiter.did) != nil {
			t.Errorf("%s asks %v, doubts %v", o.name, asked, o.Doubted(vendor.did))
		}
		if v, err := o.node.Ring.Head(ctx, acme.did); err != nil || v.State != did.Held {
			t.Errorf("%s: %+v, %v", o.name, v, err)
		}
		if _, reasons, _ := o.State(clock.Now()); slices.ContainsFunc(reasons, func(r federation.Reason) bool { return r.Why == federation.WhyForkProof }) {
			t.Errorf("%s is accused by a claim: %v", o.name, reasons)
		}
		for _, lines := range [][]byte{own, thief} {
			_ = o.offer(acme, lines)
		}
		o.proveForks()
		if got := o.Doubted(vendor.did); got != nil {
			t.Errorf("%s has the lines and doubts %v", o.name, got)
		}
		o.project()
		if len(asked) != 1 {
			t.Errorf("%s asks again", o.name)
		}
	}
}

func TestClaimsThatAskNothing(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	stranger := found(t, "stranger", clock)
	a, b := []byte("one line"), []byte("another line")
	proof := func(d did.DID, number uint64) federation.ForkProof {
		p, err := federation.ProveDIDLog(d, number, []byte("the line before"), a, b)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, c := range map[string]struct {
		proof federation.ForkProof
		edit  func(*attestation.ForkProven)
		want  []did.DID
	}{
		"one that could be":              {proof(acme.did, 1), nil, []did.DID{acme.did}},
		"of who is in no charter":        {proof(stranger.did, 1), nil, nil},
		"whose event names other lines":  {proof(acme.did, 1), func(d *attestation.ForkProven) { d.A = d.B }, nil},
		"whose event names another kind": {proof(acme.did, 1), func(d *attestation.ForkProven) { d.Kind = "log" }, nil},
		"about an entry that cannot be":  {proof(acme.did, 5000), nil, nil},
	} {
		body, err := c.proof.Encode()
		if err != nil {
			t.Fatal(err)
		}
		data := attestation.ForkProven{A: c.proof.A.ID, B: c.proof.B.ID, Kind: string(c.proof.Kind)}
		if c.edit != nil {
			c.edit(&data)
		}
		raw, err := envelope.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		e, err := envelope.Seal(t.Context(), attestation.Event{Type: "fork.proven", At: envelope.TimeOf(clock.Now()), Org: vendor.did, Kid: envelopetest.Repeat(1).Public().Multikey(), Nonce: salt(),
			Body: envelope.IDOf(body), Data: raw, Refs: []envelope.ID{}}, envelopetest.Repeat(1))
		if err != nil {
			t.Fatal(err)
		}
		v, err := envelope.Open[attestation.Event](t.Context(), e, envelope.KeySourceFunc(func(context.Context, did.DID, string) (did.Key, error) {
			return did.Key{Public: envelopetest.Repeat(1).Public(), Version: "1-x"}, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		var list []claim
		if got, ok := claimOf(attestation.Fact{Event: v, Body: body}); ok {
			list = []claim{got}
		}
		arbiter.mu.Lock()
		arbiter.Member.claims[vendor.did] = list
		arbiter.mu.Unlock()
		if got := arbiter.Doubted(vendor.did); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAFileShowsTheOtherBranch: a charter file with the thief's log is refused, and what
// it proves is kept and logged.
func TestAFileShowsTheOtherBranch(t *testing.T) {
	clock := newDial()
	acme, vendor, _, _, thief := theft(t, clock)
	f, err := charter.ReadFile(bytes.NewReader(amend(t, vendor, "later")))
	if err != nil {
		t.Fatal(err)
	}
	log := slices.Concat(acme.history().Prefix(1).Log(), thief)
	f.Logs = append(slices.DeleteFunc(f.Logs, func(l bundle.DIDLog) bool { return l.DID == acme.did }), bundle.DIDLogs(acme.did, 1, log, nil)...)
	file, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	_, err = vendor.Apply(t.Context(), file, "")
	refusedAs(t, err, fault.Forked, "did_log")
	if v, err := vendor.node.Ring.Head(t.Context(), acme.did); err != nil || v.State != did.Frozen {
		t.Errorf("%+v, %v", v, err)
	}
	if got := len(vendor.proofs()); got != 1 {
		t.Errorf("%d proofs", got)
	}
}

// TestAWitnessSignsNoSecondEntry: with one of two witnesses needed, the thief's entry is
// refused by the one that has signed the organization's, and without proof by everybody.
func TestAWitnessSignsNoSecondEntry(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := witnessedTrio(t, clock)
	meet(acme, vendor) // vendor witnesses
	thief := acme.stolen(1)
	acme.rotate(RotateInput{})
	_, err := vendor.WitnessEntry(t.Context(), acme.did, bytes.TrimSuffix(thief, []byte("\n")))
	var denied *fault.Denied
	if !errors.As(err, &denied) || denied.Code != fault.Conflict || denied.Reason != "witnessed" {
		t.Errorf("who has signed one: %v", err)
	}
	if got := vendor.Refused()["witnessed"]; got != 1 {
		t.Errorf("%d refusals counted", got)
	}
	for _, o := range []*org{vendor, arbiter, acme} {
		if err := o.offer(acme, thief); didwebvh.ReasonOf(err) != didwebvh.ReasonWitness {
			t.Errorf("%s: without proofs: %v", o.name, err)
		}
		o.proveForks()
		if got := o.proofs(); len(got) != 0 {
			t.Errorf("%s logged %d proofs", o.name, len(got))
		}
	}
	acme.logTo2(arbiter)
	_, err = arbiter.WitnessEntry(t.Context(), acme.did, bytes.TrimSuffix(thief, []byte("\n")))
	if fault.Of(err) != fault.Conflict && fault.Of(err) != fault.Refused {
		t.Errorf("the other one, once it holds the entry: %v", err)
	}
}
