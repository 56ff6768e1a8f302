package store_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"trustnode/node/store"
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
