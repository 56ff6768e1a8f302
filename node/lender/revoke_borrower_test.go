package lender

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

// houseOfLoans has loans of two lending agents to two agents of one organization.
type houseOfLoans struct {
	*kit
	other, second              did.DID // lends too; borrows too
	toQuant, byOther, toSecond Loan
}

func newHouseOfLoans(t *testing.T) *houseOfLoans {
	t.Helper()
	h := &houseOfLoans{kit: memoryKit(t)}
	h.other = h.acme.AddAgent(t, "other", keyring.Lend)
	h.second = h.vendor.AddAgent(t, "second", keyring.Borrow)
	h.add(t, "One.", "client:acme")
	if _, err := h.AddEntry(t.Context(), AddInput{Agent: "other", Project: folio, Statement: "Two.", Tags: []string{"client:acme"}}); err != nil {
		t.Fatal(err)
	}
	h.toQuant = h.lend(t, "research", h.quant)
	h.byOther = h.lend(t, "other", h.quant)
	h.toSecond = h.lend(t, "research", h.second)
	return h
}

func (h *houseOfLoans) lend(t *testing.T, lender string, borrower did.DID) Loan {
	t.Helper()
	in := h.wish(10)
	in.Lender, in.Borrower = lender, borrower.String()
	l, err := h.Issue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// answer reads one loan as its borrower and returns the error.
func (h *houseOfLoans) answer(t *testing.T, l Loan) error {
	t.Helper()
	rq := h.request(t, l, func(rq *lending.ReadRequest) { rq.Borrower = l.Permission.Borrower })
	return h.Read(t.Context(), Call{Request: rq, Send: &taker{}})
}

// wantEnded wants each of these loans to be refused as revoked, told as ended once, and
// proven so by a revocation that its own lender signed.
func (h *houseOfLoans) wantEnded(t *testing.T, reason string, loans ...Loan) {
	t.Helper()
	for _, l := range loans {
		d := refusedWith(t, h.answer(t, l), fault.Revoked, reason)
		if d.Receipt == "" {
			t.Errorf("%s: no receipt proves the end", l.ID)
		}
		if n := len(h.events(t, l, "loan.ended")); n != 1 {
			t.Errorf("%s: %d loan.ended, want 1", l.ID, n)
		}
		now, err := h.Loan(t.Context(), l.ID.String())
		if err != nil || now.State != lending.Revoked {
			t.Errorf("%s: %+v, %v", l.ID, now, err)
		}
		o, err := h.acme.Lib.Get(t.Context(), now.Revocation)
		if err != nil {
			t.Fatal(err)
		}
		e, err := envelope.ParseDSSE(o.Bytes, maxObject)
		if err != nil {
			t.Fatal(err)
		}
		v, err := envelope.Open[lending.Revocation](t.Context(), e, self.SignerSource(self.ViewGetter(t.Context(), h.acme.DB)))
		if err != nil {
			t.Fatal(err)
		}
		k, err := h.permission(t.Context(), l.ID)
		if err != nil || !v.Body().Ends(k.perm, h.vendor.Org) {
			t.Errorf("%s: its revocation by %s does not end it, %v", l.ID, v.Body().Issuer, err)
		}
	}
}

func TestRevokeAgentOfAPartner(t *testing.T) {
	h := newHouseOfLoans(t)
	if err := h.answer(t, h.byOther); err != nil {
		t.Fatal(err)
	}
	r, err := h.RevokeBorrower(t.Context(), h.quant.String(), "misuse", "read for another purpose")
	if err != nil || r.Target != h.quant || r.Loans != 2 || r.Reads != 1 {
		t.Fatalf("got %+v, %v", r, err)
	}
	h.wantEnded(t, "misuse", h.toQuant, h.byOther)
	if err := h.answer(t, h.toSecond); err != nil {
		t.Errorf("the loan to another agent: %v", err)
	}
	again, err := h.RevokeBorrower(t.Context(), h.quant.String(), "ended", "")
	if err != nil || again.ID != r.ID || again.Loans != 0 {
		t.Errorf("a second revocation: got %+v, %v, want %s", again, err, r.ID)
	}
	in := h.wish(1)
	_, err = h.Issue(t.Context(), in)
	refusedWith(t, err, fault.Refused, "borrower_revoked")
	h.mustSweep(t)
	h.wantEnded(t, "misuse", h.toQuant, h.byOther)
	if n := countFacts(t, h.kit, h.quant.String()); n != 2 {
		t.Errorf("%d loan.revoked name the agent, want one by each lender", n)
	}
}

func countFacts(t *testing.T, k *kit, subject string) (n int) {
	t.Helper()
	if err := k.acme.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, err := range k.acme.Rec.Facts(t.Context(), attestation.Query{Org: k.acme.Org, Type: "loan.revoked", Subject: subject}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestRevokePartnerWithAllItsAgents(t *testing.T) {
	h := newHouseOfLoans(t)
	r, err := h.RevokeBorrower(t.Context(), h.vendor.Org.String(), "policy", "")
	if err != nil || r.Loans != 3 {
		t.Fatalf("got %+v, %v", r, err)
	}
	h.wantEnded(t, "policy", h.toQuant, h.byOther, h.toSecond)
}

func TestRevokeBorrowerBeforeAnyLoan(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	r, err := k.RevokeBorrower(t.Context(), k.quant.String(), "policy", "")
	if err != nil || r.Loans != 0 || r.ID.IsZero() {
		t.Fatalf("got %+v, %v", r, err)
	}
	_, err = k.Issue(t.Context(), k.wish(1))
	refusedWith(t, err, fault.Refused, "borrower_revoked")
	for name, c := range map[string]struct{ who, reason, text, want string }{
		"nobody":              {"nobody at all", "ended", "", "borrower"},
		"no reason of these":  {k.quant.String(), "because", "", "reason"},
		"a text with escapes": {k.quant.String(), "ended", "a\x1b[2J", "text"},
	} {
		if _, err := k.RevokeBorrower(t.Context(), c.who, c.reason, c.text); fault.From(err) == nil || fault.From(err).Reason != c.want {
			t.Errorf("%s: got %v, want reason %s", name, err, c.want)
		}
	}
}

// A directory that was put back from a copy learns the revocation from the own log again.
func TestRevokedBorrowerIsRelearnt(t *testing.T) {
	h := newHouseOfLoans(t)
	if _, err := h.RevokeBorrower(t.Context(), h.quant.String(), "misuse", ""); err != nil {
		t.Fatal(err)
	}
	if n := countFacts(t, h.kit, h.quant.String()); n != 2 {
		t.Fatalf("%d loan.revoked", n)
	}
	key := revKey(lending.Target{Kind: lending.TargetBorrower, ID: h.quant.String()})
	err := h.acme.DB.Update(t.Context(), func(tx store.Tx) error { return tx.Delete(key) })
	if err != nil {
		t.Fatal(err)
	}
	if err := h.answer(t, h.toQuant); err != nil {
		t.Fatalf("the state has not forgotten: %v", err)
	}
	if err := h.Relearn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.answer(t, h.toQuant); fault.Of(err) != fault.Revoked {
		t.Errorf("got %v, want revoked", err)
	}
}

// Reads of two loans race a revocation of their borrower: no byte after it returned.
func TestRevokeBorrowerRace(t *testing.T) {
	schedules := 300
	if testing.Short() || raceEnabled {
		schedules = 100
	}
	k := memoryKit(t)
	k.acme.Rec.Pause("the race is not about the log")
	k.add(t, "One.", "client:acme")
	var sent, late atomic.Int64
	for i := range schedules {
		quant := k.vendor.AddAgent(t, fmt.Sprintf("quant-%d", i), keyring.Borrow)
		in := k.wish(10)
		in.Borrower = quant.String()
		var over atomic.Bool
		var wg sync.WaitGroup
		for range 2 {
			loan, err := k.Issue(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			rq := k.request(t, loan, func(rq *lending.ReadRequest) { rq.Borrower = quant })
			wg.Go(func() {
				spin()
				g := guard{&over, &late, &atomic.Int64{}}
				err := k.Read(context.Background(), Call{Request: rq, Send: g})
				sent.Add(g.sent.Load())
				if (err == nil) != (g.sent.Load() == 1) || err != nil && fault.Of(err) != fault.Revoked {
					t.Errorf("schedule %d: sent %d, %v", i, g.sent.Load(), err)
				}
			})
		}
		spin()
		if _, err := k.RevokeBorrower(context.Background(), quant.String(), "ended", ""); err != nil {
			t.Errorf("schedule %d: %v", i, err)
		}
		over.Store(true)
		wg.Wait()
	}
	if late.Load() > 0 {
		t.Errorf("%d of %d answers left after the revocation had returned", late.Load(), sent.Load())
	}
	if n := sent.Load(); n == 0 || n == 2*int64(schedules) {
		t.Errorf("%d of %d reads were sent: the schedules did not race", n, 2*schedules)
	}
}

// Connections that take nothing, of several loans, are given one drain together and are all cut.
func TestRevokeBorrowerDrains(t *testing.T) {
	h := newHouseOfLoans(t)
	var stuck []*slow
	done := make(chan error, 2)
	for _, l := range []Loan{h.toQuant, h.toSecond} {
		s := newSlow()
		stuck = append(stuck, s)
		rq := h.request(t, l, func(rq *lending.ReadRequest) { rq.Borrower = l.Permission.Borrower })
		go func() { done <- h.Read(context.Background(), Call{Request: rq, Send: s}) }()
		<-s.began
	}
	if _, err := h.RevokeBorrower(t.Context(), h.vendor.Org.String(), "ended", ""); err != nil {
		t.Fatal(err)
	}
	for range stuck {
		if err := <-done; fault.From(err) == nil || fault.From(err).Reason != "connection" {
			t.Errorf("a read that was cut: got %v", err)
		}
	}
	if !slices.EqualFunc(stuck, stuck, func(a, _ *slow) bool {
		select {
		case <-a.aborted:
			return true
		default:
			return false
		}
	}) {
		t.Error("a connection was not cut")
	}
}

// What a person lends ends too: the person's key is elsewhere, and does not have to sign.
func TestRevokeBorrowerOfAPersonsLoan(t *testing.T) {
	for name, both := range map[string]bool{"beside a loan of an agent": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			k := memoryKit(t)
			k.add(t, "One.", "client:acme")
			ines, _ := k.person(t)
			l, err := k.Issue(t.Context(), IssueInput{Signed: k.signedLoan(t, ines)})
			if err != nil {
				t.Fatal(err)
			}
			loans := []Loan{l}
			if both {
				loans = append(loans, k.issue(t, 5))
			}
			out, err := k.RevokeBorrower(t.Context(), k.quant.String(), "misuse", "")
			if err != nil || out.Loans != len(loans) {
				t.Fatalf("got %+v, %v", out, err)
			}
			for _, l := range loans {
				_, _, err := k.read(t.Context(), k.request(t, l))
				refusedWith(t, err, fault.Revoked, "misuse")
			}
		})
	}
}

// A second revocation says that there was one, and for which reason.
func TestRevokeBorrowerTwice(t *testing.T) {
	h := newHouseOfLoans(t)
	first, err := h.RevokeBorrower(t.Context(), h.quant.String(), "misuse", "")
	if err != nil || first.Before || first.Reason != "misuse" {
		t.Fatalf("got %+v, %v", first, err)
	}
	second, err := h.RevokeBorrower(t.Context(), h.quant.String(), "policy", "")
	if err != nil || !second.Before || second.Reason != "misuse" || !second.At.Equal(first.At) {
		t.Errorf("got %+v, %v", second, err)
	}
}
