package member

import (
	"errors"
	"slices"
	"testing"
	"time"

	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/federation/gossip"
	"trustnode/node/fault"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// TestRoadToFresh walks one node through the states of a quiet life.
func TestRoadToFresh(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := trio(t, clock)
	steps := []struct {
		name string
		do   func()
		want federation.State
		may  federation.Allowed
	}{
		{"before anything it is alone", func() {}, federation.Alone, federation.Allowed{OwnLoans: true, Sign: federation.SignGenesis, OwnLog: true}},
		{"with a charter from a file it is unconfirmed", func() {
			f := draftOf(t, acme, vendor, arbiter).Data
			for _, o := range []*org{acme, vendor, arbiter} {
				f = o.sign(f).Data
			}
			for _, o := range []*org{acme, vendor, arbiter} {
				o.apply(f)
			}
		}, federation.Unconfirmed, federation.Allowed{OwnLoans: true, OwnLog: true, Beacon: true}},
		{"one beacon of another voter makes it fresh", func() { acme.take(vendor.beacon()) }, federation.Fresh,
			federation.Allowed{LiveReads: true, NewLoans: true, OwnLoans: true, Sign: federation.SignAny, OwnLog: true, Beacon: true}},
		{"it stays so while the beacon is young", func() { clock.turn(899 * time.Second) }, federation.Fresh,
			federation.Allowed{LiveReads: true, NewLoans: true, OwnLoans: true, Sign: federation.SignAny, OwnLog: true, Beacon: true}},
		{"then it is stale, and running loans are read", func() { clock.turn(time.Second) }, federation.Stale,
			federation.Allowed{LiveReads: true, OwnLoans: true, Sign: federation.SignAny, OwnLog: true, Beacon: true}},
		{"for a day", func() { clock.turn(24*time.Hour - time.Second) }, federation.Stale,
			federation.Allowed{LiveReads: true, OwnLoans: true, Sign: federation.SignAny, OwnLog: true, Beacon: true}},
		{"and no longer", func() { clock.turn(time.Second) }, federation.Stale,
			federation.Allowed{OwnLoans: true, Sign: federation.SignAny, OwnLog: true, Beacon: true}},
		{"a new beacon heals it", func() { acme.take(arbiter.beacon()) }, federation.Fresh,
			federation.Allowed{LiveReads: true, NewLoans: true, OwnLoans: true, Sign: federation.SignAny, OwnLog: true, Beacon: true}},
		{"after a restart it is recovering, and its own loans go on", func() { acme.start() }, federation.Recovering, federation.Allowed{OwnLoans: true}},
		{"a peer that confirms ends that", func() {
			if err := acme.Confirmed(t.Context(), vendor.did); err != nil {
				t.Fatal(err)
			}
		}, federation.Stale, federation.Allowed{OwnLoans: true, Sign: federation.SignAny, OwnLog: true, Beacon: true}},
		{"once heard, it is never unconfirmed again", func() { acme.take(vendor.beacon()) }, federation.Fresh,
			federation.Allowed{LiveReads: true, NewLoans: true, OwnLoans: true, Sign: federation.SignAny, OwnLog: true, Beacon: true}},
		{"past its end the charter lends nothing", func() {
			clock.turn(181 * 24 * time.Hour)
			acme.take(vendor.beacon())
		}, federation.Expired, federation.Allowed{OwnLoans: true, Sign: federation.SignAny, OwnLog: true, Beacon: true}},
	}
	for _, s := range steps {
		s.do()
		got, reasons, may := acme.State(clock.Now())
		if got != s.want || may != s.may {
			t.Errorf("%s: got %s, %+v (%v), want %s, %+v", s.name, got, may, reasons, s.want, s.may)
		}
		if words := acme.Words(reasons); (got == federation.Fresh) != (len(words) == 0) {
			t.Errorf("%s: words %q", s.name, words)
		}
	}
}

// TestWhatCountsNot are beacons that make nobody fresh.
func TestWhatCountsNot(t *testing.T) {
	cases := []struct {
		name string
		give func(clock *dial, acme, vendor *org)
		want federation.State
	}{
		{"a clock that is off by more than the skew", func(clock *dial, acme, vendor *org) {
			e := vendor.beacon()
			clock.turn(121 * time.Second)
			acme.take(e)
		}, federation.Unconfirmed},
		{"the own one", func(_ *dial, acme, _ *org) { acme.beacon() }, federation.Unconfirmed},
		{"the same one after it grew old", func(clock *dial, acme, vendor *org) {
			acme.take(vendor.beacon())
			clock.turn(900 * time.Second)
		}, federation.Stale},
		{"but one whose clock is off by the skew counts", func(clock *dial, acme, vendor *org) {
			e := vendor.beacon()
			clock.turn(120 * time.Second)
			acme.take(e)
		}, federation.Fresh},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			clock := newDial()
			acme, vendor, _ := federated(t, clock)
			c.give(clock, acme, vendor)
			if s := acme.stateNow(); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

func TestBeaconsThatAreRefused(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	ctx := t.Context()
	one, two := vendor.beacon(), vendor.beacon()
	acme.take(two)
	body, err := envelope.Decode[federation.Beacon](two)
	if err != nil {
		t.Fatal(err)
	}
	issuer, _, err := vendor.node.Signers.Issuer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	thief, err := acme.keys.Generate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	with := func(by envelope.Signer, change func(*federation.Beacon)) envelope.Envelope {
		b := body
		b.N = 9
		change(&b)
		e, err := envelope.Seal(ctx, b, by)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	stranger := found(t, "stranger", clock)
	cases := []struct {
		name    string
		e       envelope.Envelope
		want    error
		outcome gossip.Outcome
	}{
		{"an older number", one, ErrOld, gossip.Held},
		{"the same again", two, ErrOld, gossip.Held},
		{"another federation's", with(issuer, func(b *federation.Beacon) { b.Federation = two.ID() }), ErrForeign, gossip.False},
		{"under a key of somebody else", with(thief, func(*federation.Beacon) {}), envelope.ErrSignature, gossip.False},
		{"of somebody not listed", with(issuer, func(b *federation.Beacon) { b.Org = stranger.did }), ErrPending, gossip.Parked},
		{"of a version not held", with(issuer, func(b *federation.Beacon) { b.DIDVersion = "2-" + body.DIDVersion[2:] }), ErrPending, gossip.Parked},
		{"of a later generation", with(issuer, func(b *federation.Beacon) { b.Generation = 2 }), ErrPending, gossip.Parked},
	}
	for _, c := range cases {
		if _, err := acme.JudgeBeacon(ctx, c.e); !errors.Is(err, c.want) {
			t.Errorf("%s: judged %v, want %v", c.name, err, c.want)
		}
		if err := acme.TakeBeacon(ctx, c.e); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
		if got, err := acme.Seams().Beacons.Take(ctx, c.e); got != c.outcome || err != nil {
			t.Errorf("%s: gossip is told %v, %v, want %v", c.name, got, err, c.outcome)
		}
	}
	// A restart forgets no number: an old beacon cannot be shown as new.
	acme.start()
	if err := acme.TakeBeacon(ctx, two); !errors.Is(err, ErrOld) {
		t.Errorf("after a restart: %v", err)
	}
}

func TestBeaconNumbersRiseAcrossRestarts(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	var last uint64
	for range 3 {
		b, err := envelope.Decode[federation.Beacon](acme.beacon())
		if err != nil || b.N <= last || len(b.Heads) != 3 {
			t.Fatalf("beacon %d after %d, %d heads, %v", b.N, last, len(b.Heads), err)
		}
		last = b.N
		if slot, value, ok := acme.pins.Highest(pins.KindBeacon, b.Federation.String()); !ok || slot.N != b.N || value == "" {
			t.Errorf("pinned %v %s", slot, value)
		}
		acme.start()
		if _, err := acme.MakeBeacon(t.Context()); err == nil {
			t.Error("a recovering node made a beacon")
		}
		if err := acme.Confirmed(t.Context(), vendor.did); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShownNumbers: whatever a peer shows above ours stops the node until it is here.
func TestShownNumbers(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	chain, _ := acme.Charter()
	about := acme.About(vendor.did)
	if about.DIDN != 1 {
		t.Errorf("of a new organization's DID log entry %d is held", about.DIDN)
	}
	cases := []struct {
		name string
		a    federation.AboutYou
	}{
		{"a longer log", federation.AboutYou{LogSize: acme.size(acme.did) + 1}},
		{"a later entry of our DID log", federation.AboutYou{DIDN: acme.About(acme.did).DIDN + 1}},
		{"a later beacon", federation.AboutYou{BeaconN: 99}},
		{"a later signature", federation.AboutYou{Commit: &federation.Slot{Body: chain.Head().ID, Seq: 3}}},
	}
	for _, c := range cases {
		if err := acme.Shown(ctx, vendor.did, c.a); err != nil {
			t.Fatal(err)
		}
		state, reasons, may := acme.State(clock.Now())
		if state != federation.Recovering || reasons[0].Why != string(federation.CauseShown) || may.OwnLoans {
			t.Errorf("%s: %s, %v, %+v", c.name, state, reasons, may)
		}
		if s, _ := acme.node.Rec.State(); s != recorder.Recovering {
			t.Errorf("%s: the own log is %s", c.name, s)
		}
		if err := acme.Confirmed(ctx, arbiter.did); err != nil {
			t.Fatal(err)
		}
		if s := acme.stateNow(); s != federation.Recovering {
			t.Errorf("%s: left by the word of another: %s", c.name, s)
		}
		if err := acme.Shown(ctx, vendor.did, federation.AboutYou{LogSize: 1, BeaconN: about.BeaconN}); err != nil {
			t.Fatal(err)
		}
		if s := acme.stateNow(); s != federation.Fresh {
			t.Errorf("%s: %s after it was here", c.name, s)
		}
	}
}

func TestAStrangersWordCountsNot(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	stranger := found(t, "stranger", clock)
	hear(acme, vendor, arbiter)
	if err := acme.Shown(t.Context(), stranger.did, federation.AboutYou{LogSize: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	if s := acme.stateNow(); s != federation.Fresh {
		t.Errorf("a stranger's number made it %s", s)
	}
	acme.start()
	if err := acme.Confirmed(t.Context(), stranger.did); err != nil {
		t.Fatal(err)
	}
	if s := acme.stateNow(); s != federation.Recovering {
		t.Errorf("a stranger's confirmation made it %s", s)
	}
}

// TestOwnBeaconFromElsewhere: a node that lost its numbers learns them from a peer and
// goes on above them.
func TestOwnBeaconFromElsewhere(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	acme.beacon()
	late := acme.beacon()
	acme.pins = pins.Memory()
	if err := acme.state.Update(t.Context(), dropRow(beaconKey(acme.did))); err != nil {
		t.Fatal(err)
	}
	acme.start()
	if err := acme.Confirmed(t.Context(), vendor.did); err != nil {
		t.Fatal(err)
	}
	acme.take(late)
	if s := acme.stateNow(); s != federation.Recovering {
		t.Errorf("state is %s", s)
	}
	if err := acme.Confirmed(t.Context(), arbiter.did); err != nil {
		t.Fatal(err)
	}
	old, _ := envelope.Decode[federation.Beacon](late)
	if b, err := envelope.Decode[federation.Beacon](acme.beacon()); err != nil || b.N != old.N+1 {
		t.Errorf("next beacon is %d after %d, %v", b.N, old.N, err)
	}
}

func TestAcceptUnconfirmedIsAudited(t *testing.T) {
	clock := newDial()
	acme, _, _ := federated(t, clock)
	acme.start()
	if err := acme.AcceptUnconfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := acme.stateNow(); s != federation.Stale {
		t.Errorf("state is %s", s)
	}
	if err := acme.node.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ops []string
	if err := acme.node.Rec.RowsOf(t.Context(), "", func(_ uint64, r audit.Row) error {
		ops = append(ops, r.Kind)
		return nil
	}); err != nil || !slices.Equal(ops, []string{opAccept}) {
		t.Errorf("rows %v, %v", ops, err)
	}
	if err := acme.AcceptUnconfirmed(t.Context()); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestHello(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	seams := acme.Seams()
	h, err := seams.Greeter.Hello(t.Context(), vendor.did)
	if err != nil {
		t.Fatal(err)
	}
	h.Now, h.Verdict = envelope.TimeOf(clock.Now()), federation.AdmitOK
	b, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := federation.ParseHello(b); err != nil {
		t.Errorf("own hello does not parse: %v", err)
	}
	if h.AboutYou.Status != "active" || h.AboutYou.BeaconN != 1 || h.Binding == "" || h.Charter == nil {
		t.Errorf("hello is %+v", h)
	}
	if zero := acme.About(found(t, "stranger", clock).did); zero.Status != "" {
		t.Errorf("of a stranger: %+v", zero)
	}
	head, ok := seams.Members.Head()
	if !ok || head.BeaconEvery != 300*time.Second || seams.Members.Status(vendor.did) != "active" {
		t.Errorf("head is %+v, %v", head, ok)
	}
	st, err := acme.Status(t.Context(), clock.Now())
	if err != nil || st.State != federation.Fresh || len(st.Peers) != 2 || !st.Peers[0].Live || !st.Peers[0].Bound || st.Federation.Mediator != arbiter.did {
		t.Errorf("status is %+v, %v", st, err)
	}
}

// TestBehindThePins: a state that is older than the pins signs nothing, whatever peers
// and operator say, until the charter is here again.
func TestBehindThePins(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	newer := vendor.sign(acme.sign(amend(t, acme, "a")).Data).Data
	old, _ := acme.Charter()
	head, err := envelope.Marshal(headRow{Confirmed: true, Federation: old.Federation(), ID: old.Head().ID})
	if err != nil {
		t.Fatal(err)
	}
	acme.apply(newer)
	if err := acme.state.Update(ctx, func(tx store.Tx) error {
		if err := tx.Delete([]byte(charterKey(1))); err != nil {
			return err
		}
		return tx.Set([]byte(keyHead), head)
	}); err != nil {
		t.Fatal(err)
	}
	acme.start()
	for _, o := range []*org{vendor, arbiter} {
		if err := acme.Confirmed(ctx, o.did); err != nil {
			t.Fatal(err)
		}
	}
	if s, rs, _ := acme.State(clock.Now()); s != federation.Recovering || rs[0].Why != string(federation.CauseBehind) {
		t.Errorf("%s, %v", s, rs)
	}
	refusedAs(t, acme.AcceptUnconfirmed(ctx), fault.Refused, "recovering")
	if a := acme.apply(newer); a.Seq != 1 {
		t.Errorf("applied %+v", a)
	}
	if err := acme.Confirmed(ctx, vendor.did); err != nil {
		t.Fatal(err)
	}
	if s := acme.stateNow(); s == federation.Recovering {
		t.Error("still recovering")
	}
}

func TestPausedLogOfALonelyNode(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	acme.node.Rec.Pause("restored")
	if _, _, may := acme.State(clock.Now()); may.OwnLog {
		t.Error("the own log is paused, and yet allowed")
	}
	if err := acme.AcceptUnconfirmed(t.Context()); err != nil {
		t.Fatal(err)
	}
	acme.agent("research", "lend")
	if got := acme.eventTypes(); !slices.Contains(got, "agent.issued") {
		t.Errorf("log holds %v", got)
	}
}

// TestClockBehind: with a clock that was set back nothing is decided.
func TestClockBehind(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	clock.turn(-time.Hour)
	_, err := acme.JoinRequest(t.Context(), true, nil)
	refusedAs(t, err, fault.ClockSkew, "clock")
}
