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

// A read counts in its loan and in each above; what is left is the least of them.
func TestParentsAreCounted(t *testing.T) {
	k, l := chain(t, 4, 3, 10)
	for i, want := range []struct {
		loan      Loan
		seq, left uint64
	}{{l[2], 1, 2}, {l[0], 2, 2}, {l[2], 2, 1}, {l[1], 3, 0}} {
		r, err := k.readAs(t.Context(), t, want.loan)
		if err != nil || r.Seq != want.seq || r.Left != want.left {
			t.Fatalf("read %d: seq %d, left %d, %v; want %d, %d", i, r.Seq, r.Left, err, want.seq, want.left)
		}
	}
	for i, loan := range l {
		_, err := k.readAs(t.Context(), t, loan)
		refusedWith(t, err, fault.Exhausted, "")
		now, err := k.Loan(t.Context(), loan.ID.String())
		if want := []uint64{4, 3, 2}[i]; err != nil || now.Reads != want {
			t.Errorf("loan %d: %d reads, %v, want %d", i, now.Reads, err, want)
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
