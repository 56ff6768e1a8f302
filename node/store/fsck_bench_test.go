package store_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
	"trustnode/scripts/benchtest"
)

// BenchmarkFigureFsck opens and verifies an audit database on disk that holds one log; the floor is
// SHA-256 over the bytes of its entries. A million entries are for the long run.
func BenchmarkFigureFsck(b *testing.B) {
	entries, target := 50_000, 500*time.Millisecond
	if os.Getenv("TRUSTNODE_BENCH_LARGE") != "" {
		entries, target = 1_000_000, 10*time.Second
	}
	dir := b.TempDir()
	db, err := store.OpenBadger(dir, quiet())
	if err != nil {
		b.Fatal(err)
	}
	list := bulk(b, db, entries)
	reopen := func() error { // what is verified comes from the files
		if err := db.Close(); err != nil {
			return err
		}
		db, err = store.OpenBadger(dir, quiet())
		return err
	}
	fsck := func() error {
		n, err := store.InspectAudit(b.Context(), db, store.Inspection{Found: func(f store.Fault) { b.Error(f) }})
		if err == nil && n.Entries != uint64(entries) {
			err = fmt.Errorf("%d entries were looked at", n.Entries)
		}
		return err
	}
	hash := func() error {
		for i := range entries {
			sha256.Sum256(list[i%len(list)])
		}
		return nil
	}
	got, floor := benchtest.Turns(b, 3, 1, reopen, hash)
	defer func() { db.Close() }()
	benchtest.Latency(b, fmt.Sprintf("close and open of %d entries, all tables verified", entries), got, floor, "SHA-256 of the bytes", benchtest.Target{})
	got, floor = benchtest.Turns(b, 3, 1, fsck, hash)
	benchtest.Latency(b, fmt.Sprintf("fsck of %d entries", entries), got, floor, "SHA-256 of the bytes", benchtest.Target{P50: target})
}

// bulk fills a log as peers' events come: 256 to an append. It returns some of them.
func bulk(b *testing.B, db store.DB, entries int) (list []attestation.Entry) {
	b.Helper()
	f := filler{b, open(b, db)}
	for from := 0; from < entries; from += attestation.MaxBatch {
		batch := attestation.Batch{Org: org, From: uint64(from)}
		for i := from; i < min(entries, from+attestation.MaxBatch); i++ {
			batch.Entries = append(batch.Entries, f.entry(org, i, func(ev *attestation.Event) {
				ev.Type, ev.Subject = "loan.taken", envelope.IDOf(fmt.Append(nil, i/3)).String()
				ev.Refs, ev.Actor = []envelope.ID{envelope.IDOf(fmt.Append(nil, i/3))}, did.MustParse("did:web:acme.example:agents:a")
				ev.At = ev.At.Add(time.Duration(i) * time.Second)
				ev.Data = envelope.Raw(fmt.Sprintf(`{"pad":"%0200d"}`, i))
			}))
		}
		if f.must(f.e.Append(b.Context(), batch)); len(list) < 10_000 {
			list = append(list, batch.Entries...)
		}
	}
	return list
}
