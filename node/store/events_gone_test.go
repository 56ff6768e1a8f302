package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// shown is a row with its proof as it was given out while its bytes were here.
type shown struct {
	id    envelope.ID
	proof audit.RowProof
	cover attestation.Cover
	root  envelope.ID
}

// keeper is a log with rows whose proofs were given out before any of them went.
type keeper struct {
	filler
	db    store.DB
	shown []shown
	gone  map[envelope.ID]bool
	heads []attestation.Head
	ids   []envelope.ID            // of all entries
	at    map[uint64]envelope.Time // of a cover, by its first row
}

// newKeeper has rows of some days, each day's under one cover.
func newKeeper(t testing.TB, days ...int) *keeper {
	db := store.Memory()
	t.Cleanup(func() { db.Close() })
	k := &keeper{filler: filler{t, open(t, db)}, db: db, gone: map[envelope.ID]bool{}, at: map[uint64]envelope.Time{}}
	first := 1
	for i, n := range days {
		k.rowsAt(first, n, day(i))
		k.at[uint64(first)] = timeOf(t, day(i))
		k.log(org, i, int(k.size(org))+5)
		first += n
	}
	k.remember()
	return k
}

func day(i int) string { return fmt.Sprintf("2026-12-%02dT10:00:00Z", i+1) }

// remember keeps what must never change from here on.
func (k *keeper) remember() {
	ctx := context.Background()
	l, err := k.e.Log(ctx, org)
	k.must(err)
	h, _ := l.Head()
	k.heads = append(k.heads, h)
	k.ids = nil
	k.must(l.Entries(ctx, 0, h.Size, func(_ uint64, en attestation.Entry) error { k.ids = append(k.ids, en.ID()); return nil }))
	k.must(k.e.Rows(ctx, audit.Filter{After: uint64(len(k.shown))}, func(_ uint64, r audit.Row) error {
		p, c, err := k.e.ProveRow(ctx, audit.ID(r))
		if err != nil {
			return err
		}
		k.shown = append(k.shown, shown{audit.ID(r), p, c, k.rootOf(c.Index)})
		return nil
	}))
}

func (k *keeper) rootOf(index uint64) (root envelope.ID) {
	l, err := k.e.Log(context.Background(), org)
	k.must(err)
	k.must(l.Entries(context.Background(), index, index+1, func(_ uint64, en attestation.Entry) error {
		_, ev, err := en.Envelope()
		var d attestation.AuditRows
		k.must(errors.Join(err, ev.Decode(&d)))
		root = d.Root
		return nil
	}))
	return root
}

// check compares everything with what was remembered.
func (k *keeper) check() error {
	ctx := context.Background()
	for _, s := range k.shown {
		if err := s.proof.Check(s.root); err != nil {
			return fmt.Errorf("the proof that was given out: %w", err)
		}
		p, c, err := k.e.ProveRow(ctx, s.id)
		var gone *audit.Gone
		if k.gone[s.id] {
			if !errors.As(err, &gone) || !errors.Is(err, attestation.ErrNotFound) || gone.ID != s.id || gone.Proof.Row != nil {
				return fmt.Errorf("row %s is gone: %v", s.id, err)
			}
			p = gone.Proof
			p.Row = s.proof.Row
		} else if err != nil {
			return fmt.Errorf("row %s is here: %w", s.id, err)
		}
		if !reflect.DeepEqual(p, s.proof) || c != s.cover || p.Check(k.rootOf(c.Index)) != nil {
			return fmt.Errorf("row %s has another proof", s.id)
		}
	}
	return k.checkLog()
}

func (k *keeper) checkLog() error {
	ctx := context.Background()
	l, err := k.e.Log(ctx, org)
	if err != nil {
		return err
	}
	for _, h := range k.heads {
		if at, err := attlog.RootAt(h.Size, l); err != nil || at != h {
			return fmt.Errorf("root at %d: %v, %v", h.Size, at, err)
		}
	}
	return l.Entries(ctx, 0, uint64(len(k.ids)), func(i uint64, en attestation.Entry) error {
		if en.ID() != k.ids[i] {
			return fmt.Errorf("entry %d is another", i)
		}
		return nil
	})
}

func (k *keeper) eraseRow(s shown) {
	k.erase(attestation.Erasure{Row: s.cover.First + s.proof.Index, Index: s.cover.Index})
	k.gone[s.id] = true
}

// age ages all rows under covers before a day, but those one of whose keys is cited.
func (k *keeper) age(before string, cited string) {
	at, err := envelope.ParseTime(before)
	k.must(err)
	keep := func(r audit.Row) bool { return r.Keys[1] == cited }
	for from := uint64(0); ; {
		a, err := k.e.AgeRows(context.Background(), org, from, at, keep)
		k.must(err)
		if from = a.Next; from == 0 {
			break
		}
	}
	for _, s := range k.shown {
		n := s.cover.First + s.proof.Index
		if k.at[s.cover.First].Before(at) && fmt.Sprint("k", (n-s.cover.First)%2) != cited {
			k.gone[s.id] = true
		}
	}
}

// TestAgeingAndErasingChangeNoRootIndexOrProof (I-18): in any order of erasing, ageing,
// appending, opening again and rebuilding, every root, index, id and proof stays what it
// was, rows that are gone are so everywhere, and an inspection finds nothing.
func TestAgeingAndErasingChangeNoRootIndexOrProof(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newKeeper(t, 1, 4, 11, 2)
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0:
				k.eraseRow(rapid.SampledFrom(k.shown).Draw(rt, "row"))
			case 1:
				k.age(day(rapid.IntRange(0, 5).Draw(rt, "before")), rapid.SampledFrom([]string{"", "k0", "k1"}).Draw(rt, "cited"))
			case 2:
				k.log(org, 9, int(k.size(org))+3)
			case 3:
				k.e = open(t, k.db)
			case 4:
				before, values := pairs(t, k.db)
				if err := store.Rebuild(context.Background(), k.db, store.Inspection{}); err != nil {
					rt.Fatal(err)
				}
				if after, now := pairs(t, k.db); !reflect.DeepEqual(rowRows(before, values), rowRows(after, now)) {
					rt.Fatal("a rebuild gives other indexes of rows")
				}
				k.e = open(t, k.db)
			}
			if err := k.check(); err != nil {
				rt.Fatal(err)
			}
			if got := inspect(t, k.db); len(got) > 0 {
				rt.Fatalf("%q", got)
			}
		}
		for _, s := range k.shown {
			if k.gone[s.id] != !holds(t, k.db, s.proof.Row) {
				rt.Fatalf("row %s: gone %v, its bytes are kept otherwise", s.id, k.gone[s.id])
			}
		}
	})
}

// rowRows are the rows of the database that are about audit rows.
func rowRows(keys []string, values map[string][]byte) map[string]string {
	out := map[string]string{}
	for _, k := range keys {
		if strings.HasPrefix(k, "r") {
			out[k] = string(values[k])
		}
	}
	return out
}

// holds reports whether bytes stand anywhere in a database.
func holds(t testing.TB, db store.DB, b []byte) bool {
	_, values := pairs(t, db)
	for k, v := range values {
		if bytes.Contains(v, b) || strings.Contains(k, string(b)) {
			return true
		}
	}
	return false
}

// TestAnAgedRowHasNothingToBeFoundBy: no key finds it, and one whose case is open stays and
// goes at a later pass.
func TestAnAgedRowHasNothingToBeFoundBy(t *testing.T) {
	k := newKeeper(t, 1, 4, 300, 7)
	count := func(key string) (n int) {
		k.must(k.e.Rows(context.Background(), audit.Filter{Key: key}, func(uint64, audit.Row) error { n++; return nil }))
		return n
	}
	all, odd := count("perm"), count("k1")
	k.age(day(9), "k1")
	if got := [3]int{count("perm"), count("k0"), count("k1")}; got != [3]int{odd, 0, odd} || all != 312 {
		t.Errorf("%v rows are found of %d", got, all)
	}
	k.age(day(9), "")
	if got := count(""); got != 0 {
		t.Errorf("%d rows are left", got)
	}
	if err := k.check(); err != nil {
		t.Error(err)
	}
	k.rowsAt(313, 2, day(20))
	if a, err := k.e.AgeRows(context.Background(), org, 0, timeOf(t, day(20)), func(audit.Row) bool { return false }); err != nil || a != (store.Aged{}) {
		t.Errorf("a row of the very moment is old: %+v (%v)", a, err)
	}
}

func timeOf(t testing.TB, s string) envelope.Time {
	at, err := envelope.ParseTime(s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestAnErasedBodyNeverComesBack: it is not taken from a peer again, not asked for, and not
// missed, whoever names it again.
func TestAnErasedBodyNeverComesBack(t *testing.T) {
	db := store.Memory()
	defer db.Close()
	ctx := context.Background()
	f := filler{t, open(t, db)}
	body := []byte(`{"held":1}`)
	f.log(org, 3, 20)
	f.log(beta, 3, 20)
	names := store.Settled{Upto: 20, Judged: []store.Judgement{{Index: 6, Verdict: valid, Body: envelope.IDOf(body)}}}
	f.must(f.e.Settle(ctx, org, names))
	f.must(f.e.Settle(ctx, beta, store.Settled{Upto: 6}))
	if list, err := f.e.Wanted(ctx, 10); err != nil || len(list) != 1 {
		t.Fatalf("wanted: %v (%v)", list, err)
	}
	f.must(f.e.NoteErasures(ctx, org, []store.Due{{Org: org, Index: 6, At: 1}}, 20))
	f.must(f.e.EraseBody(ctx, store.Due{Org: org, Index: 6}, envelope.IDOf(body), true))
	f.must(f.e.Settle(ctx, beta, names))
	f.must(f.e.NoteErasures(ctx, beta, []store.Due{{Org: beta, Index: 6, At: 1}}, 20))
	f.must(f.e.EraseBody(ctx, store.Due{Org: beta, Index: 6}, envelope.IDOf(body), false))
	gamma := did.MustParse("did:web:gamma.example")
	f.log(gamma, 3, 20)
	f.must(f.e.Settle(ctx, gamma, names))
	if _, err := f.e.PutBody(ctx, body); !errors.Is(err, attestation.ErrErased) {
		t.Errorf("taken again: %v", err)
	}
	if list, err := f.e.Wanted(ctx, 10); err != nil || len(list) != 0 {
		t.Errorf("wanted: %v (%v)", list, err)
	}
	if holds(t, db, body) {
		t.Error("its bytes are kept")
	}
	if _, err := f.e.Body(ctx, envelope.IDOf(body)); !errors.Is(err, attestation.ErrNotFound) {
		t.Error(err)
	}
	missing(t, db)
}

// missing fails where fsck misses a body.
func missing(t testing.TB, db store.DB) {
	t.Helper()
	var out []string
	_, err := store.InspectAudit(context.Background(), db, store.Inspection{Own: org, Found: func(x store.Fault) { out = append(out, x.String()) }})
	for _, fault := range out {
		if strings.Contains(fault, "/6:") {
			t.Errorf("missed: %q (%v)", fault, err)
		}
	}
}

// TestAnErasureOfAnothersBodyIsLiftedByWhoseItIs: the body that one organization named and
// erased is asked for and taken once an event of another counts that names it and is not
// erased; and what a log that came meanwhile names is not erased at all.
func TestAnErasureOfAnothersBodyIsLiftedByWhoseItIs(t *testing.T) {
	db := store.Memory()
	defer db.Close()
	ctx := context.Background()
	f := filler{t, open(t, db)}
	body := []byte(`{"held":1}`)
	names := store.Settled{Upto: 20, Judged: []store.Judgement{{Index: 6, Verdict: valid, Body: envelope.IDOf(body)}}}
	erased := store.Due{Org: beta, Index: 6, At: 1}
	f.log(beta, 3, 20)
	f.must(f.e.Settle(ctx, beta, names))
	f.must(f.e.NoteErasures(ctx, beta, []store.Due{erased}, 20))
	f.must(f.e.EraseBody(ctx, erased, envelope.IDOf(body), false))
	f.must(f.e.Settle(ctx, beta, names)) // judged again, of what is erased
	if list, err := f.e.Wanted(ctx, 10); err != nil || len(list) != 0 {
		t.Fatalf("wanted: %v (%v)", list, err)
	}
	gamma := did.MustParse("did:web:gamma.example")
	f.log(gamma, 3, 20)
	f.must(f.e.Settle(ctx, gamma, store.Settled{Upto: 6}))
	if _, err := f.e.PutBody(ctx, body); !errors.Is(err, attestation.ErrErased) {
		t.Errorf("taken while nothing that counts names it: %v", err)
	}
	f.must(f.e.Settle(ctx, gamma, names))
	if list, err := f.e.Wanted(ctx, 10); err != nil || len(list) != 1 || list[0].Org != gamma {
		t.Errorf("wanted: %v (%v)", list, err)
	}
	missing(t, db)
	if _, err := f.e.PutBody(ctx, body); err != nil {
		t.Error(err)
	}
	if err := f.e.EraseBody(ctx, erased, envelope.IDOf(body), false); !errors.Is(err, attestation.ErrConflict) || !holds(t, db, body) {
		t.Errorf("erased from under another: %v", err)
	}
	f.must(f.e.NoteErasures(ctx, gamma, []store.Due{{Org: gamma, Index: 6, At: 1}}, 20))
	f.must(f.e.EraseBody(ctx, store.Due{Org: gamma, Index: 6, At: 1}, envelope.IDOf(body), false))
	if holds(t, db, body) {
		t.Error("its bytes are kept")
	}
	if list, err := f.e.Wanted(ctx, 10); err != nil || len(list) != 0 {
		t.Errorf("wanted: %v (%v)", list, err)
	}
}
