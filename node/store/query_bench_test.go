package store_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/node/store"
	"trustnode/scripts/benchtest"
)

// hashesInMemory are the stored hashes of a tree, as tlog numbers them.
type hashesInMemory []tlog.Hash

func (h hashesInMemory) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, x := range at {
		out[i] = h[x]
	}
	return out, nil
}

// BenchmarkFigureQuery asks one log on disk for pages of 100 and for inclusion proofs, at
// random places. A million events are for the long run; the figures are of that many.
func BenchmarkFigureQuery(b *testing.B) {
	entries := 50_000
	if os.Getenv("TRUSTNODE_BENCH_LARGE") != "" {
		entries = 1_000_000
	}
	db, err := store.OpenBadger(b.TempDir(), quiet())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	bulk(b, db, entries)
	e := open(b, db)
	if err := e.Settle(b.Context(), org, store.Settled{Upto: uint64(entries)}); err != nil {
		b.Fatal(err)
	}
	l, err := e.Log(b.Context(), org)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	pages(b, db, e, entries, rng)
	proofs(b, l, entries, rng)
}

func pages(b *testing.B, db store.DB, e *store.Events, entries int, rng *rand.Rand) {
	gets := func() error { // entries as they lie, at places near each other
		first := rng.Uint64N(uint64(entries - 100))
		return db.View(b.Context(), func(r store.Reader) error {
			for i := range uint64(100) {
				k := binary.BigEndian.AppendUint64([]byte("en/\x00\x00\x00\x01"), first+i)
				if v, err := r.Get(k); err != nil || len(v) < 100 {
					return fmt.Errorf("%q: %d bytes (%v)", k, len(v), err)
				}
			}
			return nil
		})
	}
	start, err := envelope.ParseTime("2026-12-01T10:00:00Z")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		q    func() attestation.Query
	}{
		{"one type by log", func() attestation.Query { return attestation.Query{Org: org, Type: "loan.taken"} }},
		{"one type in an hour", func() attestation.Query {
			at := start.Add(time.Duration(rng.IntN(entries)) * time.Second)
			return attestation.Query{Type: "loan.", Since: at, Until: at.Add(time.Hour)}
		}},
		{"all by arrival", func() attestation.Query { return attestation.Query{Order: attestation.ByIngest} }},
	} {
		cursors := cursorsOf(b, e, c.q(), entries)
		page := func() error {
			q := c.q()
			if q.Since.IsZero() {
				q.Cursor = cursors[rng.IntN(len(cursors))]
			}
			p, err := e.Query(b.Context(), q)
			if err == nil && len(p.Found) != 100 && q.Since.IsZero() {
				err = fmt.Errorf("%s: %d events", c.name, len(p.Found))
			}
			return err
		}
		got, floor := benchtest.Turns(b, 400, 1, page, gets)
		benchtest.Latency(b, fmt.Sprintf("query page of 100 of %d: %s", entries, c.name), got, floor, "100 point Gets", benchtest.Target{P50: 2 * time.Millisecond, P99: 20 * time.Millisecond})
	}
}

// cursorsOf are cursors all over a query, a page before its end at last.
func cursorsOf(b *testing.B, e *store.Events, q attestation.Query, entries int) (out []string) {
	q.Limit = attestation.MaxPage
	if !q.Since.IsZero() {
		return nil
	}
	for n := 0; n+attestation.MaxPage+100 <= entries; n += attestation.MaxPage {
		p, err := e.Query(b.Context(), q)
		if err != nil {
			b.Fatal(err)
		}
		q.Cursor = p.Next
		out = append(out, p.Next)
	}
	return out
}

func proofs(b *testing.B, l attestation.Log, entries int, rng *rand.Rand) {
	var inMemory hashesInMemory
	err := l.Entries(b.Context(), 0, uint64(entries), func(i uint64, en attestation.Entry) error {
		more, err := tlog.StoredHashesForRecordHash(int64(i), en.Hash(), inMemory)
		inMemory = append(inMemory, more...)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	prove := func(from tlog.HashReader) func() error {
		return func() error {
			p, err := attlog.Include(rng.Uint64N(uint64(entries)), uint64(entries), from)
			if err == nil && len(p) == 0 {
				err = fmt.Errorf("an empty proof")
			}
			return err
		}
	}
	got, floor := benchtest.Turns(b, 2000, 1, prove(l), prove(inMemory))
	benchtest.Latency(b, fmt.Sprintf("inclusion proof at %d", entries), got, floor, "the same from hashes in memory", benchtest.Target{P50: 300 * time.Microsecond, P99: 5 * time.Millisecond})
}
