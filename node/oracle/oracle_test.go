package oracle_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/trust"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/mediation"
	"trustnode/node/fault"
	"trustnode/node/oracle"
	"trustnode/node/party"
	"trustnode/node/party/partytest"
	"trustnode/node/store"
)

type world struct {
	*partytest.World
	acme, vendor, arbiter *partytest.Org
	party                 map[*partytest.Org]*party.Party
	research, quant       partytest.Agent
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := partytest.New(t)
	x := &world{World: w, acme: w.Org("acme"), vendor: w.Org("vendor"), arbiter: w.Org("arbiter"), party: map[*partytest.Org]*party.Party{}}
	for _, o := range w.Orgs {
		x.party[o] = party.New(o.Node)
		o.Keep = x.party[o].Keep
	}
	x.research = x.acme.Agent("research", keyring.Lend)
	x.quant = x.vendor.Agent("quant", keyring.Borrow)
	return x
}

func (w *world) oracle(o *partytest.Org) *oracle.Oracle { return oracle.New(o.Node, w.party[o]) }

func (w *world) show(t *testing.T, o *partytest.Org, who did.DID, at time.Time) trust.Answer {
	t.Helper()
	s, err := w.oracle(o).Show(t.Context(), who, at, did.DID{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Answer
}

// public is the answer that all nodes must agree on, byte for byte.
func (w *world) public(t *testing.T, who did.DID, at time.Time) []byte {
	t.Helper()
	var first []byte
	for i, o := range w.Orgs {
		b, err := w.show(t, o, who, at).Public()
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = b
		} else if !bytes.Equal(b, first) {
			t.Errorf("%s and %s differ:\n%s\n%s", w.Orgs[0].Name, o.Name, first, b)
		}
	}
	return first
}

// ruled is a loan read after its end, filed, denied and ruled at 30 points.
func (w *world) ruled(t *testing.T, l partytest.Loan) envelope.ID {
	t.Helper()
	v, err := w.party[w.acme].File(t.Context(), party.Filing{Loan: l.ID.String(), Reason: "R1"})
	if err != nil {
		t.Fatal(err)
	}
	id := v.Case.ID.String()
	if _, err := w.party[w.vendor].Answer(t.Context(), id, party.Reply{Deny: true}); err != nil {
		t.Fatal(err)
	}
	v, err = w.party[w.arbiter].Rule(t.Context(), id, party.Verdict{Outcome: "claimant", Severity: 30, Reasons: "read after the end"})
	if err != nil {
		t.Fatal(err)
	}
	return v.Case.Decision.Event
}

func (w *world) settle(t *testing.T) {
	t.Helper()
	if err := w.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestARulingCountsOnceItIsFinal(t *testing.T) {
	w := newWorld(t)
	l := w.ReadAfterEnd(w.research, w.quant, 1)
	l.Ended()
	l.EndSeen()
	w.ruled(t, l)
	w.settle(t)
	w.Advance(time.Second)
	at := w.Now()
	w.public(t, w.quant.DID, at)
	before := w.show(t, w.acme, w.quant.DID, at)
	if before.Disputes.Open != 1 || before.Lending.AsBorrower.ReadAfterEnd != 0 || before.Lending.AsBorrower.Clean != 1 || before.Lending.AsBorrower.Surfaced != 1 {
		t.Errorf("while it may be appealed: %+v, %+v", before.Disputes, before.Lending)
	}
	w.Advance(9 * 24 * time.Hour)
	at = w.Now()
	w.public(t, w.quant.DID, at)
	w.public(t, w.vendor.Node.Org, at)
	w.public(t, w.arbiter.Node.Org, at)
	after := w.show(t, w.vendor, w.quant.DID, at)
	if after.Disputes.Open != 0 || after.Disputes.Lost != 1 || after.Lending.AsBorrower.ReadAfterEnd != 1 || after.Lending.AsBorrower.Clean != 0 {
		t.Errorf("once final: %+v, %+v", after.Disputes, after.Lending)
	}
	// 10 points × severity 30 = 3 points, and 9 days leak 9/7 of a point.
	if p := after.Dimensions.Trustworthiness.Penalty; p < 1_713 || p > 1_715 {
		t.Errorf("penalty %d milli, want about 1,714", p)
	}
	claimant := w.show(t, w.vendor, w.acme.Node.Org, at)
	if claimant.Disputes.Won != 1 || claimant.Disputes.Open != 0 {
		t.Errorf("claimant: %+v", claimant.Disputes)
	}
	judge := w.show(t, w.vendor, w.arbiter.Node.Org, at)
	if judge.Dimensions.Reliability.Events != 1 || judge.Dimensions.Trustworthiness.Events != 1 {
		t.Errorf("mediator: %+v", judge.Dimensions)
	}
	// Asked with the earlier moment, the answer is still the earlier one.
	again := w.show(t, w.arbiter, w.quant.DID, before.AsOf.Time())
	if b, _ := again.Public(); !bytes.Equal(b, must(before.Public())) {
		t.Errorf("the past changed:\n%s\n%s", b, must(before.Public()))
	}
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func TestOrderOfSyncAndRestartsChangeNothing(t *testing.T) {
	w := newWorld(t)
	l := w.ReadAfterEnd(w.research, w.quant, 2)
	l.Ended()
	w.ruled(t, l)
	w.settle(t)
	at := w.Now().Add(-time.Second)
	want := w.public(t, w.quant.DID, at)
	r := rand.New(rand.NewPCG(3, 4))
	for range 3 {
		for _, i := range r.Perm(len(w.Orgs)) {
			if err := w.Orgs[i].Peers.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := w.public(t, w.quant.DID, at); !bytes.Equal(got, want) {
		t.Errorf("syncing again changed the answer:\n%s\n%s", got, want)
	}
	for _, o := range w.Orgs {
		o.Restart()
		w.party[o] = party.New(o.Node)
	}
	if got := w.public(t, w.quant.DID, at); !bytes.Equal(got, want) {
		t.Errorf("a restart changed the answer:\n%s\n%s", got, want)
	}
}

// A filing, however grave, changes nothing but the number of open cases.
func TestAnAllegationChangesOnlyWhatIsOpen(t *testing.T) {
	w := newWorld(t)
	l := w.ReadAfterEnd(w.research, w.quant, 20)
	w.settle(t)
	w.Advance(time.Second)
	before := w.show(t, w.vendor, w.quant.DID, w.Now())
	if _, err := w.party[w.acme].File(t.Context(), party.Filing{Loan: l.ID.String(), Reason: "R1"}); err != nil {
		t.Fatal(err)
	}
	w.settle(t)
	w.Advance(time.Second)
	after := w.show(t, w.vendor, w.quant.DID, w.Now())
	if after.Disputes.Open != 1 {
		t.Errorf("open %d, want 1", after.Disputes.Open)
	}
	after.Disputes, after.AsOf, after.Root = before.Disputes, before.AsOf, before.Root
	if !bytes.Equal(must(after.Public()), must(before.Public())) {
		t.Errorf("an allegation changed more:\n%s\n%s", must(before.Public()), must(after.Public()))
	}
}

// What a stranger says of a loan, an agent or a case of others changes nobody's answer.
func TestAStrangersWordChangesNothing(t *testing.T) {
	w := newWorld(t)
	l := w.ReadAfterEnd(w.research, w.quant, 1)
	l.Ended()
	l.EndSeen()
	w.ruled(t, l)
	w.settle(t)
	w.Advance(10 * 24 * time.Hour)
	at := w.Now()
	want := w.public(t, w.quant.DID, at)
	perm := l.ID.String()
	for _, d := range []attestation.Draft{
		{Type: "loan.ended", Subject: perm, Refs: []envelope.ID{l.Issued}, Data: attestation.LoanEnded{Cause: "expired", Target: perm, TargetKind: "permission"}},
		{Type: "loan.revoked", Subject: perm, Refs: []envelope.ID{l.Issued}, Data: attestation.LoanEnded{Cause: "ended", Target: perm, TargetKind: "permission"}},
		{Type: "loan.end_seen", Subject: perm, Refs: []envelope.ID{l.Issued}, Data: attestation.LoanEndSeen{Permission: l.ID, SeenAt: envelope.TimeOf(w.Now()), Verified: true}},
		{Type: "agent.issued", Subject: w.quant.DID.String(), Refs: []envelope.ID{l.ID}, Data: attestation.AgentIssued{Agent: w.quant.DID, ID: l.ID, Name: "mine", Serial: 1}},
		{Type: "loan.violation", Subject: perm, Refs: []envelope.ID{l.Issued}, Data: attestation.LoanViolation{Borrower: w.quant.DID, Class: "read_after_end", Number: 99, Permission: l.ID}},
	} {
		w.arbiter.Event(d)
	}
	w.settle(t)
	if got := w.public(t, w.quant.DID, at); !bytes.Equal(got, want) {
		t.Errorf("a stranger changed the answer:\n%s\n%s", got, want)
	}
}

// A case whose sides agree on an agent of a third organization does nothing to it.
func TestTwoCannotAgreeOnAThirdOnesAgent(t *testing.T) {
	w := newWorld(t)
	victim := w.arbiter.Agent("victim", keyring.Borrow)
	l := w.Lend(w.research, w.quant)
	w.settle(t)
	head := w.Chain.Head()
	at := envelope.TimeOf(w.Now())
	b := must(envelope.Marshal(mediation.Dispute{Against: w.vendor.Node.Org, Charter: mediation.CharterRef{ID: head.ID, Seq: head.Seq},
		Claims:   []mediation.Claim{{Acts: 50, Code: "R1", FirstAt: at, LastAt: at, N: 1, Perm: l.ID, Subject: victim.DID}},
		Evidence: envelope.IDOf([]byte("none")), Nonce: "AAECAwQFBgcICQoLDA0ODw", Relief: []string{"score"}, Track: "normal"}))
	id := envelope.IDOf(b)
	if err := w.acme.DB.Update(t.Context(), func(tx store.Tx) error { return w.acme.Lib.GrantAll(tx, id) }); err != nil {
		t.Fatal(err)
	}
	w.acme.Event(attestation.Draft{Type: "dispute.filed", Subject: id.String(), Body: b})
	w.settle(t)
	v, err := w.party[w.vendor].Answer(t.Context(), id.String(), party.Reply{Admit: []int{1}})
	if err != nil || v.Case.State != mediation.Final || len(v.Case.Effects()) != 1 {
		t.Fatalf("got %s, %v", v.Case.State, err)
	}
	w.settle(t)
	w.Advance(time.Second)
	got := w.show(t, w.acme, victim.DID, w.Now())
	if got.Composite != 500 || got.Lending.AsBorrower.ReadAfterEnd != 0 || got.Disputes != (trust.Disputes{}) {
		t.Errorf("the victim stands at %d, %+v, %+v", got.Composite, got.Lending, got.Disputes)
	}
}

func TestQuestionsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	w.settle(t)
	stranger := did.MustParse("did:web:stranger.example")
	for _, tt := range []struct {
		name         string
		who, view    did.DID
		at           time.Time
		code         fault.Code
		reason, hint string
	}{
		{"a moment in the future", w.quant.DID, did.DID{}, w.Now().Add(time.Hour), fault.Invalid, "as_of", "it is "},
		{"a DID nobody knows", stranger, did.DID{}, time.Time{}, fault.NotFound, "did", ""},
		{"the perspective of nobody", w.quant.DID, stranger, time.Time{}, fault.Invalid, "perspective", ""},
		{"the perspective of an agent", w.quant.DID, w.research.DID, time.Time{}, fault.Invalid, "perspective", ""},
	} {
		_, err := w.oracle(w.acme).Show(t.Context(), tt.who, tt.at, tt.view)
		var d *fault.Denied
		if !errors.As(err, &d) || d.Code != tt.code || d.Reason != tt.reason || !strings.Contains(d.Hint, tt.hint) {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
	if asked := w.acme.Asked.Load(); asked == 0 {
		t.Error("an unknown DID was not asked for")
	}
}

func TestAnAnswerIsSignedAndFloored(t *testing.T) {
	w := newWorld(t)
	w.settle(t)
	s, err := w.oracle(w.arbiter).Show(t.Context(), w.quant.DID, time.Time{}, w.acme.Node.Org)
	if err != nil {
		t.Fatal(err)
	}
	v, err := envelope.Open[trust.Answer](t.Context(), s.Envelope, w.acme.Ring.HeadSource())
	if err != nil {
		t.Fatal(err)
	}
	a, head := v.Body(), w.Chain.Head()
	if a.Org != w.arbiter.Node.Org || a.Of != w.vendor.Node.Org || a.Perspective != w.acme.Node.Org.String() || a.Charter != (trust.CharterRef{ID: head.ID, Seq: head.Seq}) {
		t.Errorf("got %+v", a)
	}
	if at := a.AsOf.Time(); !at.Equal(at.Truncate(time.Hour)) || len(a.StaleLogs) != 0 {
		t.Errorf("as of %s, stale %v", at, a.StaleLogs)
	}
}

// A log known to be longer than what is held is named.
func TestALogThatIsBehindIsNamed(t *testing.T) {
	w := newWorld(t)
	w.settle(t)
	w.Lend(w.research, w.quant)
	if err := w.acme.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.CosignAll(t.Context(), w.acme); err != nil { // the vendor sees the head, not the entries
		t.Fatal(err)
	}
	got := w.show(t, w.vendor, w.quant.DID, time.Time{})
	if len(got.StaleLogs) != 1 || got.StaleLogs[0] != w.acme.Node.Org.String() {
		t.Errorf("stale logs %v, want that of %s", got.StaleLogs, w.acme.Node.Org)
	}
	w.settle(t)
	if got := w.show(t, w.vendor, w.quant.DID, time.Time{}); len(got.StaleLogs) != 0 {
		t.Errorf("after a sync still stale: %v", got.StaleLogs)
	}
}
