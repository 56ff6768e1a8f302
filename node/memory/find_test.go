package memory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

func TestFindFollowsCurrentState(t *testing.T) {
	e, c := newEntries(t)
	a := putTagged(t, e, north, "a", "client:acme")
	c.at = c.at.Add(time.Second)
	b := putTagged(t, e, north, "b", "client:acme")
	putTagged(t, e, north, "c", "client:acme confidential")
	putTagged(t, e, south, "d", "client:acme")
	const scope = "tag:client:acme -tag:confidential age<90d"
	first := find(t, e, north, scope, Query{Count: true}, c.at)
	wantRefs(t, first, b, a)
	if first.Vis != 0 || first.Total != 2 || first.Cursor != "" {
		t.Errorf("additions only: vis %d, total %d, cursor %q", first.Vis, first.Total, first.Cursor)
	}

	changed := tagIt(t, e, north, Change{Add: []string{"confidential"}}, b.ID)
	f := find(t, e, north, scope, Query{}, c.at)
	wantRefs(t, f, a)
	if f.Vis != 1 || vis(t, e, north) != 1 || vis(t, e, south) != 0 {
		t.Errorf("an exclusion leaves vis %d, in the other place %d", f.Vis, vis(t, e, south))
	}
	back := tagIt(t, e, north, Change{Remove: []string{"confidential"}}, b.ID)
	wantRefs(t, find(t, e, north, scope, Query{}, c.at), back[0], a)

	views, err := e.Render(ctx, north, refs(b, changed[0], back[0]))
	if err != nil || len(views) != 3 || string(views[0]) != string(b.View()) || string(views[1]) != string(changed[0].View()) {
		t.Errorf("old revisions: %s, %v", views, err)
	}
	for name, ref := range map[string]lending.Ref{"a later revision": {Entry: b.ID, Rev: 4}, "another entry": {Entry: "e1111111111111111", Rev: 1}} {
		if _, err := e.Render(ctx, north, []lending.Ref{ref}); err != ErrGone {
			t.Errorf("%s: %v, want ErrGone", name, err)
		}
	}
	if _, err := e.Render(ctx, south, refs(b)); err != ErrGone {
		t.Errorf("another place: %v, want ErrGone", err)
	}
}

func TestTimeTakesEntriesOut(t *testing.T) {
	e, c := newEntries(t)
	a := put(t, e, writer(t, north, ByOperator), Draft{Statement: "a", Tags: []string{"x"}, ExpiresAt: testNow.Add(time.Hour)})
	b := putTagged(t, e, north, "b", "x")
	pair := []Entry{a, b}
	slices.SortFunc(pair, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	wantRefs(t, find(t, e, north, "tag:x age<2h", Query{}, testNow.Add(time.Hour-time.Second)), pair...)
	wantRefs(t, find(t, e, north, "tag:x age<2h", Query{}, testNow.Add(time.Hour)), b)
	wantRefs(t, find(t, e, north, "tag:x age<2h", Query{}, testNow.Add(2*time.Hour)), b)
	wantRefs(t, find(t, e, north, "tag:x age<2h", Query{}, testNow.Add(2*time.Hour+time.Second)))
	wantRefs(t, find(t, e, north, "tag:x created<2026-12-02T09:15:30Z", Query{}, testNow))
	wantRefs(t, find(t, e, north, "tag:x created>=2026-12-02T09:15:30Z created<2026-12-02T09:15:31Z", Query{}, testNow), pair...)
	c.at = testNow.Add(time.Minute)
	got := tagIt(t, e, north, Change{Add: []string{"y"}}, b.ID)
	wantRefs(t, find(t, e, north, "tag:x updated>=2026-12-02T09:15:31Z", Query{}, testNow), got...)
}

func TestQuarantineMatchesNothingUntilReleased(t *testing.T) {
	e, _ := newEntries(t)
	a := put(t, e, writer(t, north, ByImport), Draft{Statement: "a", Tags: []string{"x"}})
	wantRefs(t, find(t, e, north, "tag:x", Query{}, testNow))
	tagIt(t, e, north, Change{Add: []string{"y"}}, a.ID)
	wantRefs(t, find(t, e, north, "tag:y", Query{}, testNow))
	if list, err := e.List(ctx, north, Filter{State: Quarantined}); err != nil || len(list) != 1 || list[0].ID != a.ID {
		t.Errorf("quarantined: %v, %v", list, err)
	}
	var seen []Entry
	n, err := e.TagAll(ctx, north, Change{Release: true, Add: []string{"client:acme"}}, func(_ store.Tx, es []Entry) error {
		seen = es
		return nil
	})
	if err != nil || n != 1 || len(seen) != 1 || seen[0].State != Active || seen[0].Rev != 3 || seen[0].Trust != TrustImported {
		t.Errorf("release: %d, %v, %+v", n, err, seen)
	}
	wantRefs(t, find(t, e, north, "tag:client:acme tag:x", Query{}, testNow), seen...)
	if got := vis(t, e, north); got != 0 {
		t.Errorf("vis %d after additions alone", got)
	}
	if n, err := e.TagAll(ctx, north, Change{Release: true, Add: []string{"client:acme"}}, nil); n != 0 || err != nil {
		t.Errorf("a second release changes %d, %v", n, err)
	}
}

func TestTagRefusals(t *testing.T) {
	e, _ := newEntries(t)
	a := putTagged(t, e, north, "a", "x")
	elsewhere := putTagged(t, e, south, "b", "x")
	for _, c := range []struct {
		name string
		id   string
		c    Change
		want error
	}{
		{"nothing to do", a.ID, Change{}, &Invalid{}},
		{"a class removed", a.ID, Change{Remove: []string{"class:internal"}}, &Invalid{}},
		{"two classes added", a.ID, Change{Add: []string{"class:public", "class:personal"}}, &Invalid{}},
		{"added and removed", a.ID, Change{Add: []string{"z"}, Remove: []string{"z"}}, &Invalid{}},
		{"no tag", a.ID, Change{Add: []string{"*active"}}, &Invalid{}},
		{"an absent entry", "e1111111111111111", Change{Add: []string{"z"}}, ErrNotFound},
		{"an entry elsewhere", elsewhere.ID, Change{Add: []string{"z"}}, ErrNotFound},
	} {
		err := e.db.Update(ctx, func(tx store.Tx) error {
			_, err := e.Tag(tx, north, []string{a.ID, c.id}, c.c)
			return err
		})
		if bad := (*Invalid)(nil); !errors.Is(err, c.want) && !(errors.As(err, &bad) && errors.As(c.want, &bad)) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	if got, err := e.Get(ctx, north, a.ID); err != nil || got.Rev != 1 || vis(t, e, north) != 0 {
		t.Errorf("refused changes left a trace: %+v, %v", got, err)
	}
}

func TestCursorsWalkAllPagesAndBelongToOneQuestion(t *testing.T) {
	e, c := newEntries(t)
	var want []Entry
	for i := range 130 {
		c.at = testNow.Add(time.Duration(i/7) * time.Second)
		want = append(want, putTagged(t, e, north, fmt.Sprint(i), "x"))
	}
	slices.SortFunc(want, newestFirst)
	q := Query{Limit: 9, Bind: "loan", Count: true}
	var got []lending.Ref
	var cursor string
	for range 100 {
		f := find(t, e, north, "tag:x", q, c.at)
		if f.Total != 130 {
			t.Fatalf("total %d on a later page", f.Total)
		}
		if got = append(got, f.Refs...); f.Cursor == "" {
			break
		}
		q.Cursor, cursor = f.Cursor, f.Cursor
	}
	if !slices.Equal(got, refs(want...)) {
		t.Errorf("pages give %v, want %v", got, refs(want...))
	}
	for name, ask := range map[string]func() error{
		"another scope": func() error { _, err := e.Find(ctx, north, lending.MustParse("tag:y"), q, c.at); return err },
		"another place": func() error { _, err := e.Find(ctx, south, lending.MustParse("tag:x"), q, c.at); return err },
		"another loan": func() error {
			_, err := e.Find(ctx, north, lending.MustParse("tag:x"), Query{Cursor: cursor, Bind: "b"}, c.at)
			return err
		},
		"cut": func() error {
			_, err := e.Find(ctx, north, lending.MustParse("tag:x"), Query{Cursor: cursor[:8], Bind: "loan"}, c.at)
			return err
		},
	} {
		if err := ask(); err != ErrCursor {
			t.Errorf("cursor with %s: %v, want ErrCursor", name, err)
		}
	}
}

func TestAnAnswerEndsAtItsBytes(t *testing.T) {
	e, _ := newEntries(t)
	for range 5 {
		put(t, e, writer(t, north, ByOperator), Draft{Statement: "a", Tags: []string{"x"}, ContentType: "image/png", Data: make([]byte, MaxData)})
	}
	f := find(t, e, north, "tag:x", Query{Limit: 100}, testNow)
	size := 0
	for _, v := range f.Views {
		size += len(v) + 1
	}
	if len(f.Refs) != 2 || size > lending.MaxEntriesBytes || f.Cursor == "" {
		t.Errorf("%d entries of %d bytes, cursor %q", len(f.Refs), size, f.Cursor)
	}
	rest := find(t, e, north, "tag:x", Query{Limit: 100, Cursor: f.Cursor}, testNow)
	if len(rest.Refs) != 2 || slices.Contains(rest.Refs, f.Refs[1]) {
		t.Errorf("next page %v after %v", rest.Refs, f.Refs)
	}
}

func TestRecallNoticesWhatLeft(t *testing.T) {
	e, _ := newEntries(t)
	a, b := putTagged(t, e, north, "a", "x"), putTagged(t, e, north, "b", "x")
	s := lending.MustParse("tag:x -tag:secret")
	tagIt(t, e, north, Change{Add: []string{"other"}}, a.ID)
	f, err := e.Recall(ctx, north, s, refs(a, b), testNow)
	if err != nil || len(f.Views) != 2 || string(f.Views[0]) != string(a.View()) || f.Vis != 1 {
		t.Errorf("recall: %+v, %v", f, err)
	}
	tagIt(t, e, north, Change{Add: []string{"secret"}}, b.ID)
	if _, err := e.Recall(ctx, north, s, refs(a, b), testNow); err != ErrLeft {
		t.Errorf("after an exclusion: %v, want ErrLeft", err)
	}
	if _, err := e.Recall(ctx, south, s, refs(a), testNow); err != ErrGone {
		t.Errorf("elsewhere: %v, want ErrGone", err)
	}
}

func TestStats(t *testing.T) {
	e, _ := newEntries(t)
	putTagged(t, e, north, "a", "terminal:north class:personal")
	putTagged(t, e, north, "b", "terminal:north")
	putTagged(t, e, north, "c", "terminal:south")
	put(t, e, writer(t, north, ByImport), Draft{Statement: "d", Tags: []string{"terminal:east"}})
	got, err := e.Stats(ctx, north, lending.MustParse("any(terminal:north,terminal:nroth) -tag:zzzzzzzz"), testNow)
	want := fmt.Sprintf("%+v", Stats{Matches: 2, Size: 3, Classes: map[string]int{"personal": 1, "internal": 1},
		Unknown: []string{"terminal:nroth", "zzzzzzzz"}, Nearest: []string{"terminal:north", ""}})
	if err != nil || fmt.Sprintf("%+v", got) != want {
		t.Errorf("got %+v, %v, want %s", got, err, want)
	}
	n := map[string]int{}
	if err := e.Tags(ctx, north, func(tag string, k int) bool { n[tag] = k; return true }); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(n) != "map[class:internal:2 class:personal:1 terminal:north:2 terminal:south:1]" {
		t.Errorf("tags %v", n)
	}
}

func newestFirst(a, b Entry) int {
	if c := b.Created.Compare(a.Created); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// TestFindEqualsNaiveFilter compares with a filter over all entries, after
// random additions and changes, on both stores, and after a restart.
func TestFindEqualsNaiveFilter(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		e, c := newEntries(t)
		compareNaive(t, e, c, func() *Entries { return e })
	})
	t.Run("badger", func(t *testing.T) {
		dir, c := t.TempDir(), &clock{testNow}
		db := badgerDB(t, dir)
		t.Cleanup(func() { db.Close() })
		compareNaive(t, New(db, c.now), c, func() *Entries {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = badgerDB(t, dir)
			return New(db, c.now)
		})
	})
}

func compareNaive(t *testing.T, e *Entries, c *clock, reopen func() *Entries) {
	rng := rand.New(rand.NewPCG(7, 11))
	all := map[string]Entry{}
	places := []Place{north, south, {"main", "nort"}}
	for range 6 {
		for range 60 {
			c.at = c.at.Add(time.Duration(rng.IntN(3)) * time.Second)
			randomStep(t, rng, e, c, all, places[rng.IntN(len(places))])
		}
		for range 60 {
			compareScope(t, rng, e, c.at, all, places[rng.IntN(len(places))])
		}
		e = reopen()
		for range 40 {
			compareScope(t, rng, e, c.at, all, places[rng.IntN(len(places))])
		}
	}
}

func someTags(rng *rand.Rand, n int) (out []string) {
	for range n {
		out = append(out, fmt.Sprintf("t%d", rng.IntN(7)))
	}
	return unique(out)
}

func randomStep(t *testing.T, rng *rand.Rand, e *Entries, c *clock, all map[string]Entry, in Place) {
	t.Helper()
	if rng.IntN(3) > 0 || len(all) == 0 {
		d := Draft{Statement: fmt.Sprint(rng.Uint32()), Tags: someTags(rng, rng.IntN(5))}
		if rng.IntN(4) == 0 {
			d.ExpiresAt = c.at.Add(time.Duration(rng.IntN(200)) * time.Second)
		}
		by := []Surface{ByOperator, ByAgent, ByImport}[rng.IntN(3)]
		n := put(t, e, writer(t, in, by), d)
		all[n.ID] = n
		return
	}
	ids := []string{}
	for id, x := range all {
		if x.Place == in {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	rng.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ch := Change{Add: someTags(rng, 1+rng.IntN(2)), Release: rng.IntN(2) == 0}
	ch.Remove = slices.DeleteFunc(someTags(rng, rng.IntN(3)), func(s string) bool { return slices.Contains(ch.Add, s) })
	for _, x := range tagIt(t, e, in, ch, ids[:min(len(ids), 3)]...) {
		all[x.ID] = x
	}
}

func randomScope(rng *rand.Rand, now time.Time) lending.Scope {
	tw := lending.Twin{All: someTags(rng, rng.IntN(3)), None: someTags(rng, rng.IntN(2))}
	for range rng.IntN(3) {
		if g := someTags(rng, 2+rng.IntN(3)); len(g) > 1 {
			tw.Any = append(tw.Any, g)
		}
	}
	stampAt := func() string { return now.Add(-time.Duration(rng.IntN(400)) * time.Second).Format(timeLayout) }
	if rng.IntN(3) == 0 {
		tw.Created = &lending.TwinSpan{From: stampAt()}
	}
	if rng.IntN(3) == 0 {
		tw.Updated = &lending.TwinSpan{To: stampAt()}
		if tw.Created != nil {
			tw.Created.To = stampAt()
		}
	}
	if rng.IntN(3) == 0 {
		tw.NewerThan = int64(1 + rng.IntN(300))
	}
	s, err := tw.Scope()
	if err != nil {
		return lending.MustParse("tag:t1")
	}
	return s
}

func compareScope(t *testing.T, rng *rand.Rand, e *Entries, now time.Time, all map[string]Entry, in Place) {
	t.Helper()
	s := randomScope(rng, now)
	at := now.Add(time.Duration(rng.IntN(100)) * time.Second)
	var want []Entry
	for _, x := range all {
		live := x.Place == in && x.State == Active && (x.ExpiresAt.IsZero() || at.Before(x.ExpiresAt))
		if live && s.Matches(x.Tags, x.Created, x.Updated, at) {
			want = append(want, x)
		}
	}
	slices.SortFunc(want, newestFirst)
	limit := 1 + rng.IntN(MaxLimit)
	got, err := e.Find(ctx, in, s, Query{Limit: limit, Count: true}, at)
	if err != nil {
		t.Fatal(err)
	}
	if got.Total != len(want) {
		t.Errorf("%s in %s: %d matches, want %d", s, in, got.Total, len(want))
	}
	wantRefs(t, got, want[:min(len(want), limit)]...)
	if (got.Cursor != "") != (len(want) > limit) {
		t.Errorf("%s: cursor %q with %d matches, limit %d", s, got.Cursor, len(want), limit)
	}
	st, err := e.Stats(ctx, in, s, at)
	if err != nil || st.Matches != len(want) {
		t.Errorf("%s: stats count %d, %v, want %d", s, st.Matches, err, len(want))
	}
}
