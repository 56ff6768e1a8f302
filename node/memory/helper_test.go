package memory

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/federation/lending"
	"trustnode/node/store"
)

var (
	ctx     = context.Background()
	testNow = time.Date(2026, 12, 2, 9, 15, 30, 0, time.UTC)
	north   = Place{"main", "north"}
	south   = Place{"main", "south"}
)

// clock is a settable now.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newEntries(t testing.TB) (*Entries, *clock) {
	t.Helper()
	db := store.Memory()
	t.Cleanup(func() { db.Close() })
	c := &clock{testNow}
	return New(db, c.now), c
}

func badgerDB(t testing.TB, dir string) store.DB {
	t.Helper()
	db, err := store.OpenBadger(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func writer(t testing.TB, in Place, by Surface) Writer {
	t.Helper()
	w, err := NewWriter(in, did.MustParse("did:web:harbor.example:agents:berths"), by)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func put(t testing.TB, e *Entries, w Writer, d Draft) Entry {
	t.Helper()
	var out Entry
	err := e.db.Update(ctx, func(tx store.Tx) (err error) {
		out, err = e.Put(tx, w, d)
		return err
	})
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	return out
}

func putTagged(t testing.TB, e *Entries, in Place, statement, tags string) Entry {
	t.Helper()
	return put(t, e, writer(t, in, ByOperator), Draft{Statement: statement, Tags: strings.Fields(tags)})
}

func tagIt(t testing.TB, e *Entries, in Place, c Change, ids ...string) []Entry {
	t.Helper()
	var out []Entry
	err := e.db.Update(ctx, func(tx store.Tx) (err error) {
		out, err = e.Tag(tx, in, ids, c)
		return err
	})
	if err != nil {
		t.Fatalf("Tag: %v", err)
	}
	return out
}

func find(t testing.TB, e *Entries, in Place, scope string, q Query, at time.Time) Found {
	t.Helper()
	f, err := e.Find(ctx, in, lending.MustParse(scope), q, at)
	if err != nil {
		t.Fatalf("Find(%s): %v", scope, err)
	}
	return f
}

func vis(t testing.TB, e *Entries, in Place) (n uint64) {
	t.Helper()
	err := e.db.Update(ctx, func(tx store.Tx) (err error) {
		n, err = e.Vis(tx, in)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func refs(es ...Entry) []lending.Ref {
	var out []lending.Ref
	for _, e := range es {
		out = append(out, e.Ref())
	}
	return out
}

func wantRefs(t testing.TB, got Found, want ...Entry) {
	t.Helper()
	if !slices.Equal(got.Refs, refs(want...)) {
		t.Errorf("found %v, want %v", got.Refs, refs(want...))
	}
	for i, v := range got.Views {
		if string(v) != string(want[i].View()) {
			t.Errorf("view %s, want %s", v, want[i].View())
		}
	}
	if len(got.Views) != len(got.Refs) {
		t.Errorf("%d views of %d refs", len(got.Views), len(got.Refs))
	}
}
