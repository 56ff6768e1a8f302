package lender

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// child is a permission under another one, as its lender signs it, for an agent.
func (k *kit) child(t testing.TB, up Loan, borrower did.DID, maxReads uint64) Loan {
	t.Helper()
	p := up.Permission
	p.Parent, p.Borrower, p.MaxReads, p.Nonce = up.ID, borrower, maxReads, lending.NewNonce()
	key, _, err := k.acme.Signers.Agent(t.Context(), k.research)
	if err != nil {
		t.Fatal(err)
	}
	e, err := envelope.Seal(t.Context(), p, key)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := e.Compact()
	if err != nil {
		t.Fatal(err)
	}
	err = k.acme.DB.Update(t.Context(), func(tx store.Tx) error {
		return errors.Join(
			tx.Set(idKey(keyPerm, e.ID()), []byte(compact)),
			store.PutRow(tx, idKey(keyLoan, e.ID()), lending.Loan{Place: tenant + "/" + folio}),
			store.PutRow(tx, idKey(keyIssued, e.ID()), issuedRow{BorrowerOrg: k.vendor.Org, Event: up.Issued, Hygiene: []string{}}),
			tx.Set(idKey(keyOpen, e.ID()), nil),
		)
	})
	if err != nil {
		t.Fatal(err)
	}
	return Loan{ID: e.ID(), Compact: compact, Permission: p, Issued: up.Issued}
}

// chain is a loan to quant, one under it to a second agent and one under that to a third.
func chain(t testing.TB, most, second, third uint64) (k *kit, loans [3]Loan) {
	t.Helper()
	k = memoryKit(t)
	k.add(t, "One.", "client:acme")
	loans[0] = k.issue(t, most)
	for i, n := range []uint64{second, third} {
		loans[i+1] = k.child(t, loans[i], k.vendor.AddAgent(t, fmt.Sprintf("agent-%d", i), keyring.Borrow), n)
	}
	return k, loans
}

func (k *kit) readAs(ctx context.Context, t testing.TB, l Loan) (lending.Receipt, error) {
	t.Helper()
	_, r, err := k.read(ctx, k.request(t, l, func(rq *lending.ReadRequest) { rq.Borrower = l.Permission.Borrower }))
	return r, err
}

// A read counts in its loan and in each above; what is left is the least of them. Each has
// its own seq, without a gap.
func TestParentsAreCounted(t *testing.T) {
	k, l := chain(t, 4, 3, 10)
	for i, want := range []struct {
		loan      Loan
		seq, left uint64
	}{{l[2], 1, 2}, {l[0], 1, 2}, {l[2], 2, 1}, {l[1], 1, 0}} {
		r, err := k.readAs(t.Context(), t, want.loan)
		if err != nil || r.Seq != want.seq || r.Left != want.left {
			t.Fatalf("read %d: seq %d, left %d, %v; want %d, %d", i, r.Seq, r.Left, err, want.seq, want.left)
		}
	}
	for i, loan := range l {
		_, err := k.readAs(t.Context(), t, loan)
		refusedWith(t, err, fault.Exhausted, "")
		now, err := k.Loan(t.Context(), loan.ID.String())
		if want, under := []uint64{4, 3, 2}[i], []uint64{3, 2, 0}[i]; err != nil || now.Reads != want || now.Under != under {
			t.Errorf("loan %d: %d reads, %d under it, %v, want %d, %d", i, now.Reads, now.Under, err, want, under)
		}
		a, err := k.Audit(t.Context(), loan.ID.String())
		if err != nil || !a.GapFree || a.Granted != now.Reads-now.Under || a.Under != now.Under {
			t.Errorf("audit of loan %d: %d granted, %d under it, gap-free %v, %v", i, a.Granted, a.Under, a.GapFree, err)
		}
	}
}

// What ends a loan ends those under it, at once and with their loan.ended; not the other way.
func TestADeadParentEndsItsChildren(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, k *kit, l [3]Loan)
		code [3]fault.Code // empty: still read
	}{
		"the first is revoked": {func(t *testing.T, k *kit, l [3]Loan) { k.revoke(t, l[0]) },
			[3]fault.Code{fault.Revoked, fault.Revoked, fault.Revoked}},
		"the middle is revoked": {func(t *testing.T, k *kit, l [3]Loan) { k.revoke(t, l[1]) },
			[3]fault.Code{"", fault.Revoked, fault.Revoked}},
		"the last is revoked": {func(t *testing.T, k *kit, l [3]Loan) { k.revoke(t, l[2]) },
			[3]fault.Code{"", "", fault.Revoked}},
		"the borrower of the middle is revoked": {func(t *testing.T, k *kit, l [3]Loan) {
			if _, err := k.RevokeBorrower(t.Context(), l[1].Permission.Borrower.String(), "misuse", ""); err != nil {
				t.Fatal(err)
			}
		}, [3]fault.Code{"", fault.Revoked, fault.Revoked}},
		"the agent of the first has ended": {func(t *testing.T, k *kit, _ [3]Loan) { k.endAgent(t, k.quant) },
			[3]fault.Code{fault.Refused, fault.Refused, fault.Refused}},
		"all have expired": {func(_ *testing.T, k *kit, _ [3]Loan) { k.w.Clock.Add(720 * time.Hour) },
			[3]fault.Code{fault.Expired, fault.Expired, fault.Expired}},
	} {
		t.Run(name, func(t *testing.T) {
			k, l := chain(t, 10, 10, 10)
			c.end(t, k, l)
			for i, loan := range l {
				if _, err := k.readAs(t.Context(), t, loan); c.code[i] == "" && err != nil || c.code[i] != "" && fault.Of(err) != c.code[i] {
					t.Errorf("loan %d: got %v, want %q", i, err, c.code[i])
				}
			}
		})
	}
}

// A release under a child is drained by the revocation of what it is a part of.
func TestRevokingAParentDrainsItsChildren(t *testing.T) {
	k, l := chain(t, 10, 10, 10)
	s := newSlow()
	rq := k.request(t, l[2], func(rq *lending.ReadRequest) { rq.Borrower = l[2].Permission.Borrower })
	read := make(chan error, 1)
	go func() { read <- k.Read(context.Background(), Call{Request: rq, Send: s}) }()
	<-s.began
	k.revoke(t, l[0])
	select {
	case <-s.aborted:
	default:
		t.Error("an answer under a child was on its way when the revocation of its parent had returned")
		s.Abort()
	}
	if err := <-read; fault.From(err) == nil {
		t.Errorf("got %v", err)
	}
}

// More above than the rules look at is never lent.
func TestTooManyParents(t *testing.T) {
	k, l := chain(t, 10, 10, 10)
	last := l[2]
	for range 2 {
		last = k.child(t, last, k.quant, 5)
	}
	if _, err := k.readAs(t.Context(), t, last); err == nil {
		t.Error("it was answered")
	}
}

// A part that nobody could use is neither asked for nor issued.
func TestPartsAreNotTooDeep(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	in := k.wish(20)
	in.Sublend = "ask"
	last, err := k.Issue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	who := k.quant
	wish := func(n int) (did.DID, string) {
		next := k.vendor.AddAgent(t, fmt.Sprintf("deep-%d", n), keyring.Borrow)
		return next, k.wantLoan(t, func(r *lending.LoanRequest) {
			r.Borrower, r.Parent, r.For, r.Scope = who, last.ID, next, lending.MustParse("tag:client:acme")
		})
	}
	for n := range lending.MaxParents {
		next, compact := wish(n)
		a := k.mustAsk(t, compact)
		if last, err = k.Issue(t.Context(), IssueInput{Request: a.ID.String(), Sublend: "ask"}); err != nil {
			t.Fatalf("level %d: %v", n+1, err)
		}
		who = next
	}
	if _, err := k.readAs(t.Context(), t, last); err != nil {
		t.Errorf("the deepest is not read: %v", err)
	}
	_, compact := wish(lending.MaxParents)
	_, err = k.Ask(t.Context(), compact)
	refusedWith(t, err, fault.Refused, "parent")
	deep := k.mustKnow(t, last)
	i := issuing{l: k.Lender, parent: deep, place: deep.place}
	refusedWith(t, refusal(i.narrow(t.Context())), fault.Refused, "parent")
}

func (k *kit) mustKnow(t testing.TB, l Loan) *known {
	t.Helper()
	out, err := k.permission(t.Context(), l.ID)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// One that is too deep all the same, as versions before issued it, is revoked as any other and
// keeps no other loan from being listed and swept.
func TestTooManyParentsAreLivedWith(t *testing.T) {
	k, l := chain(t, 10, 10, 10)
	deep := l[2]
	var tooDeep []Loan
	for range 2 {
		deep = k.child(t, deep, k.quant, 5)
		tooDeep = append(tooDeep, deep)
	}
	if all, err := k.Loans(t.Context()); err != nil || len(all) != 5 {
		t.Errorf("listed %d, %v", len(all), err)
	}
	if _, err := k.Revoke(t.Context(), tooDeep[1].ID.String(), "ended", ""); err != nil {
		t.Errorf("not revoked: %v", err)
	}
	k.w.Clock.Add(9000 * time.Hour)
	if err := k.sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if open, err := k.scanIDs(t.Context(), keyOpen, MaxLoans); err != nil || len(open) != 0 {
		t.Errorf("still open: %v, %v", open, err)
	}
}

// A loan that cannot be looked at is told, and keeps no other from its end.
func TestSweepGoesOn(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	k.issue(t, 5)
	for n := range 8 { // before and after it in the order of ids
		if err := k.acme.DB.Update(t.Context(), func(tx store.Tx) error { return tx.Set(idKey(keyOpen, envelope.IDOf([]byte{byte(n)})), nil) }); err != nil {
			t.Fatal(err)
		}
	}
	k.w.Clock.Add(9000 * time.Hour)
	if err := k.sweepLoans(t.Context(), k.w.Clock.Now()); err == nil {
		t.Error("what could not be looked at is not told")
	}
	if open, err := k.scanIDs(t.Context(), keyOpen, MaxLoans); err != nil || len(open) != 8 {
		t.Errorf("still open: %d, %v", len(open), err)
	}
}
