package store_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/attesttest"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// TestPagesOfALongLogMissNothing: a page begins in the middle of what one append posted, or
// far behind it, and all pages together are the log.
func TestPagesOfALongLogMissNothing(t *testing.T) {
	e := open(t, store.Memory())
	from := 0
	for _, n := range []int{attestation.MaxBatch, 1, 3, attestation.MaxBatch, 100, attestation.MaxBatch} {
		b := attestation.Batch{Org: org, From: uint64(from)}
		for i := range n {
			b.Entries = append(b.Entries, attesttest.Entry(t, org, from+i, nil))
		}
		if err := e.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		from += n
	}
	_, ev, err := attesttest.Entry(t, org, 0, nil).Envelope()
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for q := (attestation.Query{Type: ev.Type, Any: true, Limit: 37}); ; {
		p, err := e.Query(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.Found {
			got = append(got, f.Index)
		}
		if q.Cursor = p.Next; q.Cursor == "" {
			break
		}
	}
	if len(got) != from || !slices.IsSorted(got) || len(slices.Compact(got)) != from {
		t.Errorf("%d indexes of %d, in order and each once", len(got), from)
	}
}

// wanting makes a log whose events all count and name a body that is not held.
func wanting(t *testing.T, e *store.Events, of did.DID, n int) {
	t.Helper()
	b := attestation.Batch{Org: of}
	var judged []store.Judgement
	for i := range n {
		id := envelope.IDOf([]byte(of.String() + strconv.Itoa(i)))
		b.Entries = append(b.Entries, attesttest.Entry(t, of, i, func(ev *attestation.Event) { ev.Body = id }))
		judged = append(judged, store.Judgement{Index: uint64(i), Body: id,
			Verdict: attestation.Verdict{Level: attestation.Authored, Standing: attestation.Valid}})
	}
	if err := e.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	if err := e.Settle(context.Background(), of, store.Settled{Judged: judged, Upto: uint64(n)}); err != nil {
		t.Fatal(err)
	}
}

// TestOneLogCannotHideWhatAnotherWants: bodies that nobody will ever give keep neither
// those of another log nor later ones of the same log from being asked for.
func TestOneLogCannotHideWhatAnotherWants(t *testing.T) {
	e := open(t, store.Memory())
	loud, quiet := did.MustParse("did:web:a.example"), did.MustParse("did:web:z.example")
	wanting(t, e, loud, 100)
	wanting(t, e, quiet, 2)
	seen := map[did.DID]map[uint64]bool{loud: {}, quiet: {}}
	for round := range 15 {
		list, err := e.Wanted(context.Background(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != 10 {
			t.Fatalf("round %d: %d bodies, want 10", round, len(list))
		}
		for _, w := range list {
			seen[w.Org][w.Index] = true
		}
		if len(seen[quiet]) != 2 {
			t.Fatalf("round %d: %d bodies of the small log, want both", round, len(seen[quiet]))
		}
	}
	if len(seen[loud]) != 100 {
		t.Errorf("%d of 100 bodies of the large log were ever asked for", len(seen[loud]))
	}
}

func TestLeavesOfRowsAreTheirOwn(t *testing.T) {
	e := open(t, store.Memory())
	b := attestation.Batch{Org: org}
	var want []tlog.Hash
	for i := range 5 {
		r := audit.Row{Kind: "read", Body: []byte(`{"n":` + strconv.Itoa(i) + `}`), Keys: []string{"k"}}
		b.Rows, want = append(b.Rows, r), append(want, audit.Leaf(r.Body))
	}
	if err := e.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ first, size uint64 }{{1, 5}, {2, 3}, {5, 1}, {3, 0}} {
		got, err := e.RowLeaves(context.Background(), c.first, c.size)
		if err != nil || !slices.Equal(got, want[c.first-1:c.first-1+c.size]) {
			t.Errorf("rows %d, %d of them: %v (%v)", c.first, c.size, got, err)
		}
	}
	if got, err := e.RowLeaves(context.Background(), 4, 3); !errors.Is(err, attestation.ErrNotFound) || got != nil {
		t.Errorf("rows that are not held: %v (%v)", got, err)
	}
}
