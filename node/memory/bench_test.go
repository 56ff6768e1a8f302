package memory

import (
	"fmt"
	"os"
	"testing"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/store"
	"trustnode/scripts/benchtest"
)

// fillBench puts n entries into a place, 20 of them with the tag client:acme,
// all with terminal:north, and half of the others excluded.
func fillBench(b *testing.B, e *Entries, c *clock, n int) {
	b.Helper()
	w := writer(b, north, ByOperator)
	every := n / 20
	const batch = 1000
	for from := 0; from < n; from += batch {
		err := e.db.Update(ctx, func(tx store.Tx) error {
			for i := from; i < from+batch; i++ {
				tags := []string{"terminal:north", fmt.Sprintf("berth:%d", i%500)}
				if i%every == 0 {
					tags = append(tags, "client:acme")
				} else if i%2 == 0 {
					tags = append(tags, "customs:hold")
				}
				if _, err := e.Put(tx, w, Draft{Statement: fmt.Sprintf("Berth %d is closed for dredging until 9 December.", i), Tags: tags}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		c.at = c.at.Add(time.Second)
	}
}

// BenchmarkFind evaluates a scope with 20 matches among 10^4 and, with
// TRUSTNODE_BENCH_LARGE set, 10^6 entries on Badger; its floor reads the
// matches by key.
func BenchmarkFind(b *testing.B) {
	sizes := []int{10_000}
	if os.Getenv("TRUSTNODE_BENCH_LARGE") != "" {
		sizes = append(sizes, 1_000_000)
	}
	for _, n := range sizes {
		db := badgerDB(b, b.TempDir())
		defer db.Close()
		c := &clock{testNow}
		e := New(db, c.now)
		fillBench(b, e, c, n)
		first := find(b, e, north, "tag:client:acme", Query{Limit: 20}, c.at)
		b.Run(fmt.Sprintf("floor-render-20/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := e.Render(ctx, north, first.Refs); err != nil {
					b.Fatal(err)
				}
			}
		})
		for name, scope := range map[string]string{
			"rare":      "tag:client:acme -tag:customs:hold age<90d",
			"rare+all":  "tag:client:acme tag:terminal:north -tag:customs:hold",
			"any":       "any(berth:3,client:acme) tag:client:acme",
			"first20":   "tag:terminal:north -tag:customs:hold",
			"any-first": "any(berth:3,berth:4,berth:5) tag:terminal:north",
		} {
			s := lending.MustParse(scope)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					f, err := e.Find(ctx, north, s, Query{Limit: 20}, c.at)
					if err != nil || len(f.Refs) != 20 {
						b.Fatal(len(f.Refs), err)
					}
				}
			})
		}
	}
}

// BenchmarkFigureFind is one scope with 20 matches among 10^4 entries beside reading its
// matches by key, and with TRUSTNODE_BENCH_LARGE set among 10^6 beside 10^4.
func BenchmarkFigureFind(b *testing.B) {
	small := finder(b, 10_000)
	got, floor := benchtest.Turns(b, 2000, 1, small.find, small.read)
	benchtest.Latency(b, "memory: scope, 20 of 10^4 entries", got, floor, "the matches by key", benchtest.Target{P50: 150 * time.Microsecond})
	if os.Getenv("TRUSTNODE_BENCH_LARGE") == "" {
		return
	}
	large := finder(b, 1_000_000)
	got, floor = benchtest.Turns(b, 2000, 1, large.find, small.find)
	benchtest.Latency(b, "memory: scope, 20 of 10^6 entries", got, floor, "the same over 10^4", benchtest.Target{Ratio: 1.5})
}

type found struct{ find, read func() error }

func finder(b *testing.B, n int) found {
	b.Helper()
	db := badgerDB(b, b.TempDir())
	b.Cleanup(func() { db.Close() })
	c := &clock{testNow}
	e := New(db, c.now)
	fillBench(b, e, c, n)
	scope := lending.MustParse("tag:client:acme -tag:customs:hold age<90d")
	look := func() (Found, error) { return e.Find(ctx, north, scope, Query{Limit: 20}, c.at) }
	first, err := look()
	if err != nil || len(first.Refs) != 20 {
		b.Fatal(len(first.Refs), err)
	}
	return found{
		find: func() error { _, err := look(); return err },
		read: func() error { _, err := e.Render(ctx, north, first.Refs); return err },
	}
}
