package member

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/keys"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

// authority signs with the next update key and waits for nobody.
func (o *org) authority() Authority {
	return Authority{Update: func(context.Context) (UpdateKeys, error) { return stick{Store: o.update}, nil }}
}

func (o *org) rotate(in RotateInput) Entry {
	o.t.Helper()
	if in.Update == nil {
		in.Authority = o.authority()
	}
	if in.Reason == "" {
		in.Reason = "scheduled"
	}
	e, err := o.Rotate(o.t.Context(), in)
	if err != nil || !e.Active || !e.Logged {
		o.t.Fatalf("%s: rotate: %+v, %v", o.name, e, err)
	}
	return e
}

func (o *org) history() didwebvh.History {
	o.t.Helper()
	h, err := o.node.Ring.History(o.t.Context(), o.did)
	if err != nil {
		o.t.Fatal(err)
	}
	return h
}

func (o *org) roles() didwebvh.Roles { return didwebvh.RolesOf(o.history().Head().Document) }

// meet lets the nodes of some organizations reach each other, and none else.
func meet(all ...*org) {
	for _, a := range all {
		a.reach = map[did.DID]*org{}
		for _, b := range all {
			if a != b {
				a.reach[b.did] = b
			}
		}
	}
}

// witnessedTrio is the trio, the own log of acme witnessed by the two others, one of
// which must sign.
func witnessedTrio(t *testing.T, clock *dial) (acme, vendor, arbiter *org) {
	t.Helper()
	acme, vendor, arbiter = federated(t, clock)
	hear(acme, vendor, arbiter)
	meet(acme, vendor, arbiter)
	clock.turn(time.Minute)
	e, err := acme.SetWitnesses(t.Context(), WitnessInput{Authority: acme.authority()})
	if err != nil || !e.Active {
		t.Fatalf("witnesses: %+v, %v", e, err)
	}
	if w := acme.history().Head().Parameters.Witness; len(w.Keys) != 2 || w.Threshold != 1 {
		t.Fatalf("%d witnesses, threshold %d", len(w.Keys), w.Threshold)
	}
	for _, o := range []*org{vendor, arbiter} {
		acme.logTo2(o)
	}
	clock.turn(time.Minute)
	return acme, vendor, arbiter
}

// TestAnEntryIsWitnessed: one of two witnesses is enough, none is not, and the node goes
// on by itself when one is back.
// It is identity I-15 (without its proofs an entry is not in the ring, which is what is served).
func TestAnEntryIsWitnessed(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := witnessedTrio(t, clock)
	meet(acme, vendor) // the arbiter is away
	two := acme.rotate(RotateInput{})
	if !strings.HasPrefix(two.Version, "3-") {
		t.Errorf("version %s", two.Version)
	}
	acme.logTo2(vendor)
	acme.logTo2(arbiter) // it comes by sync all the same
	meet(acme)
	clock.turn(time.Minute)
	ctx := t.Context()
	_, err := acme.Rotate(ctx, RotateInput{Authority: acme.authority(), Reason: "scheduled"})
	refusedAs(t, err, fault.NeedsApproval, reasonWitnesses)
	for _, word := range []string{"0 of 1", "vendor.example has not answered", "arbiter.example has not answered", "has not answered for 0s"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q lacks %q", err, word)
		}
	}
	p, ok, err := acme.Pending(ctx)
	if err != nil || !ok || p.Need != 1 || p.Have != 0 || len(p.Missing) != 2 || p.Committed.IsZero() {
		t.Fatalf("pending: %+v, %v, %v", p, ok, err)
	}
	_, err = acme.Rotate(ctx, RotateInput{Authority: acme.authority(), Reason: "scheduled"})
	refusedAs(t, err, fault.Conflict, "under_way")
	refusedAs(t, acme.AbandonEntry(ctx, acme.authority().Update), fault.Conflict, "committed")
	acme.start()
	if err := acme.Confirmed(ctx, vendor.did); err != nil {
		t.Fatal(err)
	}
	if err := acme.PushEntry(ctx); err != nil {
		t.Errorf("still nobody there: %v", err)
	}
	meet(acme, arbiter)
	if err := acme.PushEntry(ctx); err != nil {
		t.Fatal(err)
	}
	if h := acme.history(); h.Head().ID != p.Version {
		t.Errorf("head %s, built was %s", h.Head().ID, p.Version)
	}
	if _, ok, err := acme.Pending(ctx); ok || err != nil {
		t.Errorf("still under way: %v", err)
	}
	acme.logTo2(vendor)
	// The update key that the background left behind goes with the next entry.
	clock.turn(time.Minute)
	meet(acme, vendor)
	acme.rotate(RotateInput{})
	if left, err := acme.update.List(ctx); err != nil || len(left) != 1 {
		t.Errorf("%d update keys are left, %v", len(left), err)
	}
}

// TestProofsByHand: an entry and its proof go as files where no node reaches another.
func TestProofsByHand(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := witnessedTrio(t, clock)
	meet(acme)
	ctx := t.Context()
	_, err := acme.Rotate(ctx, RotateInput{Authority: acme.authority(), Reason: "scheduled"})
	refusedAs(t, err, fault.NeedsApproval, reasonWitnesses)
	p, _, err := acme.Pending(ctx)
	if err != nil {
		t.Fatal(err)
	}
	proof, err := vendor.WitnessEntry(ctx, acme.did, p.Line)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := didwebvh.SignWitness(ctx, key(t, acme.keys), p.Version, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	another, err := didwebvh.SignWitness(ctx, must(arbiter.witnessSigner(ctx, arbiter.witness)), acme.history().Head().ID, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{"a stranger's": stranger, "for the entry before": another, "torn": proof[:len(proof)-1], "nothing": nil} {
		_, err := acme.ResumeEntry(ctx, nil, [][]byte{bad}, 0)
		if fault.Of(err) != fault.Invalid {
			t.Errorf("a proof that is %s: %v", name, err)
		}
	}
	e, err := acme.ResumeEntry(ctx, acme.authority().Update, [][]byte{proof}, 0)
	if err != nil || !e.Active || e.Version != p.Version {
		t.Errorf("with the proof: %+v, %v", e, err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestWhatAWitnessSigns: the next entry of a member's own log, and one for each number.
// It is identity I-12.
func TestWhatAWitnessSigns(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := witnessedTrio(t, clock)
	ctx := t.Context()
	next := must(nextUpdate(ctx, acme.history(), stick{Store: acme.update}))
	entry := func(at time.Time) []byte {
		after := key(t, acme.update)
		return must(didwebvh.Rotate(ctx, acme.history(), didwebvh.RotateRequest{Update: next, Next: after.Public(), Issuer: key(t, acme.keys).Public(), At: at}))
	}
	one, two, early := entry(clock.Now()), entry(clock.Now()), entry(clock.Now().Add(10*time.Minute))
	torn := bytes.Clone(one)
	torn[len(torn)/2] ^= 1
	stranger := found(t, "stranger", clock)
	refused := func(o *org, of did.DID, line []byte, code fault.Code, reason string) {
		t.Helper()
		var d *fault.Denied
		_, err := o.WitnessEntry(ctx, of, line)
		if !errors.As(err, &d) || d.Code != code || d.Reason != reason {
			t.Errorf("got %v, want %s, %s", err, code, reason)
		}
	}
	refused(vendor, acme.did, torn, fault.Refused, "invalid")
	refused(vendor, acme.did, early, fault.Refused, "invalid")
	refused(vendor, arbiter.did, one, fault.NotFound, "behind")
	refused(vendor, stranger.did, one, fault.NotFound, "did_log")
	refused(vendor, acme.did, acme.history().Head().Line, fault.Refused, "held")
	refused(acme, acme.did, one, fault.Refused, "not_listed")
	if _, err := vendor.WitnessEntry(ctx, acme.did, one); err != nil {
		t.Fatal(err)
	}
	refused(vendor, acme.did, two, fault.Conflict, "witnessed")
	if _, err := vendor.WitnessEntry(ctx, acme.did, one); err != nil {
		t.Errorf("the same entry again: %v", err)
	}
	vendor.start()
	refused(vendor, acme.did, one, fault.Refused, "recovering")
	if err := vendor.Confirmed(ctx, acme.did); err != nil {
		t.Fatal(err)
	}
	refused(vendor, acme.did, two, fault.Conflict, "witnessed")
	// A state that was put back to before it saw the log's witnesses, with the pins of now.
	restored := *vendor
	restored.state, restored.audit = store.Memory(), store.Memory()
	ring := keyring.New(store.NewRing(restored.state), restored.pins, clock.Now)
	if _, err := ring.Offer(ctx, restored.did, must(vendor.node.Ring.Log(ctx, vendor.did, 0)), nil); err != nil {
		t.Fatal(err)
	}
	restored.start()
	acme.didTo(&restored)
	_, err := restored.WitnessEntry(ctx, acme.did, two) // its log is behind the pins too, once that is looked at
	if code := fault.Of(err); code != fault.Conflict && code != fault.Refused {
		t.Errorf("a restored state: %v", err)
	}
	if got := vendor.Refused()["witnessed"]; got == 0 {
		t.Error("refusals are not counted")
	}
}

// stop is where a test interrupts an entry.
type stop struct {
	name string
	at   func(o *org, row entryRow) error
}

// stops lists every step of an entry.
func stops(ctx context.Context) []stop {
	commit := func(o *org, row entryRow) (entryRow, error) { return o.commitEntry(ctx, row) }
	return []stop{
		{"built", func(*org, entryRow) error { return nil }},
		{"pinned", func(o *org, row entryRow) error {
			return o.pins.Put(ctx, entrySlot(o.history().SCID(), must(entryNumber(row.Version))), row.Version)
		}},
		{"committed", func(o *org, row entryRow) error { _, err := commit(o, row); return err }},
		{"witnessed", func(o *org, row entryRow) error {
			row, err := commit(o, row)
			if err != nil {
				return err
			}
			for _, s := range must(o.askAll(ctx, row)) {
				if row, err = o.addProofs(ctx, row, [][]byte{s.proof}); err != nil {
					return err
				}
			}
			return nil
		}},
		{"ready", func(o *org, row entryRow) error {
			row, err := commit(o, row)
			if err == nil {
				_, err = collected(o.collect(ctx, row))
			}
			return err
		}},
		{"pinned as the head", func(o *org, row entryRow) error { // its ring was about to store it
			row, err := commit(o, row)
			if err == nil {
				row, err = collected(o.collect(ctx, row))
			}
			if err == nil {
				err = o.pins.Put(ctx, pins.Slot{Kind: pins.KindDID, Key: o.did.String(), N: must(entryNumber(row.Version))}, row.Version)
			}
			return err
		}},
		{"taken", func(o *org, row entryRow) error {
			row, err := commit(o, row)
			if err == nil {
				row, err = collected(o.collect(ctx, row))
			}
			if err == nil {
				_, err = o.node.Ring.Offer(ctx, o.did, append(must(row.line()), '\n'), must(b64.DecodeString(row.Witness)))
			}
			return err
		}},
		{"announced", func(o *org, row entryRow) error {
			row, err := commit(o, row)
			if err == nil {
				row, err = collected(o.collect(ctx, row))
			}
			if err == nil {
				_, err = o.activate(ctx, row)
			}
			return err
		}},
	}
}

// TestAnEntryAfterACrash (identity I-14) stops an entry after each step. A start goes on with
// it, or leaves it to its operator while nobody knows of it; the bytes are those that were
// built, and the key for the entry after it is in the update store.
func TestAnEntryAfterACrash(t *testing.T) {
	for _, s := range stops(t.Context()) {
		for _, witnesses := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, witnesses %v", s.name, witnesses), func(t *testing.T) { crashEntry(t, s, witnesses) })
		}
	}
}

func crashEntry(t *testing.T, s stop, witnesses bool) {
	ctx := t.Context()
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	meet(acme, vendor, arbiter)
	if witnesses {
		clock.turn(time.Minute)
		if _, err := acme.SetWitnesses(ctx, WitnessInput{Authority: acme.authority()}); err != nil {
			t.Fatal(err)
		}
		acme.logTo2(vendor)
		acme.logTo2(arbiter)
	}
	clock.turn(time.Minute)
	a := acme.agent("research", "lend")
	row, err := acme.build(ctx, acme.authority(), stick{Store: acme.update}, clock.Now(), func(ctx context.Context, h didwebvh.History, s signing) ([]byte, error) {
		r := must(s.request())
		r.Issuer = must(s.newKey())
		return didwebvh.Rotate(ctx, h, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	row.Reason = "scheduled"
	if err := acme.keepEntry(ctx, row); err != nil {
		t.Fatal(err)
	}
	if err := s.at(acme, row); err != nil {
		t.Fatal(err)
	}
	rotated := len(slices.DeleteFunc(acme.eventTypes(), func(s string) bool { return s != "key.rotated" }))
	acme.start()
	if err := acme.Confirmed(ctx, vendor.did); err != nil {
		t.Fatal(err)
	}
	if s.name == "built" || s.name == "pinned" {
		if _, err := acme.ResumeEntry(ctx, acme.authority().Update, nil, 0); err != nil {
			t.Fatal(err)
		}
	} else if err := acme.PushEntry(ctx); err != nil {
		t.Fatal(err)
	}
	if got := acme.history().Head(); got.ID != row.Version || !bytes.Equal(got.Line, must(row.line())) {
		t.Errorf("in force is %s, built was %s", got.ID, row.Version)
	}
	b := acme.agent("second", "lend")
	acme.project()
	types := slices.DeleteFunc(acme.eventTypes(), func(s string) bool { return s != "key.rotated" })
	want := rotated
	if s.name != "announced" {
		want++
	}
	if len(types) != want {
		t.Errorf("%d key.rotated, want %d", len(types), want)
	}
	for _, x := range []self.AgentRow{a, b} {
		if r, err := acme.row(x.Agent); err != nil || r.Index == 0 {
			t.Errorf("%s: %+v, %v", x.Name, r, err)
		}
	}
	acme.logTo2(vendor)
	acme.logTo2(arbiter)
	clock.turn(time.Minute)
	acme.rotate(RotateInput{})
	if left := must(acme.update.List(ctx)); len(left) != 1 || didwebvh.KeyHash(left[0]) != acme.history().Head().Parameters.NextKeyHashes[0] {
		t.Errorf("%d update keys are left", len(left))
	}
}

func TestAbandon(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	ctx := t.Context()
	refusedAs2 := func(err error, code fault.Code) {
		t.Helper()
		if fault.Of(err) != code {
			t.Errorf("got %v, want %s", err, code)
		}
	}
	refusedAs2(acme.AbandonEntry(ctx, acme.authority().Update), fault.NotFound)
	_, err := acme.ResumeEntry(ctx, nil, nil, 0)
	refusedAs2(err, fault.NotFound)
	before := len(must(acme.keys.List(ctx)))
	row, err := acme.build(ctx, acme.authority(), stick{Store: acme.update}, clock.Now(), func(ctx context.Context, h didwebvh.History, s signing) ([]byte, error) {
		r := must(s.request())
		r.Issuer = must(s.newKey())
		return didwebvh.Rotate(ctx, h, r)
	})
	if err == nil {
		err = acme.keepEntry(ctx, row)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := acme.PushEntry(ctx); err != nil || acme.history().Len() != 1 {
		t.Errorf("the background commits to what its operator may abandon: %v", err)
	}
	if err := acme.AbandonEntry(ctx, acme.authority().Update); err != nil {
		t.Fatal(err)
	}
	if n := len(must(acme.keys.List(ctx))); n != before {
		t.Errorf("%d keys, want %d", n, before)
	}
	if n := len(must(acme.update.List(ctx))); n != 2 { // the spent first one, and the next
		t.Errorf("%d update keys", n)
	}
	acme.rotate(RotateInput{})
}

// TestRecovery: the next update key is lost; the recovery key signs one entry, is spent by
// it, and the lost key is worth nothing any more.
func TestRecovery(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	ctx := t.Context()
	lost := acme.update
	fresh, paper, wrong := must(keys.Memory()), newPaper(t), newPaper(t)
	acme.update = fresh
	clock.turn(time.Minute)
	_, refusal := acme.Rotate(ctx, RotateInput{Authority: acme.authority(), Reason: "lost"})
	refusedAs(t, refusal, fault.Refused, "update_key")
	a := acme.authority()
	a.Recovery = acme.recovery
	_, err := acme.Rotate(ctx, RotateInput{Authority: a, Reason: "lost"})
	if fault.Of(err) != fault.Invalid {
		t.Errorf("without a new recovery key: %v", err)
	}
	a.Recovery, a.NextRecovery = wrong.Signer(), paper.Public()
	_, err = acme.Rotate(ctx, RotateInput{Authority: a, Reason: "lost"})
	refusedAs(t, err, fault.Refused, "recovery_key")
	if n := len(must(fresh.List(ctx))); n != 0 {
		t.Errorf("%d keys are left of refused entries", n)
	}
	if !strings.Contains(refusal.Error(), "/media/stick") {
		t.Errorf("the refusal does not say where it looked: %v", refusal)
	}
	opened, remembered := 0, 0
	a.Update = func(context.Context) (UpdateKeys, error) {
		opened++
		return stick{fresh, &remembered}, nil
	}
	_, err = acme.Rotate(ctx, RotateInput{Authority: a, Reason: "lost"})
	refusedAs(t, err, fault.Refused, "recovery_key")
	if opened != 0 || remembered != 0 {
		t.Errorf("a refused entry opened its store %d times, and had it remembered %d times", opened, remembered)
	}
	a.Recovery = acme.recovery
	acme.rotate(RotateInput{Authority: a, Reason: "lost"})
	if remembered != 1 {
		t.Errorf("the store of the next key is remembered %d times", remembered)
	}
	head := acme.history().Head().Parameters.NextKeyHashes
	if len(head) != 2 || head[1] != didwebvh.KeyHash(paper.Public()) {
		t.Errorf("the new recovery key is not committed to: %v", head)
	}
	acme.update = lost
	_, err = acme.Rotate(ctx, RotateInput{Authority: acme.authority(), Reason: "scheduled"})
	refusedAs(t, err, fault.Refused, "update_key")
	acme.update = fresh
	acme.rotate(RotateInput{})
}

// TestRoles: each key is replaced alone.
func TestRoles(t *testing.T) {
	clock := newDial()
	acme := found(t, "acme", clock)
	governance := newPaper(t).Public()
	was := acme.roles()
	for _, c := range []struct {
		in   RotateInput
		want func(now didwebvh.Roles) bool
	}{
		{RotateInput{Role: RoleUpdate}, func(now didwebvh.Roles) bool { return now == was }},
		{RotateInput{Role: RoleIssuer}, func(now didwebvh.Roles) bool { return now.Issuer != was.Issuer && now.Witness == was.Witness }},
		{RotateInput{Role: RoleWitness}, func(now didwebvh.Roles) bool { return now.Issuer == was.Issuer && now.Witness != was.Witness }},
		{RotateInput{Role: RoleGovernance, Governance: given(governance)}, func(now didwebvh.Roles) bool { return now.Issuer == was.Issuer && now.Governance == governance }},
		{RotateInput{Role: RoleIssuer}, func(now didwebvh.Roles) bool { return now.Issuer != was.Issuer && now.Governance == governance }},
	} {
		clock.turn(time.Minute)
		acme.rotate(c.in)
		if now := acme.roles(); !c.want(now) {
			t.Errorf("%s: %+v, was %+v", c.in.Role, now, was)
		}
		was = acme.roles()
		acme.agent("a"+strings.Repeat("x", acme.history().Len()), "lend")
	}
	for _, in := range []RotateInput{{Role: "boss", Reason: "scheduled"}, {Role: RoleGovernance, Reason: "scheduled"}, {Role: RoleIssuer, Governance: given(governance), Reason: "scheduled"}} {
		in.Authority = acme.authority()
		if _, err := acme.Rotate(t.Context(), in); fault.Of(err) != fault.Invalid {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

// TestCompromiseIssuesAgentsAnew: agents that were issued after the last index that is
// surely ours are signed again, those before stand.
func TestCompromiseIssuesAgentsAnew(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	first := acme.agent("first", "lend")
	acme.project()
	sure := must(acme.row(first.Agent)).Index
	second := acme.agent("second", "lend")
	acme.project()
	clock.turn(time.Minute)
	acme.rotate(RotateInput{Reason: "compromise", TaintFrom: &sure})
	acme.project()
	if r := must(acme.row(first.Agent)); r.Serial != 1 || r.Revoked {
		t.Errorf("first: %+v", r)
	}
	if r := must(acme.row(second.Agent)); r.Serial != 2 || r.Revoked || r.Index <= sure {
		t.Errorf("second: %+v", r)
	}
	acme.logTo2(vendor)
	vendor.project()
	for _, x := range []self.AgentRow{first, must(acme.row(second.Agent))} {
		if took, err := vendor.TakeAgent(t.Context(), acme.object(x.Object)); err != nil || !took {
			t.Errorf("%s at vendor: %v, %v", x.Name, took, err)
		}
		if r, err := vendor.row(x.Agent); err != nil || r.Revoked || r.Serial != x.Serial {
			t.Errorf("%s at vendor: %+v, %v", x.Name, r, err)
		}
	}
}

// TestCompromiseEndsWhatCannotBeIssuedAnew: an agent whose key is not here cannot sign a
// new object, so it ends, and partners see it end.
func TestCompromiseEndsWhatCannotBeIssuedAnew(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	sure := acme.size(acme.did) - 1
	k, text := outside(0x31)
	d := did.MustParse(text)
	in := AgentInput{Name: "billing", Can: []string{"borrow"}, For: text}
	in.Request = signed(t, acme.drafts(in), k)
	if _, err := acme.AddAgent(ctx, in); err != nil {
		t.Fatal(err)
	}
	gk, gtext := outside(0x32)
	ghost := AgentInput{Name: "ghost", Can: []string{"borrow"}, For: gtext}
	ghost.Request = signed(t, acme.drafts(ghost), gk)
	if _, err := acme.AddAgent(ctx, ghost); err != nil {
		t.Fatal(err)
	}
	mine := acme.agent("research", "lend")
	acme.project()
	acme.logTo2(vendor)
	vendor.project()
	for _, x := range []did.DID{d, mine.Agent} {
		if _, err := vendor.TakeAgent(ctx, acme.object(must(acme.row(x)).Object)); err != nil {
			t.Fatal(err)
		}
	}
	clock.turn(time.Minute)
	acme.rotate(RotateInput{Reason: "compromise", TaintFrom: &sure})
	acme.project()
	if r := must(acme.row(d)); !r.Revoked {
		t.Errorf("at home: %+v", r)
	}
	v, err := acme.ShowAgent(ctx, "billing")
	if err != nil || v.Reason != "ended" || !strings.Contains(v.Message, "its own key is not known to be in doubt") || !strings.Contains(v.Hint, "--for "+text+" --draft") {
		t.Errorf("shown as %+v, %v", v, err)
	}
	acme.logTo2(vendor)
	vendor.project()
	if r := must(vendor.row(d)); !r.Revoked {
		t.Errorf("the agent of a key that is not there, at vendor: %+v", r)
	}
	if r := must(vendor.row(mine.Agent)); !r.Revoked {
		t.Errorf("the agent whose new object has not come, at vendor: %+v", r)
	}
	if took, err := vendor.TakeAgent(ctx, acme.object(must(acme.row(mine.Agent)).Object)); err != nil || !took {
		t.Fatal(took, err)
	}
	if r := must(vendor.row(mine.Agent)); r.Revoked || r.Serial != 2 {
		t.Errorf("the agent that was issued anew, at vendor: %+v", r)
	}
	// One that nobody knows is the thief's: revoked by hand as well, its key does not come back.
	if _, err := acme.RevokeAgent(ctx, AgentRevokeInput{Agent: "ghost", Reason: "key_compromise"}); err != nil {
		t.Fatal(err)
	}
	ghost.Request = nil
	_, err = acme.DraftAgent(ctx, ghost)
	refusedAs(t, err, fault.Refused, "revoked_key")
	// Nobody had its own key: it comes back with a higher serial, here and there.
	in.Request = signed(t, acme.drafts(in), k)
	back, err := acme.AddAgent(ctx, in)
	if err != nil || back.Agent != d || back.Serial != 2 {
		t.Fatalf("the same key again: %+v, %v", back, err)
	}
	acme.project()
	acme.logTo2(vendor)
	vendor.project()
	if took, err := vendor.TakeAgent(ctx, acme.object(back.Object)); err != nil || !took {
		t.Fatal(took, err)
	}
	for _, o := range []*org{acme, vendor} {
		if r := must(o.row(d)); r.Revoked || r.Serial != 2 {
			t.Errorf("the same key again, at %s: %+v", o.name, r)
		}
	}
	// One that was copied does not.
	if _, err := acme.RevokeAgent(ctx, AgentRevokeInput{Agent: "billing", Reason: "key_compromise"}); err != nil {
		t.Fatal(err)
	}
	in.Request = nil
	_, err = acme.DraftAgent(ctx, in)
	refusedAs(t, err, fault.Refused, "revoked_key")
}

func TestMove(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	clock.turn(time.Minute)
	ctx := t.Context()
	e, err := acme.Move(ctx, MoveInput{Authority: acme.authority(), Domain: "acme-new.example"})
	if err != nil || !e.Logged {
		t.Fatalf("%+v, %v", e, err)
	}
	if d := acme.history().DID(); !strings.HasSuffix(d.String(), ":acme-new.example") {
		t.Errorf("the DID is %s", d)
	}
	a := acme.agent("research", "lend")
	acme.logTo2(vendor)
	vendor.project()
	if took, err := vendor.TakeAgent(ctx, acme.object(a.Object)); err != nil || !took {
		t.Errorf("an agent after the move: %v, %v", took, err)
	}
	acme.restartKeepsHead(t)
	_, err = acme.Move(ctx, MoveInput{Authority: acme.authority(), Domain: "127.0.0.1"})
	if fault.Of(err) != fault.Invalid && fault.Of(err) != fault.Refused {
		t.Errorf("to an address: %v", err)
	}
}

// TestDeactivate: the announcement of the end is the last event of the log.
func TestDeactivate(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	a := acme.agent("research", "lend")
	acme.logTo2(vendor)
	vendor.project()
	if taken, err := vendor.TakeAgent(t.Context(), acme.object(a.Object)); err != nil || !taken {
		t.Fatalf("%v, %v", taken, err)
	}
	clock.turn(time.Minute)
	ctx := t.Context()
	e, err := acme.Deactivate(ctx, acme.authority())
	if err != nil || !e.Active || !e.Logged {
		t.Fatalf("%+v, %v", e, err)
	}
	if got := acme.eventTypes(); got[len(got)-1] != "key.rotated" {
		t.Errorf("log ends with %v", got)
	}
	if _, err := acme.AddAgent(ctx, AgentInput{Name: "late", Can: []string{"lend"}}); err == nil {
		t.Error("an agent was added after the end")
	}
	if _, err := acme.Rotate(ctx, RotateInput{Authority: acme.authority(), Reason: "scheduled"}); err == nil {
		t.Error("a key was rotated after the end")
	}
	acme.logTo2(vendor)
	vendor.project()
	if n := vendor.size(acme.did); n != acme.size(acme.did) {
		t.Errorf("vendor holds %d of %d", n, acme.size(acme.did))
	}
	if _, err := vendor.node.Ring.HeadSource().Key(ctx, acme.did, acme.roles().Issuer.Multikey()); !errors.Is(err, envelope.ErrRetired) {
		t.Errorf("its key at vendor: %v", err)
	}
	acme.project()
	for _, at := range []*org{acme, vendor} {
		row, err := at.row(a.Agent)
		if err != nil || row.State(clock.Now()) == self.AgentLive {
			t.Errorf("its agent at %s: %s, %v", at.name, row.State(clock.Now()), err)
		}
	}
	refusedAs(t, vendor.node.Ended(ctx, acme.did), fault.Revoked, "deactivated")
	if err := vendor.node.Ended(ctx, arbiter.did); err != nil {
		t.Error(err)
	}
	if _, _, err := acme.MakeToken(ctx, a.Agent.String(), "http"); err == nil {
		t.Error("a token for an agent of an organization that ended")
	}
}

// TestTheEndCountsBeforeItIsAnnounced: who holds the entry that ended a DID takes nothing of
// that organization any more, though its log does not say so, or never will.
func TestTheEndCountsBeforeItIsAnnounced(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	vendor.logTo2(acme)
	next := must(nextUpdate(ctx, vendor.history(), stick{Store: vendor.update}))
	clock.turn(time.Minute)
	line := must(didwebvh.Deactivate(ctx, vendor.history(), didwebvh.DeactivateRequest{Update: next, At: clock.Now()}))
	if _, err := acme.node.Ring.Offer(ctx, vendor.did, append(line, '\n'), nil); err != nil {
		t.Fatal(err)
	}
	clock.turn(time.Minute)
	late := vendor.agent("late", "borrow", "lend")
	vendor.logTo(acme)
	acme.project()
	if taken, err := acme.TakeAgent(ctx, vendor.object(late.Object)); err != nil || taken {
		t.Errorf("its new agent is taken: %v, %v", taken, err)
	}
	if _, err := acme.row(late.Agent); !errors.Is(err, self.ErrNoAgent) {
		t.Errorf("its new agent: %v", err)
	}
}

// TestRotation: what was signed before still verifies, the new key signs on, and the
// update key that was shown is gone.
func TestRotation(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	a := acme.agent("research", "lend")
	_, oldKid, _ := acme.node.Signers.Issuer(ctx)
	open := func(context.Context) (UpdateKeys, error) { return stick{Store: acme.update}, nil }
	clock.turn(time.Hour)
	r, err := acme.Rotate(ctx, RotateInput{Authority: Authority{Update: open}, Reason: "scheduled"})
	if err != nil {
		t.Fatal(err)
	}
	_, newKid, _ := acme.node.Signers.Issuer(ctx)
	if newKid == oldKid || !r.Active || !r.Logged || r.Version[:2] != "2-" {
		t.Errorf("rotated %+v, kid %s, was %s", r, newKid, oldKid)
	}
	h, err := acme.node.Ring.History(ctx, acme.did)
	if err != nil {
		t.Fatal(err)
	}
	left, err := acme.update.List(ctx)
	if err != nil || len(left) != 1 { // the next one
		t.Errorf("%d update keys are left, %v", len(left), err)
	}
	for _, k := range left {
		if !slices.Contains(h.Head().Parameters.NextKeyHashes, didwebvh.KeyHash(k)) {
			t.Errorf("key %s is left, and the head does not commit to it", k.Multikey())
		}
	}
	b := acme.agent("second", "lend")
	if got := acme.eventTypes(); !slices.Equal(got, []string{"log.opened", "charter.signed", "agent.issued", "key.rotated", "agent.issued"}) {
		t.Errorf("log holds %v", got)
	}
	acme.logTo2(vendor)
	vendor.project()
	for _, x := range []self.AgentRow{a, b} {
		if took, err := vendor.TakeAgent(ctx, acme.object(x.Object)); err != nil || !took {
			t.Errorf("%s: %v, %v", x.Name, took, err)
		}
		if _, err := vendor.row(x.Agent); err != nil {
			t.Errorf("%s: %v", x.Name, err)
		}
	}
	// The charter signed under the old key stands, here and after a restart.
	acme.restartKeepsHead(t)
	vendor.restartKeepsHead(t)
	if err := acme.Confirmed(ctx, vendor.did); err != nil {
		t.Fatal(err)
	}
	e, ok := acme.OwnBinding()
	binding, err := envelope.Decode[federation.Binding](e)
	if !ok || err != nil || binding.DIDVersion != r.Version || binding.Kid != newKid {
		t.Errorf("own binding names %s, %s", binding.DIDVersion, binding.Kid)
	}
	if fresh, err := vendor.OfferBinding(ctx, e); err != nil || !fresh {
		t.Errorf("the new binding: %v, %v", fresh, err)
	}
	if _, err := acme.Rotate(ctx, RotateInput{Authority: Authority{Update: open}, Reason: "scheduled"}); err != nil {
		t.Errorf("second rotation: %v", err)
	}
}

// logTo2 brings DID log and log.
func (o *org) logTo2(to *org) {
	o.didTo(to)
	o.logTo(to)
}

func TestRotationRefusals(t *testing.T) {
	clock := newDial()
	acme, _, _ := federated(t, clock)
	ctx := t.Context()
	open := func(context.Context) (UpdateKeys, error) { return stick{Store: acme.update}, nil }
	wrong := func(context.Context) (UpdateKeys, error) { return stick{Store: acme.keys}, nil }
	_, err := acme.Rotate(ctx, RotateInput{Authority: Authority{Update: wrong}, Reason: "scheduled"})
	refusedAs(t, err, fault.Refused, "update_key")
	if d := fault.From(err); !strings.HasSuffix(d.Detail, " matches nextKeyHashes of entry 1") || !strings.HasPrefix(d.Detail, "no update key in ") || !strings.Contains(d.Hint, "use the recovery key: trustnode did rotate --recovery --reason lost --update-keys NEWDIR") {
		t.Errorf("%s, hint: %s", d.Detail, d.Hint)
	}
	if _, err = acme.Rotate(ctx, RotateInput{Authority: Authority{Update: open}, Reason: "boredom"}); fault.Of(err) != fault.Invalid {
		t.Errorf("reason: %v", err)
	}
	first := uint64(0)
	for _, role := range []Role{RoleWitness, RoleUpdate, RoleGovernance} { // none of these has signed an event
		in := RotateInput{Authority: Authority{Update: open}, Role: role, Reason: "compromise", TaintFrom: &first}
		if role == RoleGovernance {
			in.Governance = given(newPaper(t).Public())
		}
		_, err := acme.Rotate(ctx, in)
		refusedAs(t, err, fault.Invalid, "taint")
	}
	acme.rotate(RotateInput{Role: RoleGovernance, Reason: "scheduled", Governance: given(newPaper(t).Public())})
	acme.clock.turn(time.Minute)
	acme.rotate(RotateInput{Role: RoleGovernance, Reason: "compromise", TaintFrom: &first, Governance: given(newPaper(t).Public())})
	acme.start()
	_, err = acme.Rotate(ctx, RotateInput{Authority: Authority{Update: open}, Reason: "scheduled"})
	refusedAs(t, err, fault.Refused, "recovering")
}

// TestCompromiseEndsBindings: a binding that the thief of a key may have made does not
// outlive the news.
func TestCompromiseEndsBindings(t *testing.T) {
	for reason, want := range map[string]bool{"scheduled": true, "compromise": false, "lost": false} {
		t.Run(reason, func(t *testing.T) {
			clock := newDial()
			acme, vendor, arbiter := federated(t, clock)
			hear(acme, vendor, arbiter)
			clock.turn(time.Minute)
			if _, err := acme.Rotate(t.Context(), RotateInput{Authority: acme.authority(), Reason: reason}); err != nil {
				t.Fatal(err)
			}
			acme.logTo2(vendor)
			vendor.project()
			if _, ok := vendor.binding(acme.did); ok != want {
				t.Errorf("bound %v, want %v", ok, want)
			}
			vendor.start()
			if _, ok := vendor.binding(acme.did); ok != want {
				t.Errorf("after a restart: bound %v, want %v", ok, want)
			}
			e, _ := acme.OwnBinding()
			if fresh, err := vendor.OfferBinding(t.Context(), e); err != nil || !fresh {
				t.Errorf("the one made after it: %v, %v", fresh, err)
			}
		})
	}
}

// given is a governance key that is there already.
func given(k did.PublicKey) func(context.Context) (did.PublicKey, error) {
	return func(context.Context) (did.PublicKey, error) { return k, nil }
}

// collected is what collect came to; too few proofs are an error.
func collected(row entryRow, _ []said, err error) (entryRow, error) {
	if err == nil && row.step() < stepReady {
		err = errors.New("too few witnesses")
	}
	return row, err
}

// TestALyingWitnessHoldsNothingUp: proofs that are none, and one honest witness.
func TestALyingWitnessHoldsNothingUp(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := witnessedTrio(t, clock)
	ctx := t.Context()
	for _, lie := range [][]byte{[]byte("{}"), []byte("not JSON"), bytes.Repeat([]byte("x"), 1<<16), must(didwebvh.SignWitness(ctx, key(t, vendor.keys), acme.history().Head().ID, clock.Now()))} {
		clock.turn(time.Minute)
		vendor.lies = lie
		acme.rotate(RotateInput{Role: RoleUpdate})
		acme.logTo2(arbiter)
	}
	arbiter.lies = []byte("{}")
	clock.turn(time.Minute)
	_, err := acme.Rotate(ctx, RotateInput{Authority: acme.authority(), Reason: "scheduled"})
	refusedAs(t, err, fault.NeedsApproval, reasonWitnesses)
	if !strings.Contains(err.Error(), "vendor.example sent a proof that is none") {
		t.Error(err)
	}
}

// TestProofsOfSeveralRounds: two witnesses are needed and never there at the same time.
func TestProofsOfSeveralRounds(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := witnessedTrio(t, clock)
	ctx := t.Context()
	clock.turn(time.Minute)
	if _, err := acme.SetWitnesses(ctx, WitnessInput{Authority: acme.authority(), Threshold: 2}); err != nil {
		t.Fatal(err)
	}
	acme.logTo2(vendor)
	acme.logTo2(arbiter)
	clock.turn(time.Minute)
	meet(acme, vendor)
	_, err := acme.Rotate(ctx, RotateInput{Authority: acme.authority(), Reason: "scheduled"})
	refusedAs(t, err, fault.NeedsApproval, reasonWitnesses)
	for _, there := range [][]*org{{acme}, {acme, arbiter}} {
		meet(there...)
		if err := acme.PushEntry(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, under, err := acme.Pending(ctx); under || err != nil {
		t.Errorf("it still waits: %v", err)
	}
}

// TestAProofGetsInWhileAnOperatorWaits: who carries a proof here does not wait for who
// waits for it.
func TestAProofGetsInWhileAnOperatorWaits(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := witnessedTrio(t, clock)
	ctx := t.Context()
	meet(acme)
	done := make(chan error, 1)
	go func() {
		a := acme.authority()
		a.Wait = time.Hour
		_, err := acme.Rotate(ctx, RotateInput{Authority: a, Reason: "scheduled"})
		done <- err
	}()
	var p Pending
	for end := time.Now().Add(20 * time.Second); p.Line == nil; {
		if time.Now().After(end) {
			t.Fatal("nothing is under way")
		}
		p, _, _ = acme.Pending(ctx)
	}
	proof := must(vendor.WitnessEntry(ctx, acme.did, p.Line))
	if e, err := acme.ResumeEntry(ctx, nil, [][]byte{proof}, 0); err != nil || !e.Active {
		t.Fatalf("%+v, %v", e, err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the operator waits on")
	}
}

// TestCompromiseWhileEventsAreProjected: the background brings the news of the compromise
// into the state before the agents are issued anew, or after; they live all the same.
func TestCompromiseWhileEventsAreProjected(t *testing.T) {
	for _, early := range []bool{true, false} {
		clock := newDial()
		acme := found(t, "acme", clock)
		ctx := t.Context()
		sure := acme.size(acme.did)
		first := acme.agent("first", "lend")
		acme.project()
		if sure = acme.size(acme.did) - 2; sure > 1<<40 {
			t.Fatal("the log is too short")
		}
		clock.turn(time.Minute)
		row, err := acme.buildNext(ctx)
		if err != nil {
			t.Fatal(err)
		}
		row.Reason, row.Taint = "compromise", &sure
		if row, err = acme.commitEntry(ctx, row); err == nil {
			if row, err = collected(acme.collect(ctx, row)); err == nil {
				row, err = acme.activate(ctx, row)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if early {
			acme.project()
		}
		if err := acme.finish(ctx, row, nil); err != nil {
			t.Fatal(err)
		}
		acme.project()
		if r := must(acme.row(first.Agent)); r.Revoked || r.Serial != 2 {
			t.Errorf("projected early %v: %+v", early, r)
		}
		// Revoked for good, it is revoked, whatever the compromise said.
		if _, err := acme.RevokeAgent(ctx, AgentRevokeInput{Agent: "first"}); err != nil {
			t.Fatal(err)
		}
		acme.project()
		if r := must(acme.row(first.Agent)); !r.Revoked {
			t.Errorf("revoked, and %+v", r)
		}
	}
}
