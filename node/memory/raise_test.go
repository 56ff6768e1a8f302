package memory

import (
	"errors"
	"slices"
	"testing"

	"trustnode/node/store"
)

// family puts a parent, n children of it and a grandchild of each into north.
func family(t testing.TB, e *Entries, n int) (root Entry, all []string) {
	t.Helper()
	w := writer(t, north, ByOperator)
	root = put(t, e, w, Draft{Statement: "root", Tags: []string{"x"}})
	for i := 0; i < n; {
		err := e.db.Update(ctx, func(tx store.Tx) error {
			for range 300 {
				child, err := e.Put(tx, w, Draft{Statement: "child", Tags: []string{"x"}, DerivedFrom: []string{root.ID}})
				if err != nil {
					return err
				}
				grand, err := e.Put(tx, w, Draft{Statement: "grandchild", Tags: []string{"x"}, DerivedFrom: []string{child.ID}})
				if err != nil {
					return err
				}
				if all = append(all, child.ID, grand.ID); len(all) == 2*n {
					break
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		i = len(all) / 2
	}
	return root, all
}

// TestALargeRaiseHoldsBackWhatIsDerived: more descendants than one transaction
// changes match nothing from the raise on until all carry it, over a restart
// in the middle.
func TestALargeRaiseHoldsBackWhatIsDerived(t *testing.T) {
	e, c := newEntries(t)
	root, all := family(t, e, maxRaised)
	apart := putTagged(t, e, north, "apart", "x")
	before := vis(t, e, north)
	if got := find(t, e, north, "tag:x", Query{Limit: 100}, c.at); got.Cursor == "" {
		t.Fatal("too few to see anything")
	}
	tagIt(t, e, north, Change{Add: []string{"class:personal", "confidential"}, AddSubjects: []string{"s1111111111111111"}}, root.ID)
	if vis(t, e, north) <= before {
		t.Error("vis did not rise")
	}
	kept := []string{root.ID, apart.ID}
	for i := 0; ; i++ {
		e = New(e.db, c.now) // nothing of it lives in memory
		got := find(t, e, north, "tag:x", Query{Limit: 100, Count: true}, c.at)
		if got.Total != len(kept) {
			t.Fatalf("step %d: %d match while the raise is under way, want the root and what is no descendant", i, got.Total)
		}
		if _, err := e.Recall(ctx, north, scopeX, refs(load1(t, e, all[0])), c.at); err != ErrLeft {
			t.Errorf("a replay of what is held back: %v, want ErrLeft", err)
		}
		places, err := e.Held(ctx)
		if err != nil || !slices.Equal(places, []Place{north}) {
			t.Fatalf("held: %v, %v", places, err)
		}
		more := false
		if err := e.db.Update(ctx, func(tx store.Tx) (err error) { more, err = e.settleSome(tx, north); return err }); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			late := put(t, e, writer(t, north, ByOperator), Draft{Statement: "late", Tags: []string{"x"}, DerivedFrom: []string{all[len(all)-1]}})
			all = append(all, late.ID)
		}
		if i == 2 || !more {
			break
		}
	}
	if err := e.Settle(ctx, north); err != nil {
		t.Fatal(err)
	}
	for _, id := range all {
		if got := load1(t, e, id); got.Class() != "personal" || !slices.Contains(got.Tags, "confidential") || len(got.Subjects) != 1 {
			t.Fatalf("%s was left behind: %q %q", id, got.Tags, got.Subjects)
		}
	}
	if places, err := e.Held(ctx); err != nil || len(places) != 0 {
		t.Errorf("still held: %v, %v", places, err)
	}
	if got := find(t, e, north, "tag:x", Query{Count: true}, c.at); got.Total != len(all)+2 {
		t.Errorf("%d match at the end, want %d", got.Total, len(all)+2)
	}
	for k := range dump(t, e.db) {
		if len(k) > 5 && k[:5] == "hold/" {
			t.Errorf("left %q", k)
		}
	}
}

func load1(t testing.TB, e *Entries, id string) Entry {
	t.Helper()
	got, err := e.Get(ctx, north, id)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestWhatCannotCarryASubjectIsQuarantined: a descendant with no room for what
// it has to carry matches nothing, and neither does what is derived from it.
func TestWhatCannotCarryASubjectIsQuarantined(t *testing.T) {
	e, c := newEntries(t)
	w := writer(t, north, ByOperator)
	root := put(t, e, w, Draft{Statement: "root", Tags: []string{"x"}})
	var full []string
	for i := range MaxSubjects {
		full = append(full, "s111111111111111"+string("ABCDEFGHJKLMNPQR"[i]))
	}
	child := put(t, e, w, Draft{Statement: "child", Tags: []string{"x"}, Subjects: full, DerivedFrom: []string{root.ID}})
	put(t, e, w, Draft{Statement: "grandchild", Tags: []string{"x"}, DerivedFrom: []string{child.ID}})
	changed := tagIt(t, e, north, Change{AddSubjects: []string{"s2222222222222222"}}, root.ID)
	if len(changed) != 3 {
		t.Errorf("%d changed, want 3", len(changed))
	}
	wantRefs(t, find(t, e, north, "tag:x", Query{}, c.at), changed[0])
}

func TestWhatIsInheritedStays(t *testing.T) {
	e, _ := newEntries(t)
	w := writer(t, north, ByOperator)
	a := put(t, e, w, Draft{Statement: "a", Tags: []string{"confidential", "class:personal"}, Subjects: []string{"s1111111111111111"}})
	b := put(t, e, w, Draft{Statement: "b", DerivedFrom: []string{a.ID}})
	if b.Class() != "personal" || !slices.Contains(b.Tags, "confidential") || !slices.Equal(b.Subjects, a.Subjects) {
		t.Fatalf("inherited: %+v", b)
	}
	for name, c := range map[string]Change{"the class": {Add: []string{"class:public"}}, "a sticky tag": {Remove: []string{"confidential"}}, "a subject": {RemoveSubjects: a.Subjects}} {
		err := e.db.Update(ctx, func(tx store.Tx) error { _, err := e.Tag(tx, north, []string{b.ID}, c); return err })
		if bad, ok := err.(*Invalid); !ok || bad.Field != "tags" {
			t.Errorf("%s was taken from a child: %v", name, err)
		}
		tagIt(t, e, north, c, a.ID) // the parent may
		if name == "the class" {
			tagIt(t, e, north, Change{Add: []string{"class:personal"}}, a.ID)
		} else {
			tagIt(t, e, north, Change{Add: []string{"confidential"}, AddSubjects: []string{"s1111111111111111"}}, a.ID)
		}
	}
	if err := e.Stick([]string{"class:x"}); err == nil {
		t.Error("a reserved tag is sticky")
	}
}

// TestForgettingAParentLosesNoRaise: a parent that is forgotten while its raise is under way
// has raised all that was derived from it.
func TestForgettingAParentLosesNoRaise(t *testing.T) {
	e, _ := newEntries(t)
	root, all := family(t, e, maxRaised)
	tagIt(t, e, north, Change{Add: []string{"class:personal"}, AddSubjects: []string{"s1111111111111111"}}, root.ID)
	if _, err := e.Forget(ctx, north, Selector{IDs: []string{root.ID}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := e.Settle(ctx, north); err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, id := range all {
		if got := load1(t, e, id); got.Class() != "personal" || len(got.Subjects) != 1 {
			left++
		}
	}
	if left > 0 {
		t.Errorf("%d of %d derived entries never got class and subject", left, len(all))
	}
}

// TestWhatHasNoRoomIsNotReleased: a child in quarantine for want of room for a subject stays
// there while its parent has the subject, and holds back no other that is released with it.
func TestWhatHasNoRoomIsNotReleased(t *testing.T) {
	e, _ := newEntries(t)
	w := writer(t, north, ByOperator)
	root := put(t, e, w, Draft{Statement: "root", Tags: []string{"x"}})
	var full []string
	for i := range MaxSubjects {
		full = append(full, "s111111111111111"+string("ABCDEFGHJKLMNPQR"[i]))
	}
	child := put(t, e, w, Draft{Statement: "child", Tags: []string{"x"}, Subjects: full, DerivedFrom: []string{root.ID}})
	tagIt(t, e, north, Change{AddSubjects: []string{"s2222222222222222"}}, root.ID)
	apart := putTagged(t, e, north, "apart", "x")
	tagIt(t, e, north, Change{Quarantine: true}, apart.ID)
	n, err := e.TagAll(ctx, north, Change{Release: true}, nil)
	var refused *Invalid
	if n != 1 || !errors.As(err, &refused) {
		t.Errorf("%d released, %v", n, err)
	}
	if a, c := load1(t, e, apart.ID).State, load1(t, e, child.ID).State; a != Active || c != Quarantined {
		t.Errorf("apart %v, child %v", a, c)
	}
	tagIt(t, e, north, Change{Release: true, RemoveSubjects: full[:1], AddSubjects: []string{"s2222222222222222"}}, child.ID)
	if got := load1(t, e, child.ID); got.State != Active {
		t.Errorf("with the subject it stays %v", got.State)
	}
}
