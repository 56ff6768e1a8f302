package lender

import (
	"testing"
	"time"

	"trustnode/node/store"
)

// blocks counts the packed blocks of all places.
func (k *kit) blocks(t testing.TB) (n int) {
	t.Helper()
	err := k.acme.DB.View(t.Context(), func(r store.Reader) error {
		n = 0
		return r.Scan([]byte("cold/"), nil, func(_, _ []byte) bool { n++; return true })
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTheSweepPacksWhatNobodyReads: what was left alone for 90 days is packed by the sweep, is
// found, changed, superseded and forgotten as before, and its descendants follow.
func TestTheSweepPacksWhatNobodyReads(t *testing.T) {
	k := memoryKit(t)
	acme := []string{"client:acme"}
	one := k.put(t, AddInput{Statement: "one", Tags: acme})
	child := k.put(t, AddInput{Statement: "of one", Tags: acme, DerivedFrom: []string{one.ID}})
	two := k.put(t, AddInput{Statement: "two", Tags: acme})
	three := k.put(t, AddInput{Statement: "three", Tags: acme})
	if err := k.sweep(t.Context()); err != nil || k.blocks(t) != 0 {
		t.Fatalf("%d blocks of what is new, %v", k.blocks(t), err)
	}
	k.w.Clock.Add(91 * 24 * time.Hour)
	if err := k.sweep(t.Context()); err != nil || k.blocks(t) == 0 {
		t.Fatalf("%d blocks, %v", k.blocks(t), err)
	}
	second := k.acme.AddAgent(t, "second", "lend") // the first has ended meanwhile
	if _, err := k.AddEntry(t.Context(), AddInput{Agent: "second", Project: folio, Statement: "other"}); err != nil {
		t.Fatal(err)
	}
	found := func(want int) {
		t.Helper()
		got, err := k.Search(t.Context(), second, SearchInput{Scope: "tag:client:acme"})
		if err != nil || len(got.Entries)+int(got.Withheld) != want {
			t.Fatalf("%d entries are found, %v, want %d", len(got.Entries), err, want)
		}
	}
	found(4)
	got, err := k.Tag(t.Context(), TagInput{Project: folio, IDs: []string{one.ID}, AddSubjects: []string{"Ada"}})
	if err != nil || got.Changed == 0 {
		t.Fatal(got, err)
	}
	c, err := k.acme.Entries.Get(t.Context(), child.Place, child.ID)
	if err != nil || len(c.Subjects) != 1 {
		t.Errorf("the descendant carries %v, %v", c.Subjects, err)
	}
	if _, err := k.AddEntry(t.Context(), AddInput{Agent: "second", Project: folio, Statement: "two, corrected", Tags: acme, Supersedes: two.ID}); err != nil {
		t.Fatal(err)
	}
	if f, err := k.Forget(t.Context(), ForgetInput{Project: folio, IDs: []string{three.ID}}); err != nil || f.Erased != 1 {
		t.Fatal(f, err)
	}
	k.w.Clock.Add(restEvery)
	if err := k.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	found(3)
	if n := k.blocks(t); n > 1 { // the number of the next block stays
		t.Errorf("%d keys of blocks are left, of which nothing is packed", n)
	}
}
