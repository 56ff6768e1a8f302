package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

// TestForgettingASubjectLeavesNothing is the report that erasure leaves traces
// (04 section 12): 10,001 entries of one subject, on both stores.
func TestForgettingASubjectLeavesNothing(t *testing.T) {
	for name, db := range map[string]store.DB{"memory": store.Memory(), "badger": badgerDB(t, t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			defer db.Close()
			forgetSubject(t, New(db, (&clock{testNow}).now))
		})
	}
}

func forgetSubject(t *testing.T, e *Entries) {
	const n, subject = 10_001, "s1111111111111111"
	w := writer(t, north, ByOperator)
	kept := put(t, e, w, Draft{Statement: "another person", Tags: []string{"x"}, Subjects: []string{"s2222222222222222"}})
	var ids []string
	for len(ids) < n {
		err := e.db.Update(ctx, func(tx store.Tx) error {
			for range 500 {
				d := Draft{Statement: "the person sailed", Tags: []string{"x", fmt.Sprint("n:", len(ids)%7)}, Subjects: []string{subject}, ExpiresAt: testNow.Add(time.Hour)}
				if len(ids)%3 == 1 {
					d.DerivedFrom, d.Subjects = []string{ids[len(ids)-1]}, nil
				}
				if len(ids)%100 == 99 {
					d.Supersedes = ids[len(ids)-1]
				}
				x, err := e.Put(tx, w, d)
				if err != nil {
					return err
				}
				if ids = append(ids, x.ID); len(ids) == n {
					return nil
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tagIt(t, e, north, Change{Quarantine: true}, ids[:50]...)
	page := find(t, e, north, "tag:x", Query{Limit: 100}, testNow) // is kept in memory
	before, rows := vis(t, e, north), 0
	got, err := e.Forget(ctx, north, Selector{Subject: subject}, func(_ store.Tx, gone []Entry) error { rows += len(gone); return nil })
	if err != nil || got.Erased != n || rows != n || vis(t, e, north) <= before {
		t.Fatalf("erased %d, told %d, %v, vis %d after %d", got.Erased, rows, err, vis(t, e, north), before)
	}
	wantRefs(t, find(t, e, north, "tag:x", Query{Limit: 100}, testNow), kept)
	if _, err := e.Recall(ctx, north, lending.MustParse("tag:x"), page.Refs, testNow); err != ErrGone {
		t.Errorf("a replay of what was forgotten: %v, want ErrGone", err)
	}
	if len(e.hot.byKey) != 1 { // of the search just made
		t.Errorf("%d answers of before are kept in memory", len(e.hot.byKey)-1)
	}
	if _, err := e.Find(ctx, north, lending.MustParse("tag:x"), Query{Limit: 5, Cursor: page.Cursor}, testNow); err != nil {
		t.Errorf("a cursor that names a forgotten entry: %v", err)
	}
	for k, v := range dump(t, e.db) {
		if strings.Contains(k, subject) || strings.Contains(v, subject) || strings.Contains(v, "sailed") ||
			slices.ContainsFunc(ids[:200], func(id string) bool { return strings.Contains(k, id) }) {
			t.Fatalf("a trace under %q", k)
		}
	}
	tags := 0
	if err := e.Tags(ctx, north, func(string, int) bool { tags++; return true }); err != nil || tags != 2 {
		t.Errorf("%d tags are left, %v, want x and a class", tags, err)
	}
	if again, err := e.Forget(ctx, north, Selector{Subject: subject}, nil); err != nil || again.Erased != 0 {
		t.Errorf("once more: %+v, %v", again, err)
	}
}

func TestForgetByIDAndTag(t *testing.T) {
	e, _ := newEntries(t)
	a, b := putTagged(t, e, north, "a", "x y"), putTagged(t, e, north, "b", "x")
	q := put(t, e, writer(t, north, ByImport), Draft{Statement: "q", Tags: []string{"x", "y"}})
	far := putTagged(t, e, south, "far", "x y")
	got, err := e.Forget(ctx, north, Selector{Tags: []string{"x", "y"}}, nil)
	if err != nil || got.Erased != 2 {
		t.Errorf("by tags: %+v, %v", got, err)
	}
	got, err = e.Forget(ctx, north, Selector{IDs: []string{a.ID, b.ID, far.ID}}, nil)
	if err != nil || got.Erased != 1 || !slices.Equal(got.Absent, unique([]string{a.ID, far.ID})) {
		t.Errorf("by id: %+v, %v", got, err)
	}
	for _, id := range []string{a.ID, b.ID, q.ID} {
		if _, err := e.Get(ctx, north, id); err != ErrNotFound {
			t.Errorf("%s is there: %v", id, err)
		}
	}
	if _, err := e.Get(ctx, south, far.ID); err != nil {
		t.Errorf("another place lost %v", err)
	}
	for _, sel := range []Selector{{}, {IDs: []string{"e"}, Subject: "s1111111111111111"}, {Tags: []string{"A"}}, {Subject: "Alice"}} {
		if _, err := e.Forget(ctx, north, sel, nil); !errors.As(err, new(*Invalid)) {
			t.Errorf("selector %+v: %v", sel, err)
		}
	}
	broken := errors.New("the row cannot be written")
	x := putTagged(t, e, north, "kept", "z")
	if _, err := e.Forget(ctx, north, Selector{IDs: []string{x.ID}}, func(store.Tx, []Entry) error { return broken }); err != broken {
		t.Errorf("got %v", err)
	}
	if _, err := e.Get(ctx, north, x.ID); err != nil {
		t.Errorf("forgotten without a row: %v", err)
	}
}

func TestSubjectNames(t *testing.T) {
	e, _ := newEntries(t)
	named := func(tenant, text string) (s Subject) {
		t.Helper()
		if err := e.db.Update(ctx, func(tx store.Tx) (err error) { s, err = e.NameSubject(tx, tenant, text); return err }); err != nil {
			t.Fatal(err)
		}
		return s
	}
	find := func(text string) (s Subject, err error) {
		err = e.db.View(ctx, func(r store.Reader) (err error) { s, err = e.Subject(r, "main", text); return err })
		return s, err
	}
	alice := named("main", "Alice  Zoë ")
	if lending.CheckSubject(alice.Pseudonym) != nil || alice.Name != "Alice Zoë" {
		t.Errorf("named %+v", alice)
	}
	for _, same := range []string{"Alice Zoë", " Alice Zoe\u0308", alice.Pseudonym} {
		if got, err := find(same); err != nil || got != alice {
			t.Errorf("%q: %+v, %v", same, got, err)
		}
	}
	if other := named("other", "Alice Zoë"); other.Pseudonym == alice.Pseudonym {
		t.Error("two tenants share a pseudonym")
	}
	if _, err := find("Bob"); err != ErrNoSubject {
		t.Errorf("an unknown name: %v", err)
	}
	for _, bad := range []string{"", " ", "a\u202eb", strings.Repeat("x", MaxSubjectName+1)} {
		if err := e.db.Update(ctx, func(tx store.Tx) error { _, err := e.NameSubject(tx, "main", bad); return err }); !errors.As(err, new(*Invalid)) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, want := range []bool{true, false} {
		if err := e.db.Update(ctx, func(tx store.Tx) error {
			was, err := e.UnlinkSubject(tx, "main", alice.Pseudonym)
			if was != want {
				t.Errorf("unlinked %v, want %v", was, want)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := find("Alice Zoë"); err != ErrNoSubject {
		t.Errorf("after unlinking: %v", err)
	}
	for k, v := range dump(t, e.db) {
		if !strings.HasPrefix(k, "sub/other/") && strings.Contains(k+v, "Alice") {
			t.Errorf("the name is under %q", k)
		}
	}
}
