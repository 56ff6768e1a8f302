package lender

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// count returns how many events of a type a node holds about a subject.
func (k *kit) events(t testing.TB, l Loan, want attestation.Type) (out []attestation.Fact) {
	t.Helper()
	if err := k.acme.Rec.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for f, err := range k.acme.Rec.Facts(t.Context(), attestation.Query{Subject: l.ID.String(), Type: want}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

func (k *kit) mustSweep(t testing.TB) {
	t.Helper()
	if err := k.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Whatever ends a loan, it ends once.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   func(t *testing.T, k *kit, l Loan)
		cause string
	}{
		{"its time", func(t *testing.T, k *kit, l Loan) { k.w.Clock.Add(720 * time.Hour) }, "expired"},
		{"its last read", func(t *testing.T, k *kit, l Loan) { k.mustRead(t, k.request(t, l)) }, "exhausted"},
		{"its revocation", func(t *testing.T, k *kit, l Loan) { k.revoke(t, l) }, "revoked"},
		{"a revocation and a crash before the end was said", func(t *testing.T, k *kit, l Loan) {
			known, err := k.permission(t.Context(), l.ID)
			if err != nil {
				t.Fatal(err)
			}
			v, err := k.revocation(t.Context(), known, "ended", k.acme.Must(t))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.commitRevocation(t.Context(), known, v, ""); err != nil {
				t.Fatal(err)
			}
			k.Lender = New(k.acme.Node, k.cfg)
		}, "revoked"},
		{"its last read, and then a revocation", func(t *testing.T, k *kit, l Loan) {
			k.mustRead(t, k.request(t, l))
			k.mustSweep(t)
			k.revoke(t, l)
		}, "exhausted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := memoryKit(t)
			k.add(t, "One.", "client:acme")
			loan := k.issue(t, 1)
			k.mustSweep(t)
			if got := k.events(t, loan, "loan.ended"); len(got) != 0 {
				t.Fatalf("an open loan has ended: %v", got)
			}
			c.end(t, k, loan)
			for range 3 {
				k.mustSweep(t)
			}
			got := k.events(t, loan, "loan.ended")
			var d attestation.LoanEnded
			if len(got) != 1 || got[0].Event.Body().Decode(&d) != nil || d.Cause != c.cause || got[0].Event.Body().Refs[0] != loan.Issued {
				t.Errorf("got %d events, %+v; want one with cause %s", len(got), d, c.cause)
			}
		})
	}
}

// The first denied act is told at once, those after it once an hour, each act once.
func TestViolations(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 10)
	k.revoke(t, loan)
	requests := map[string]bool{}
	deny := func() {
		t.Helper()
		rq := k.request(t, loan)
		for range 3 { // the same bytes are one act
			_, _, err := k.read(t.Context(), rq)
			refusedWith(t, err, fault.Revoked, "misuse")
		}
		e, err := envelope.ParseCompact(rq, lending.ReadRequestType, lending.MaxRequest)
		if err != nil {
			t.Fatal(err)
		}
		requests[e.ID().String()] = true
	}
	numbers := func() (out []uint64) {
		t.Helper()
		for _, f := range k.events(t, loan, "loan.violation") {
			var d attestation.LoanViolation
			var b violationBody
			if err := errors.Join(f.Event.Body().Decode(&d), envelope.Unmarshal(f.Body, &b)); err != nil {
				t.Fatal(err)
			}
			if d.Class != "read_after_end" || d.Borrower != k.quant || d.Number != uint64(len(b.Requests)) {
				t.Errorf("got %+v over %v", d, b.Requests)
			}
			for _, id := range b.Requests {
				if !requests[id.String()] {
					t.Errorf("request %s is told twice, or none of ours", id)
				}
				delete(requests, id.String())
				if o, err := k.acme.Lib.Get(t.Context(), id); err != nil || o.What != "readrequest" {
					t.Errorf("request %s is not kept: %v", id, err)
				}
			}
			out = append(out, d.Number)
		}
		return out
	}
	deny()
	deny()
	deny()
	k.mustSweep(t)
	if got := numbers(); !slices.Equal(got, []uint64{1}) {
		t.Fatalf("events count %v, want 1", got)
	}
	k.w.Clock.Add(time.Hour)
	k.mustSweep(t)
	k.mustSweep(t)
	if got := k.events(t, loan, "loan.violation"); len(got) != 2 {
		t.Fatalf("%d events after an hour, want 2", len(got))
	}
	for range maxRequests + 20 {
		deny()
	}
	k.w.Clock.Add(time.Hour)
	k.mustSweep(t)
	got := k.events(t, loan, "loan.violation")
	var d attestation.LoanViolation
	if len(got) != 3 || got[2].Event.Body().Decode(&d) != nil || d.Number != maxRequests {
		t.Errorf("%d events, the last %+v; want 3, the last over %d", len(got), d, maxRequests)
	}
}

// Other classes count apart, and what is no violation is none.
func TestViolationClasses(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 1)
	k.read(t.Context(), k.request(t, loan, func(rq *lending.ReadRequest) { rq.Filter = lending.MustParse("tag:confidential") }))
	k.read(t.Context(), k.request(t, loan, func(rq *lending.ReadRequest) { rq.Purpose = "" }))
	k.mustRead(t, k.request(t, loan))
	k.read(t.Context(), k.request(t, loan))
	var got []string
	for _, f := range k.events(t, loan, "loan.violation") {
		var d attestation.LoanViolation
		if err := f.Event.Body().Decode(&d); err != nil {
			t.Fatal(err)
		}
		got = append(got, d.Class)
	}
	wantTexts(t, "classes", got, "outside_scope", "over_count")
}

// Nonces are forgotten in their time and not before.
func TestNonceSweep(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 1000)
	for range sweepBatch + 10 {
		k.mustRead(t, k.request(t, loan))
	}
	left := func() (n int) {
		if err := k.acme.DB.View(t.Context(), func(r store.Reader) error {
			return r.Scan([]byte(keyNonce), nil, func(_, _ []byte) bool { n++; return true })
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	k.w.Clock.Add(119 * time.Second)
	k.mustSweep(t)
	if n := left(); n != sweepBatch+10 {
		t.Errorf("%d nonces a second before their time, want all %d", n, sweepBatch+10)
	}
	k.w.Clock.Add(time.Second)
	k.mustSweep(t)
	if n := left(); n != 0 {
		t.Errorf("%d nonces are left", n)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	k := memoryKit(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := k.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
