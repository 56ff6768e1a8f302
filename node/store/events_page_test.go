package store_test

import (
	"cmp"
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

// judge settles verdicts on the first events of a log.
func judge(t *testing.T, e *store.Events, verdicts ...attestation.Verdict) {
	t.Helper()
	var list []store.Judgement
	for i, v := range verdicts {
		list = append(list, store.Judgement{Index: uint64(i), Verdict: v})
	}
	if err := e.Settle(context.Background(), org, store.Settled{Judged: list, Upto: uint64(len(list))}); err != nil {
		t.Fatal(err)
	}
}

func indexes(t *testing.T, e *store.Events, q attestation.Query) (out []uint64, tail string) {
	t.Helper()
	for {
		p, err := e.Query(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.Found {
			out = append(out, f.Index)
		}
		if q.Cursor = p.Next; q.Cursor == "" {
			return out, p.Tail
		}
	}
}

// TestLevelsAndStandingsSelect asks for each, over events of every verdict and two that
// nobody has judged yet.
func TestLevelsAndStandingsSelect(t *testing.T) {
	e := open(t, store.Memory())
	b := attestation.Batch{Org: org}
	for i := range 8 {
		b.Entries = append(b.Entries, attesttest.Entry(t, org, i, nil))
	}
	if err := e.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	logged := func(s attestation.Standing) attestation.Verdict {
		return attestation.Verdict{Level: attestation.Logged, Standing: s, Reason: "form"}
	}
	disputed := attestation.Verdict{Level: attestation.Authored, Standing: attestation.Disputed, Reason: attestation.ReasonTaint}
	judge(t, e, valid, logged(attestation.Void), disputed, logged(attestation.Pending), valid, logged(attestation.Void))
	for _, c := range []struct {
		name string
		q    attestation.Query
		want []uint64
	}{
		{"what counts", attestation.Query{}, []uint64{0, 4}},
		{"all", attestation.Query{Any: true}, []uint64{0, 1, 2, 3, 4, 5, 6, 7}},
		{"all that is authored", attestation.Query{Any: true, Level: attestation.Authored}, []uint64{0, 2, 4}},
		{"valid ones of any level", attestation.Query{Level: attestation.Logged}, []uint64{0, 4}},
		{"void", attestation.Query{Standing: attestation.Void}, []uint64{1, 5}},
		{"void and authored", attestation.Query{Standing: attestation.Void, Level: attestation.Authored}, nil},
		{"disputed", attestation.Query{Standing: attestation.Disputed}, []uint64{2}},
		{"pending, judged so or not judged", attestation.Query{Standing: attestation.Pending}, []uint64{3, 6, 7}},
		{"void of a type", attestation.Query{Standing: attestation.Void, Type: "test.said"}, []uint64{1, 5}},
	} {
		for _, order := range []attestation.Order{attestation.ByLog, attestation.ByIngest} {
			for _, limit := range []int{1, 3, 100} {
				c.q.Order, c.q.Limit = order, limit
				if got, _ := indexes(t, e, c.q); !slices.Equal(got, c.want) {
					t.Errorf("%s, order %s, pages of %d: %v, want %v", c.name, order, limit, got, c.want)
				}
			}
		}
	}
}

// TestATailWaitsForJudgement: what is not judged yet is not passed by a tail of what counts,
// in whatever log it lies.
func TestATailWaitsForJudgement(t *testing.T) {
	e := open(t, store.Memory())
	add := func(d did.DID, from, n int) {
		b := attestation.Batch{Org: d, From: uint64(from)}
		for i := range n {
			b.Entries = append(b.Entries, attesttest.Entry(t, d, from+i, nil))
		}
		if err := e.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	add(org, 0, 3)
	q := attestation.Query{Order: attestation.ByIngest}
	got, tail := indexes(t, e, q)
	if len(got) != 0 {
		t.Fatalf("%v", got)
	}
	add(beta, 0, 1)
	if err := e.Settle(context.Background(), beta, store.Settled{Judged: []store.Judgement{{Verdict: valid}}, Upto: 1}); err != nil {
		t.Fatal(err)
	}
	q.Cursor = tail
	if got, tail = indexes(t, e, q); len(got) != 0 {
		t.Fatalf("an event behind one that waits: %v", got)
	}
	void := attestation.Verdict{Level: attestation.Logged, Standing: attestation.Void, Reason: attestation.ReasonForm}
	judge(t, e, valid, void, valid)
	q.Cursor = tail
	if got, _ = indexes(t, e, q); !slices.Equal(got, []uint64{0, 2, 0}) {
		t.Errorf("%v", got)
	}
}

// TestATailIsToldOfWhatCountsLater: an event that was passed because it did not count is told
// when it does, once; who reads from the beginning finds it once too, in that place.
func TestATailIsToldOfWhatCountsLater(t *testing.T) {
	for _, db := range []store.DB{store.Memory(), onBadger(t)} {
		e := open(t, db)
		b := attestation.Batch{Org: org}
		for i := range 4 {
			b.Entries = append(b.Entries, attesttest.Entry(t, org, i, nil))
		}
		if err := e.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		pending := attestation.Verdict{Level: attestation.Logged, Standing: attestation.Pending, Reason: attestation.ReasonUnknown}
		judge(t, e, valid, pending, pending, valid)
		q := attestation.Query{Order: attestation.ByIngest}
		got, tail := indexes(t, e, q)
		if !slices.Equal(got, []uint64{0, 3}) {
			t.Fatalf("%v", got)
		}
		late := func(i uint64) {
			if err := e.Settle(context.Background(), org, store.Settled{Judged: []store.Judgement{{Index: i, Verdict: valid}}}); err != nil {
				t.Fatal(err)
			}
		}
		late(2)
		q.Cursor = tail
		if got, tail = indexes(t, e, q); !slices.Equal(got, []uint64{2}) {
			t.Fatalf("counts later: %v", got)
		}
		late(1)
		e = open(t, db)
		q.Cursor = tail
		if got, _ = indexes(t, e, q); !slices.Equal(got, []uint64{1}) {
			t.Fatalf("counts last: %v", got)
		}
		for _, limit := range []int{1, 2, 100} {
			if got, _ = indexes(t, e, attestation.Query{Order: attestation.ByIngest, Limit: limit}); !slices.Equal(got, []uint64{0, 3, 2, 1}) {
				t.Errorf("from the beginning: %v", got)
			}
		}
		if got, _ = indexes(t, e, attestation.Query{}); !slices.Equal(got, []uint64{0, 1, 2, 3}) {
			t.Errorf("by log: %v", got)
		}
	}
}

// TestAsManyAsSettleTakesCountLater: what one Settle may hold fits one update.
func TestAsManyAsSettleTakesCountLater(t *testing.T) {
	e := open(t, store.Memory())
	var list []store.Judgement
	from := uint64(0)
	for from < store.MaxSettled {
		b := attestation.Batch{Org: org, From: from}
		for len(b.Entries) < attestation.MaxBatch {
			b.Entries = append(b.Entries, append(attestation.Entry{1}, make([]byte, 65)...))
		}
		if err := e.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		from += attestation.MaxBatch
	}
	for i := range uint64(store.MaxSettled) {
		list = append(list, store.Judgement{Index: i, Body: envelope.IDOf([]byte(strconv.FormatUint(i, 10))),
			Verdict: attestation.Verdict{Level: attestation.Logged, Standing: attestation.Pending, Reason: attestation.ReasonUnknown}})
	}
	for range 2 {
		if err := e.Settle(context.Background(), org, store.Settled{Judged: list, Upto: from}); err != nil {
			t.Fatal(err)
		}
		for i := range list {
			list[i].Verdict = valid
		}
	}
	if got, _ := indexes(t, e, attestation.Query{Order: attestation.ByIngest, Limit: 1000}); uint64(len(got)) != from {
		t.Errorf("%d count of %d", len(got), from)
	}
}

func onBadger(t *testing.T) store.DB {
	db, err := store.OpenBadger(t.TempDir(), quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// TestOnePageLooksAtABoundedNumber: a query that finds nothing in much answers with pages of
// nothing, and still finds the last event.
func TestOnePageLooksAtABoundedNumber(t *testing.T) {
	e := open(t, store.Memory())
	const n = 25_000
	var filler []attestation.Entry
	for i := range attestation.MaxBatch {
		filler = append(filler, attesttest.Entry(t, org, i, nil))
	}
	from := uint64(0)
	for from < n {
		if err := e.Append(context.Background(), attestation.Batch{Org: org, From: from, Entries: filler}); err != nil {
			t.Fatal(err)
		}
		from += uint64(len(filler))
	}
	last := attesttest.Entry(t, org, n, func(ev *attestation.Event) { ev.Type = "last.one" })
	if err := e.Append(context.Background(), attestation.Batch{Org: org, From: from, Entries: []attestation.Entry{last}}); err != nil {
		t.Fatal(err)
	}
	q := attestation.Query{Any: true, Type: "last.one", Order: attestation.ByIngest}
	p, err := e.Query(context.Background(), q)
	if err != nil || len(p.Found) != 0 || p.Next == "" {
		t.Fatalf("first page %+v (%v)", p, err)
	}
	if got, _ := indexes(t, e, q); !slices.Equal(got, []uint64{from}) {
		t.Errorf("%v", got)
	}
}

// FuzzCursor gives a store cursors that others made up: each is refused as what it is, or
// answers with events that the query selects, in order.
func FuzzCursor(f *testing.F) {
	e := open(f, store.Memory())
	for i := range 40 {
		for _, d := range []did.DID{org, beta} {
			if err := e.Append(f.Context(), attestation.Batch{Org: d, From: uint64(i), Entries: []attestation.Entry{attesttest.Entry(f, d, i, nil)}}); err != nil {
				f.Fatal(err)
			}
		}
	}
	for _, order := range []attestation.Order{attestation.ByLog, attestation.ByIngest} {
		q := attestation.Query{Any: true, Limit: 7, Order: order}
		for {
			p, err := e.Query(f.Context(), q)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(p.Next, order == attestation.ByIngest)
			f.Add(p.Tail, order == attestation.ByIngest)
			if q.Cursor = p.Next; q.Cursor == "" {
				break
			}
		}
	}
	f.Add("AgE", true)
	f.Fuzz(func(t *testing.T, text string, ingest bool) {
		q := attestation.Query{Any: true, Cursor: text}
		if ingest {
			q.Order = attestation.ByIngest
		}
		p, err := e.Query(t.Context(), q)
		if err != nil {
			if !errors.Is(err, attestation.ErrCursor) && !errors.Is(err, attestation.ErrCursorAhead) {
				t.Fatal(err)
			}
			return
		}
		if len(p.Found) > 80 || !slices.IsSortedFunc(p.Found, func(a, b attestation.Found) int {
			return cmp.Or(cmp.Compare(a.Org.String(), b.Org.String())*map[bool]int{true: 0, false: 1}[ingest], cmp.Compare(a.Index, b.Index))
		}) {
			t.Fatalf("%d events", len(p.Found))
		}
	})
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
