package client

import (
	"slices"
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/lender"
	"trustnode/node/memory"
	"trustnode/node/store"
)

// learn has the borrowing agent write down what it got under a loan.
func (k *kit) learn(t testing.TB, l lender.Loan, receipt envelope.ID, n int) memory.Place {
	t.Helper()
	in, err := memory.NewPlace("main", "desk")
	if err != nil {
		t.Fatal(err)
	}
	w, err := memory.NewWriter(in, k.quant, memory.ByAgent)
	if err != nil {
		t.Fatal(err)
	}
	err = k.vendor.DB.Update(t.Context(), func(tx store.Tx) error {
		for range n {
			d := memory.Draft{Statement: "learnt", Source: memory.Source{Type: memory.SourceLoan, ID: receipt.String()}, Loan: l.ID.String()}
			if _, err := k.vendor.Entries.Put(tx, w, d); err != nil {
				return err
			}
		}
		_, err := k.vendor.Entries.Put(tx, w, memory.Draft{Statement: "own"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func (k *kit) size(t testing.TB, in memory.Place) int {
	t.Helper()
	n, err := k.vendor.Entries.Size(t.Context(), in, memory.Active)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWhatWasLearntGoesWithItsLoan: entries of source loan stay while their permission
// lives, go when it has ended, and the log says so once.
func TestWhatWasLearntGoesWithItsLoan(t *testing.T) {
	for name, end := range map[string]func(*kit, *testing.T, lender.Loan){
		"revoked": func(k *kit, t *testing.T, l lender.Loan) {
			k.revoke(t, l)
			if _, err := k.Read(t.Context(), k.ask(l.Compact)); err == nil {
				t.Fatal("read after the end")
			}
		},
		"heard to be revoked": func(k *kit, t *testing.T, l lender.Loan) {
			k.revoke(t, l)
			if err := k.acme.Rec.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			k.pull()
			k.mustHear(t)
		},
		"expired": func(k *kit, _ *testing.T, _ lender.Loan) { k.w.Clock.Add(721 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			l := k.issue(t, 5)
			k.pull()
			read := k.mustRead(t, l.Compact)
			in := k.learn(t, l, read.ReceiptID, lending.MaxForgotten+2)
			if err := k.forgetEnded(t.Context()); err != nil || k.size(t, in) != lending.MaxForgotten+3 {
				t.Fatalf("while the loan runs: %d entries, %v", k.size(t, in), err)
			}
			end(k, t, l)
			for range 2 {
				if err := k.forgetEnded(t.Context()); err != nil || k.size(t, in) != 1 {
					t.Fatalf("after its end: %d entries, %v", k.size(t, in), err)
				}
			}
			events := k.events(t, l.ID)
			if n := len(slices.DeleteFunc(slices.Clone(events), func(e string) bool { return e != "loan.deleted" })); n != 1 {
				t.Errorf("loan.deleted %d times among %v", n, events)
			}
			named := 0
			for _, r := range k.rows(t, l.ID) {
				if f, ok := r.(lending.ForgetRow); ok && f.Cause == lending.ForgetLoan && f.Perm == l.ID {
					named += len(f.Entries)
				}
			}
			if named != lending.MaxForgotten+2 {
				t.Errorf("rows name %d entries", named)
			}
		})
	}
}

// What was learnt under a loan of which only the lender's event is here goes at its end, and
// what no loan is known for stays and holds up nothing.
func TestForgottenByTheIssuedEvent(t *testing.T) {
	k := newKit(t)
	l := k.issue(t, 5)
	k.pull()
	k.learn(t, lender.Loan{ID: envelope.IDOf([]byte("nobody's"))}, envelope.IDOf([]byte("r")), 1)
	in := k.learn(t, l, envelope.IDOf([]byte("r")), 2)
	for _, after := range []struct {
		pass time.Duration
		left int
	}{{0, 5}, {721 * time.Hour, 3}} {
		k.w.Clock.Add(after.pass)
		if err := k.forgetEnded(t.Context()); err != nil || k.size(t, in) != after.left {
			t.Errorf("after %s: %d entries, want %d, %v", after.pass, k.size(t, in), after.left, err)
		}
	}
}
