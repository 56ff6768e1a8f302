package memory

import (
	"testing"
	"time"

	"trustnode/did"
	"trustnode/node/store"
)

// asker is an own agent that wrote nothing here.
var asker = did.MustParse("did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK")

func TestNewestPassesTheFilterOfAScope(t *testing.T) {
	e, c := newEntries(t)
	w := writer(t, north, ByOperator)
	c.at = testNow.Add(-time.Hour)
	ended := put(t, e, w, Draft{Statement: "ended", Tags: []string{"x"}, ExpiresAt: testNow.Add(time.Hour)})
	put(t, e, w, Draft{Statement: "personal", Tags: []string{"x", "class:personal"}})
	put(t, e, writer(t, north, ByImport), Draft{Statement: "quarantined", Tags: []string{"x"}})
	putTagged(t, e, south, "elsewhere", "x")
	c.at = testNow
	want := putTagged(t, e, north, "shown", "x")
	newest := func(limit int) Found {
		t.Helper()
		f, err := e.Newest(ctx, north, asker, limit)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := newest(0)
	wantRefs(t, f, want, ended)
	if f.Withheld != 1 || len(f.Views) != 2 || f.Cursor != "" {
		t.Errorf("got %+v", f)
	}
	c.at = testNow.Add(time.Hour)
	wantRefs(t, newest(0), want)
	wantRefs(t, newest(1), want)
	for _, limit := range []int{-1, MaxLimit + 1} {
		if _, err := e.Newest(ctx, north, asker, limit); err == nil {
			t.Errorf("limit %d is taken", limit)
		}
	}
	if _, err := e.Newest(ctx, north, did.DID{}, 1); err == nil {
		t.Error("nobody asks, and is answered")
	}
}

func TestNewestHoldsBackWhatIsDerived(t *testing.T) {
	e, _ := newEntries(t)
	root, _ := family(t, e, maxRaised)
	raised := tagIt(t, e, north, Change{Add: []string{"class:confidential"}}, root.ID)
	f, err := e.Newest(ctx, north, asker, MaxLimit)
	if err != nil {
		t.Fatal(err)
	}
	wantRefs(t, f, raised[0]) // and nothing derived from it with its old class
}

func TestAWalkEndsAtItsMost(t *testing.T) {
	e, _ := newEntries(t)
	for range 5 {
		putTagged(t, e, north, "x", "x")
	}
	err := e.db.View(ctx, func(r store.Reader) error {
		w := walk(ctx, r, north, []string{stateList(Active)}, span{})
		w.most = 3
		n := 0
		for {
			c, err := w.step()
			if err != nil || c == nil {
				if n != 3 {
					t.Errorf("%d steps, want 3", n)
				}
				return err
			}
			n++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
