package store_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"trustnode/attestation"
	"trustnode/node/store"
)

// breaking is a database whose updates fail after some.
type breaking struct {
	store.DB
	left int
}

var errBroke = errors.New("broken by the test")

func (b *breaking) Update(ctx context.Context, fn func(store.Tx) error) error {
	if b.left--; b.left < 0 {
		return errBroke
	}
	return b.DB.Update(ctx, fn)
}

func entriesOf(t *testing.T, e *store.Events) (out []attestation.Entry) {
	t.Helper()
	l, err := e.Log(context.Background(), beta)
	if err != nil {
		t.Fatal(err)
	}
	h, _ := l.Head()
	err = l.Entries(context.Background(), 0, h.Size, func(_ uint64, en attestation.Entry) error {
		out = append(out, en)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestACutLogIsAsItWas: a log that is cut back has its head, entries, tiles, ids, postings,
// notes and times as before the entries came, beside another log that stays; what was taken
// away is the branch, and another can go on. It may break anywhere.
func TestACutLogIsAsItWas(t *testing.T) {
	ctx := context.Background()
	for _, size := range []uint64{0, 41, 256, 257, 599} {
		for _, after := range []int{1 << 30, 0, 1, 3, 5, 8} {
			db := store.Memory()
			defer db.Close()
			e, err := store.OpenEvents(ctx, db)
			if err != nil {
				t.Fatal(err)
			}
			f := filler{t, e}
			f.log(org, 7, 20)
			f.log(beta, 1, int(size))
			if size > 0 {
				f.note(beta, size, "acme")
			}
			was := headOf(t, e, beta)
			f.log(beta, 2, 600)
			f.note(beta, 600, "acme", "gamma")
			all := entriesOf(t, e)
			f.must(e.Settle(ctx, beta, store.Settled{Upto: 600, Judged: []store.Judgement{{Index: 599, Verdict: attestation.Verdict{Standing: attestation.Void, Level: attestation.Logged, Reason: attestation.ReasonKey}}}}))

			broken := &breaking{db, 1 << 30}
			if e, err = store.OpenEvents(ctx, broken); err != nil {
				t.Fatal(err)
			}
			broken.left = after
			if err := e.Cut(ctx, beta, size); err != nil && !errors.Is(err, errBroke) {
				t.Fatal(err)
			}
			if e, err = store.OpenEvents(ctx, db); err != nil {
				t.Fatal(err)
			}
			if after == 0 { // before anything was durable
				f.must(e.Cut(ctx, beta, size))
			}
			if got := headOf(t, e, beta); got != was {
				t.Fatalf("cut to %d, broken after %d: head %+v, was %+v", size, after, got, was)
			}
			if faults := inspect(t, db); len(faults) > 0 {
				t.Fatalf("cut to %d, broken after %d: %q", size, after, faults[:min(3, len(faults))])
			}
			at := size
			f.must(e.BranchEntries(ctx, beta, func(i uint64, en attestation.Entry) error {
				if i != at || !bytes.Equal(en, all[i]) {
					t.Fatalf("entry %d of the branch is another one, or %d", i, at)
				}
				at++
				return nil
			}))
			if at != 600 {
				t.Fatalf("cut to %d: the branch ends at %d", size, at)
			}
			f = filler{t, e}
			f.log(beta, 3, 520+int(size)/4)
			if faults := inspect(t, db); len(faults) > 0 {
				t.Fatalf("cut to %d, gone on: %q", size, faults[:min(3, len(faults))])
			}
		}
	}
}

// watched calls after each update of a database what a test looks at.
type watched struct {
	store.DB
	look func()
}

func (w *watched) Update(ctx context.Context, fn func(store.Tx) error) error {
	err := w.DB.Update(ctx, fn)
	if w.look != nil {
		w.look()
	}
	return err
}

// TestNothingComesToCountInACut: at no step of a cut does a reader see an event count that does
// not.
func TestNothingComesToCountInACut(t *testing.T) {
	ctx := context.Background()
	w := &watched{DB: store.Memory()}
	defer w.Close()
	e := open(t, w)
	f := filler{t, e}
	f.log(beta, 2, 600)
	f.must(e.Settle(ctx, beta, store.Settled{Upto: 600, Judged: []store.Judgement{{Index: 500, Verdict: attestation.Verdict{Standing: attestation.Void, Level: attestation.Logged, Reason: attestation.ReasonKey}}}}))
	steps := 0
	w.look = func() {
		steps++
		if v, err := e.Verdict(ctx, beta, 500); err == nil && v.Counts() {
			t.Errorf("step %d: it is %s, %s", steps, v.Level, v.Standing)
		}
		p, err := e.Query(ctx, attestation.Query{Org: beta, Limit: 1000})
		if err != nil {
			t.Errorf("step %d: %v", steps, err)
		}
		for _, x := range p.Found {
			if x.Index == 500 {
				t.Errorf("step %d: it is found", steps)
			}
		}
	}
	f.must(e.Cut(ctx, beta, 41))
	if w.look = nil; steps < 5 {
		t.Errorf("%d steps", steps)
	}
}

// TestACutKeepsWhatCameToCountLater: who follows the order of arrival is told of an event that
// came to count behind its cursor, whatever log is cut meanwhile and wherever that breaks, or
// that the cursor is of another order.
func TestACutKeepsWhatCameToCountLater(t *testing.T) {
	ctx := context.Background()
	told := 0
	for after := range 40 {
		db := store.Memory()
		defer db.Close()
		e := open(t, db)
		f := filler{t, e}
		f.log(org, 7, 5)
		f.log(beta, 1, 10)
		at := func(s attestation.Standing, why attestation.Reason) {
			f.must(e.Settle(ctx, beta, store.Settled{Upto: 10, Judged: []store.Judgement{{Index: 2, Verdict: attestation.Verdict{Standing: s, Level: attestation.Authored, Reason: why}}}}))
		}
		f.must(e.Settle(ctx, org, store.Settled{Upto: 5}))
		at(attestation.Disputed, attestation.ReasonTaint)
		q := attestation.Query{Order: attestation.ByIngest, Limit: 9}
		p, err := e.Query(ctx, q)
		f.must(err)
		if q.Cursor = p.Next; len(p.Found) != 9 || p.Found[8].Index != 4 {
			t.Fatalf("%d events", len(p.Found))
		}
		at(attestation.Valid, "")

		broken := &breaking{db, 1 << 30}
		e = open(t, broken)
		broken.left = after
		bad := e.Cut(ctx, beta, 6)
		if bad != nil && !errors.Is(bad, errBroke) {
			t.Fatal(bad)
		}
		e = open(t, db)
		if after == 0 { // before anything was durable
			f.must(e.Cut(ctx, beta, 6))
		}
		p, err = e.Query(ctx, q)
		if errors.Is(err, attestation.ErrCursorAhead) {
			continue
		}
		f.must(err)
		var got []uint64
		for _, x := range p.Found {
			got = append(got, x.Index)
		}
		if !slices.Equal(got, []uint64{5, 2}) {
			t.Errorf("broken after %d: %v follow", after, got)
		}
		if faults := inspect(t, db); len(faults) > 0 {
			t.Errorf("broken after %d: %q", after, faults)
		}
		if bad == nil {
			told++
		}
	}
	if told == 0 {
		t.Error("no cut was whole")
	}
}
