package store_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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
			batch.Entries = append(batch.Entries, taken(f, i))
		}
		if f.must(f.e.Append(b.Context(), batch)); len(list) < 10_000 {
			list = append(list, batch.Entries...)
		}
	}
	return list
}

// BenchmarkFigureRebuild makes the indexes of such a database anew; the floor writes as many keys
// and bytes in transactions of the same size.
func BenchmarkFigureRebuild(b *testing.B) {
	entries, target := 20_000, 1200*time.Millisecond
	if os.Getenv("TRUSTNODE_BENCH_LARGE") != "" {
		entries, target = 1_000_000, time.Minute
	}
	db, err := store.OpenBadger(b.TempDir(), quiet())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	bulk(b, db, entries)
	bare, err := store.OpenBadger(b.TempDir(), quiet())
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	const keys = 4 // id, subject, reference, and one of those that a batch shares
	write := func() error {
		for from := 0; from < entries; from += attestation.MaxBatch {
			err := bare.Update(b.Context(), func(tx store.Tx) error {
				for i := from * keys; i < (from+attestation.MaxBatch)*keys; i++ {
					k := sha256.Sum256(fmt.Append(nil, i))
					if err := tx.Set(k[:24], k[:8]); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	rebuild := func() error {
		return store.Rebuild(b.Context(), db, store.Inspection{Found: func(f store.Fault) { b.Error(f) }})
	}
	got, floor := benchtest.Turns(b, 1, 1, rebuild, write)
	benchtest.Latency(b, fmt.Sprintf("indexes of %d entries rebuilt", entries), got, floor, "batch write", benchtest.Target{P50: target})
}

// BenchmarkFigureDisk is what a log takes on disk, once closed, for each byte of its entries: as
// it comes in batches, and in single appends, of which each overwrites a tile (C-18). A hundred
// thousand appends, and a million entries, are for the long run.
func BenchmarkFigureDisk(b *testing.B) {
	batched, single := 100_000, 10_000
	if os.Getenv("TRUSTNODE_BENCH_LARGE") != "" {
		batched, single = 1_000_000, 100_000
	}
	for _, c := range []struct{ entries, step int }{{batched, attestation.MaxBatch}, {single, 1}} {
		dir := b.TempDir()
		db, err := store.OpenBadger(dir, quiet())
		if err != nil {
			b.Fatal(err)
		}
		f, payload := filler{b, open(b, db)}, 0
		for from := 0; from < c.entries; from += c.step {
			batch := attestation.Batch{Org: org, From: uint64(from)}
			for i := from; i < min(c.entries, from+c.step); i++ {
				batch.Entries = append(batch.Entries, taken(f, i))
				payload += len(batch.Entries[i-from])
			}
			f.must(f.e.Append(b.Context(), batch))
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
		benchtest.Ratio(b, fmt.Sprintf("disk per payload byte, %d entries by %d", c.entries, c.step), float64(onDisk(b, dir)), float64(payload), "bytes of entries", 1.35)
	}
}

// onDisk is what a directory's files take, holes not counted.
func onDisk(b *testing.B, dir string) (n int64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		var st syscall.Stat_t
		if err := syscall.Stat(path, &st); err != nil {
			return err
		}
		n += st.Blocks * 512
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// taken is the i-th of many alike events, of some 600 bytes.
func taken(f filler, i int) attestation.Entry {
	return f.entry(org, i, func(ev *attestation.Event) {
		ev.Type, ev.Subject = "loan.taken", envelope.IDOf(fmt.Append(nil, i/3)).String()
		ev.Refs, ev.Actor = []envelope.ID{envelope.IDOf(fmt.Append(nil, i/3))}, did.MustParse("did:web:acme.example:agents:a")
		var pad []byte // as hashes and signatures are: nothing that compresses
		for k := range byte(6) {
			sum := sha256.Sum256(fmt.Append(nil, i, k))
			pad = append(pad, sum[:]...)
		}
		ev.Data = envelope.Raw(fmt.Sprintf(`{"pad":"%s"}`, base64.RawURLEncoding.EncodeToString(pad[:150])))
	})
}
