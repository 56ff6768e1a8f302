package store

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"sync"
	"testing"
)

// failing is an engine whose disk fails once it is told to.
type failing struct {
	memory
	mu   sync.Mutex
	fail error
}

func (f *failing) begin() batch { return &failingBatch{f.memory.begin(), f} }

type failingBatch struct {
	batch
	f *failing
}

func (b *failingBatch) commit() error {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	if b.f.fail != nil {
		return b.f.fail
	}
	return b.batch.commit()
}

func TestAFailedCommitStopsTheDatabase(t *testing.T) {
	ctx := context.Background()
	f := &failing{memory: memory{seed: maphash.MakeSeed()}}
	db := newDatabase(f, slog.New(slog.DiscardHandler))
	set := func(tx Tx) error { return tx.Set([]byte("k"), nil) }
	if err := db.Update(ctx, set); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.fail = errors.New("input/output error")
	f.mu.Unlock()
	if err := db.Update(ctx, set); !errors.Is(err, ErrBroken) {
		t.Errorf("the failed commit: %v, want ErrBroken", err)
	}
	f.mu.Lock()
	f.fail = nil
	f.mu.Unlock()
	ran := false
	err := db.Update(ctx, func(Tx) error { ran = true; return nil })
	verr := db.View(ctx, func(Reader) error { ran = true; return nil })
	if !errors.Is(err, ErrBroken) || !errors.Is(verr, ErrBroken) || ran {
		t.Errorf("after it: %v, %v, ran %v", err, verr, ran)
	}
	if err := db.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestSnapshotOutlivesCompaction holds a view open while its versions are
// overwritten, flushed and compacted.
func TestSnapshotOutlivesCompaction(t *testing.T) {
	ctx := context.Background()
	db, err := OpenBadger(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	write := func(gen byte) {
		err := db.Update(ctx, func(tx Tx) error {
			for i := range 200 {
				if err := tx.Set([]byte{'k', byte(i)}, append(make([]byte, 20_000), gen)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	write(0)
	err = db.View(ctx, func(r Reader) error {
		for gen := range byte(30) { // 120 MB: several memtables
			write(gen + 1)
		}
		n := 0
		err := r.Scan([]byte("k"), nil, func(k, v []byte) bool {
			if n++; v[len(v)-1] != 0 {
				t.Errorf("key %x shows version %d in a view of version 0", k, v[len(v)-1])
			}
			return true
		})
		if n != 200 {
			t.Errorf("the view has %d keys, want 200", n)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
