package store_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/node/store"
	"trustnode/scripts/benchtest"
)

func benchDB(b *testing.B) store.DB {
	db, err := openBadger(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}

func small(n uint64) func(store.Tx) error {
	return func(tx store.Tx) error {
		key := binary.BigEndian.AppendUint64([]byte("row/"), n)
		if _, err := tx.Get(key); err == nil {
			return store.ErrTooLarge
		}
		return tx.Set(key, make([]byte, 200))
	}
}

// BenchmarkUpdateAlone is one caller's durable update; its floor is
// BenchmarkAppendSync.
func BenchmarkUpdateAlone(b *testing.B) {
	db := benchDB(b)
	var n uint64
	for b.Loop() {
		n++
		if err := db.Update(b.Context(), small(n)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpdate64 is the time per durable update with 64 callers.
func BenchmarkUpdate64(b *testing.B) {
	db := benchDB(b)
	var n atomic.Uint64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 64 {
		wg.Go(func() {
			for {
				i := n.Add(1)
				if i > uint64(b.N) {
					return
				}
				if err := db.Update(b.Context(), small(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkAppendSync is the floor: append 200 bytes to a file and fsync.
func BenchmarkAppendSync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	row := make([]byte, 200)
	for b.Loop() {
		if _, err := f.Write(row); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenClose is what each command pays when no node runs.
func BenchmarkOpenClose(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		db, err := openBadger(dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFigureUpdateAlone is one caller's durable update beside a bare append and
// fsync of the same bytes.
func BenchmarkFigureUpdateAlone(b *testing.B) {
	db := benchDB(b)
	var n uint64
	update := func() error {
		n++
		return db.Update(b.Context(), small(n))
	}
	got, floor := benchtest.Turns(b, 1000, 1, update, appendSync(b))
	benchtest.Latency(b, "store: one durable update", got, floor, "append + fsync", benchtest.Target{Ratio: 2})
}

// appendSync returns a bare durable write of a row.
func appendSync(b *testing.B) func() error {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	row := make([]byte, 200)
	return func() error {
		if _, err := f.Write(row); err != nil {
			return err
		}
		return f.Sync()
	}
}

// BenchmarkFigureUpdate64 is durable updates of 64 callers; its floor is one caller's
// bare appends, each with its fsync. The ratio is what group commit gains.
func BenchmarkFigureUpdate64(b *testing.B) {
	db := benchDB(b)
	const total = 100_000
	var n atomic.Uint64
	var wg sync.WaitGroup
	start := time.Now()
	for range 64 {
		wg.Go(func() {
			for i := n.Add(1); i <= total; i = n.Add(1) {
				if err := db.Update(b.Context(), small(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	rate := total / time.Since(start).Seconds()
	bare, _ := benchtest.Turns(b, 500, 1, appendSync(b), func() error { return nil })
	benchtest.Rate(b, "store: durable updates, 64 callers", rate, float64(time.Second)/float64(bare.P50), "bare append + fsync, one caller", benchtest.Target{})
}
