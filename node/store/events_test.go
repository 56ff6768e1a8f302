package store_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/attesttest"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestEventsInMemory(t *testing.T) {
	attesttest.Run(t, func(t *testing.T) attesttest.Opener {
		db := store.Memory()
		t.Cleanup(func() { db.Close() })
		return func() attestation.Store { return open(t, db) }
	})
}

func TestEventsOnBadger(t *testing.T) {
	attesttest.Run(t, func(t *testing.T) attesttest.Opener {
		dir := t.TempDir()
		var db store.DB
		t.Cleanup(func() { db.Close() })
		return func() attestation.Store {
			if db != nil {
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
			var err error
			if db, err = store.OpenBadger(dir, quiet()); err != nil {
				t.Fatal(err)
			}
			return open(t, db)
		}
	})
}

func open(t testing.TB, db store.DB) *store.Events {
	t.Helper()
	e, err := store.OpenEvents(context.Background(), db)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var org = did.MustParse("did:web:acme.example")

// noteOf returns the text of a note of a size, with lines of witnesses; the
// store looks at no signature.
func noteOf(t *testing.T, size uint64, witnesses ...string) []byte {
	t.Helper()
	sum := envelope.IDOf(fmt.Append(nil, size)).Sum()
	text := fmt.Sprintf("%s/log\n%d\n%s\n\n— %s/log AAAAAAAA\n", org, size, base64.StdEncoding.EncodeToString(sum[:]), org)
	for _, w := range witnesses {
		text += fmt.Sprintf("— did:web:%s.example/witness AAAAAAAA\n", w)
	}
	return []byte(text)
}

func seen(org string, at int64) attestation.Seen {
	return attestation.Seen{Org: did.MustParse("did:web:" + org + ".example"), At: envelope.TimeOf(time.Unix(at, 0))}
}

// TestEarliestCosignatureCounts merges the same cosignatures in random orders
// and asks for each index; the answer is the least time over all larger sizes.
func TestEarliestCosignatureCounts(t *testing.T) {
	type cosig struct {
		size uint64
		at   int64
	}
	list := []cosig{{2, 100}, {4, 90}, {4, 300}, {6, 300}, {7, 200}, {9, 400}, {9, 400}, {10, 500}}
	want := func(index uint64) string {
		best := int64(0)
		for _, c := range list {
			if c.size > index && (best == 0 || c.at < best) {
				best = c.at
			}
		}
		return fmt.Sprint([]attestation.Seen{seen("w", best)})
	}
	for round := range 20 {
		db := store.Memory()
		e := open(t, db)
		for i := range 10 {
			if err := e.Append(context.Background(), attestation.Batch{Org: org, From: uint64(i), Entries: []attestation.Entry{attesttest.Entry(t, org, i, nil)}}); err != nil {
				t.Fatal(err)
			}
		}
		rng := rand.New(rand.NewPCG(uint64(round), 1))
		for _, i := range rng.Perm(len(list)) {
			c := list[i]
			if err := e.PutNote(context.Background(), org, noteOf(t, c.size, "w"), []attestation.Seen{seen("w", c.at)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range []*store.Events{e, open(t, db)} {
			for i := range uint64(10) {
				if got := fmt.Sprint(s.Witnessed(org, i)); got != want(i) {
					t.Fatalf("round %d, index %d: %s, want %s", round, i, got, want(i))
				}
			}
			if got := s.Witnessed(org, 10); len(got) != 0 {
				t.Fatalf("index 10 is covered: %v", got)
			}
		}
	}
}

func TestNotesThatStandOut(t *testing.T) {
	ctx := context.Background()
	db := store.Memory()
	e := open(t, db)
	for i := range 3 {
		b := attestation.Batch{Org: org, From: uint64(i), Entries: []attestation.Entry{attesttest.Entry(t, org, i, nil)}, Note: noteOf(t, uint64(i)+1)}
		if i == 1 {
			b.Note = noteOf(t, 2, "w")
		}
		if err := e.Append(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.PutNote(ctx, org, noteOf(t, 9, "w"), nil); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*store.Events{e, open(t, db)} {
		newest, cosigned, ahead := s.Newest(org)
		if string(newest) != string(noteOf(t, 3)) || string(cosigned) != string(noteOf(t, 2, "w")) || string(ahead) != string(noteOf(t, 9, "w")) {
			t.Errorf("newest %s, cosigned %s, ahead %s", newest, cosigned, ahead)
		}
	}
	if _, err := e.Note(ctx, org, 1); err == nil {
		t.Error("a note without cosignature is kept after a larger one came")
	}
	var sizes int
	if err := e.Notes(ctx, org, 0, 9, func([]byte) bool { sizes++; return true }); err != nil || sizes != 2 {
		t.Errorf("%d cosigned notes (%v), want 2", sizes, err)
	}
}

func TestATreeThatDoesNotReadBackIsCorrupt(t *testing.T) {
	ctx := context.Background()
	for _, k := range []string{"ti/", "he/", "en/"} {
		db := store.Memory()
		e := open(t, db)
		var list []attestation.Entry
		for i := range 10 {
			list = append(list, attesttest.Entry(t, org, i, nil))
		}
		if err := e.Append(ctx, attestation.Batch{Org: org, Entries: list}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.ReadBack(ctx, org); err != nil {
			t.Fatal(err)
		}
		flip(t, db, k)
		_, err := e.ReadBack(ctx, org)
		if tail := e.CheckTail(ctx, org); err == nil && tail == nil {
			t.Errorf("a flipped bit under %s is not noticed", k)
		}
	}
}

// flip changes one bit of the first value under a prefix.
func flip(t *testing.T, db store.DB, prefix string) {
	t.Helper()
	var key, val []byte
	err := db.View(context.Background(), func(r store.Reader) error {
		return r.Scan([]byte(prefix), nil, func(k, v []byte) bool {
			key, val = append([]byte(nil), k...), append([]byte(nil), v...)
			return false
		})
	})
	if err != nil || key == nil {
		t.Fatalf("nothing under %s (%v)", prefix, err)
	}
	val[len(val)-1] ^= 1
	if err := db.Update(context.Background(), func(tx store.Tx) error { return tx.Set(key, val) }); err != nil {
		t.Fatal(err)
	}
}
