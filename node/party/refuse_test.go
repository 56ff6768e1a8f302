package party_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/mediation"
	"trustnode/node/fault"
	"trustnode/node/party"
	"trustnode/node/party/partytest"
)

// refusal is what a caller sees: code, reason, and words of the hint.
type refusal struct {
	code         fault.Code
	reason, hint string
}

func (want refusal) check(t *testing.T, err error) {
	t.Helper()
	var d *fault.Denied
	if !errors.As(err, &d) {
		t.Fatalf("got %v, want %+v", err, want)
	}
	if d.Code != want.code || d.Reason != want.reason || !strings.Contains(d.Hint, want.hint) {
		t.Errorf("got %s/%s, hint %q; want %+v", d.Code, d.Reason, d.Hint, want)
	}
}

func TestFilingIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	unread := w.Lend(w.research, w.quant)
	quiet := w.ReadAfterEnd(w.research, w.quant, 0)
	inner := w.vendor.Agent("inner", keyring.Lend)
	foreign := w.ReadAfterEnd(inner, w.quant, 1)
	replayed := w.Lend(w.research, w.quant)
	request := replayed.Request("before the end")
	replayed.Revoke()
	replayed.Replayed(request)
	for _, tt := range []struct {
		name string
		by   *partytest.Org
		in   party.Filing
		want refusal
	}{
		{"a loan that was never revoked", w.acme, party.Filing{Loan: unread.ID.String(), Reason: "R1"}, refusal{fault.Invalid, "item", "was never revoked"}},
		{"a loan that nobody read after its end", w.acme, party.Filing{Loan: quiet.ID.String(), Reason: "R1"}, refusal{fault.Invalid, "item", "no signed request"}},
		{"a request from before the end that came again", w.acme, party.Filing{Loan: replayed.ID.String(), Reason: "R1"}, refusal{fault.Invalid, "item", "no signed request"}},
		{"a loan nobody here knows", w.acme, party.Filing{Loan: w.loan.Issued.String(), Reason: "R1"}, refusal{fault.NotFound, "loan", "loan list"}},
		{"what is neither id nor permission", w.acme, party.Filing{Loan: "S7", Reason: "R1"}, refusal{fault.Invalid, "loan", ""}},
		{"a code this version attaches nothing for", w.acme, party.Filing{Loan: w.loan.ID.String(), Reason: "P1"}, refusal{fault.Invalid, "reason", "misstated the purpose"}},
		{"a code nobody knows", w.acme, party.Filing{Loan: w.loan.ID.String(), Reason: "Z9"}, refusal{fault.Invalid, "reason", "R1: read after"}},
		{"a relief that cannot be carried out", w.acme, party.Filing{Loan: w.loan.ID.String(), Reason: "R1", Relief: []string{"settle"}}, refusal{fault.Invalid, "relief", "score"}},
		{"the borrower's side of R1", w.vendor, party.Filing{Loan: w.loan.ID.String(), Reason: "R1"}, refusal{fault.Refused, "not_yours", ""}},
		{"a loan inside one house", w.vendor, party.Filing{Loan: foreign.ID.String(), Reason: "R1"}, refusal{fault.Refused, "one_house", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.party[tt.by].File(t.Context(), tt.in)
			tt.want.check(t, err)
		})
	}
	if list, err := w.party[w.acme].List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("a refused filing left %+v, %v", list, err)
	}
}

// A permission that somebody else holds by chance gives nobody a case.
func TestAStrangerCannotFile(t *testing.T) {
	w := newWorld(t, 1)
	o, err := w.acme.Lib.Get(t.Context(), w.loan.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.arbiter.Store(o); err != nil {
		t.Fatal(err)
	}
	_, err = w.party[w.arbiter].File(t.Context(), party.Filing{Loan: w.loan.Compact, Reason: "R1"})
	refusal{fault.Refused, "not_a_party", ""}.check(t, err)
}

// What a stranger's node says all the same opens no case on anybody's node.
func TestAStrangersFilingOpensNothing(t *testing.T) {
	w := newWorld(t, 1)
	head := w.Chain.Head()
	for _, tt := range []struct {
		name string
		perm envelope.ID
	}{
		{"over a loan of others", w.loan.ID},
		{"over a loan that is in no log", envelope.IDOf([]byte("no loan"))},
	} {
		at := envelope.TimeOf(w.Now())
		b := partytest.Must(envelope.Marshal(mediation.Dispute{Against: w.vendor.Node.Org, Charter: mediation.CharterRef{ID: head.ID, Seq: head.Seq},
			Claims:   []mediation.Claim{{Acts: 1, Code: "R1", FirstAt: at, LastAt: at, N: 1, Perm: tt.perm, Subject: w.quant.DID}},
			Evidence: envelope.IDOf([]byte("none")), Nonce: "AAECAwQFBgcICQoLDA0ODw", Relief: []string{"score"}, Track: "normal"}))
		id := envelope.IDOf(b)
		event := w.arbiter.Event(attestation.Draft{Type: "dispute.filed", Subject: id.String(), Body: b})
		if _, err := w.arbiter.Rec.WaitLogged(t.Context(), event); err != nil {
			t.Fatal(err)
		}
		for _, o := range w.Orgs {
			if err := o.Peers.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := w.party[o].Show(t.Context(), id.String())
			refusal{fault.NotFound, "case", ""}.check(t, err)
		}
	}
}

func TestASecondFilingJoinsAndAFourthIsTooMany(t *testing.T) {
	w := newWorld(t, 1)
	first := w.file(t)
	again := party.Filing{Loan: w.loan.Compact, Reason: "R1"}
	_, err := w.party[w.acme].File(t.Context(), again)
	refusal{fault.Conflict, "joined", "joined " + first.Case.ID.String() + " as claim 1"}.check(t, err)
	for _, name := range []string{"second", "third", "fourth"} {
		a := w.vendor.Agent(name, keyring.Borrow)
		l := w.ReadAfterEnd(w.research, a, 1)
		_, err = w.party[w.acme].File(t.Context(), party.Filing{Loan: l.ID.String(), Reason: "R1"})
		if name != "fourth" && err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	refusal{fault.Conflict, "open_cases", "3 of 3 open"}.check(t, err)
}

func TestFilingTwiceAtOnceOpensOneCase(t *testing.T) {
	w := newWorld(t, 1)
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() {
			_, err := w.party[w.acme].File(t.Context(), party.Filing{Loan: w.loan.ID.String(), Reason: "R1"})
			errs <- err
		}()
	}
	filed := 0
	for range cap(errs) {
		if err := <-errs; err == nil {
			filed++
		} else {
			refusal{fault.Conflict, "joined", "as claim 1"}.check(t, err)
		}
	}
	if filed != 1 {
		t.Errorf("%d of 4 filings opened a case, want 1", filed)
	}
}

func TestMovesOfOthersAndAtTheWrongTime(t *testing.T) {
	w := newWorld(t, 1)
	filed := w.file(t)
	id := filed.Case.ID.String()
	ctx := t.Context()
	rule := party.Verdict{Outcome: "claimant", Severity: 20, Reasons: "it is signed"}
	_, err := w.party[w.acme].Answer(ctx, id, party.Reply{Deny: true})
	refusal{fault.Refused, "not_yours", "respondent " + w.vendor.Node.Org.String()}.check(t, err)
	_, err = w.party[w.vendor].Answer(ctx, id, party.Reply{})
	refusal{fault.Invalid, "reply", "--deny"}.check(t, err)
	_, err = w.party[w.vendor].Answer(ctx, id, party.Reply{Admit: []int{2}})
	refusal{fault.Invalid, "claim", "1..1"}.check(t, err)
	_, err = w.party[w.vendor].Answer(ctx, id, party.Reply{Deny: true, Text: strings.Repeat("x", mediation.MaxText+1)})
	refusal{fault.Invalid, "text", ""}.check(t, err)
	_, err = w.party[w.arbiter].Rule(ctx, id, rule)
	refusal{fault.Refused, "not_yours", ""}.check(t, err)
	_, err = w.party[w.arbiter].Show(ctx, "S7")
	refusal{fault.Invalid, "case", "dispute list"}.check(t, err)
	_, err = w.party[w.arbiter].Show(ctx, w.loan.ID.String())
	refusal{fault.NotFound, "case", "dispute list"}.check(t, err)

	if _, err = w.party[w.vendor].Answer(ctx, id, party.Reply{Deny: true}); err != nil {
		t.Fatal(err)
	}
	_, err = w.party[w.vendor].Answer(ctx, id, party.Reply{Deny: true})
	refusal{fault.Conflict, "state", "dispute show"}.check(t, err)
	_, err = w.party[w.vendor].Rule(ctx, id, rule)
	refusal{fault.Refused, "not_yours", "the seat is " + w.arbiter.Node.Org.String()}.check(t, err)
	for _, tt := range []struct {
		name string
		in   party.Verdict
		want refusal
	}{
		{"a severity above the band", party.Verdict{Outcome: "claimant", Severity: 90, Reasons: "x"}, refusal{fault.Invalid, "bounds", "claim 1 (R1, 1 act) allows 0..30, the draft says 90"}},
		{"a severity no point scale has", party.Verdict{Outcome: "claimant", Severity: 101, Reasons: "x"}, refusal{fault.Invalid, "bounds", ""}},
		{"an outcome nobody knows", party.Verdict{Outcome: "both", Severity: 10, Reasons: "x"}, refusal{fault.Invalid, "outcome", ""}},
		{"no reasons", party.Verdict{Outcome: "claimant", Severity: 10}, refusal{fault.Invalid, "text", ""}},
		{"a summary that is a novel", party.Verdict{Outcome: "claimant", Severity: 10, Reasons: "x", Summary: strings.Repeat("s", 1001)}, refusal{fault.Invalid, "ruling", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.party[w.arbiter].Rule(ctx, id, tt.in)
			tt.want.check(t, err)
			if v, err := w.party[w.arbiter].Show(ctx, id); err != nil || !v.Case.Mediator.IsZero() {
				t.Errorf("a refused draft took the seat: %s, %v", v.Case.Mediator, err)
			}
		})
	}
	if _, err = w.party[w.arbiter].Rule(ctx, id, rule); err != nil {
		t.Fatal(err)
	}
	_, err = w.party[w.arbiter].Rule(ctx, id, party.Verdict{Outcome: "claimant", Severity: 10, Reasons: "on second thought"})
	refusal{fault.Conflict, "ruled", "dispute show"}.check(t, err)
	v, err := w.party[w.vendor].Show(ctx, id)
	if err != nil || len(v.Case.Void) != 0 || v.Case.Decision.Claims[0].Severity != 20_000 {
		t.Errorf("after a second draft: void %v, %v", v.Case.Void, err)
	}
}

func TestALateAnswerIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	id := w.file(t).Case.ID.String()
	w.Advance(8*24*time.Hour + time.Minute)
	_, err := w.party[w.vendor].Answer(t.Context(), id, party.Reply{Deny: true})
	refusal{fault.Expired, "deadline", "0 s left"}.check(t, err)
}

func TestAMediatorWithAStakeIsLeftOut(t *testing.T) {
	w := newWorld(t, 1)
	lends := w.arbiter.Agent("lends", keyring.Lend)
	l := w.Lend(lends, w.quant)
	l.Revoke()
	l.Ended()
	w.settle(t)
	w.Advance(time.Second)
	id := w.file(t).Case.ID.String()
	if _, err := w.party[w.vendor].Answer(t.Context(), id, party.Reply{Deny: true}); err != nil {
		t.Fatal(err)
	}
	_, err := w.party[w.arbiter].Rule(t.Context(), id, party.Verdict{Outcome: "claimant", Severity: 20, Reasons: "x"})
	refusal{fault.Refused, "left_out", "100 % of the loans of " + w.vendor.Node.Org.String()}.check(t, err)
}
