package recorder_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/gowebpki/jcs"

	"trustnode/attestation"
	"trustnode/node/store"
	"trustnode/scripts/benchtest"
)

// The ratio checks of 03, section 18, compare work, not elapsed time, so that a busy machine
// changes nothing: processor time, and synced commits at syncCost each, which is less than a
// good SSD takes. What this disk takes does not count: where a sync costs nothing, as in
// memory, elapsed time would say nothing of what is spared.
const syncCost = 100 * time.Microsecond

// work runs f and returns what it cost on that many cores.
func work(t *testing.T, db *commits, cores int, f func() error) time.Duration {
	t.Helper()
	was, start := db.n.Load(), benchtest.CPU()
	if err := f(); err != nil {
		t.Fatal(err)
	}
	cpu := benchtest.CPU() - start
	return cpu/time.Duration(cores) + time.Duration(db.n.Load()-was)*syncCost
}

// reaches fails unless one of a few tries finds the ratio of two costs.
func reaches(t *testing.T, want float64, try func() (slow, fast time.Duration)) {
	t.Helper()
	best := 0.0
	for range 5 {
		slow, fast := try()
		t.Logf("%v beside %v: %.1f times", slow, fast, float64(slow)/float64(fast))
		if best = max(best, float64(slow)/float64(fast)); best >= want {
			return
		}
	}
	t.Errorf("%.1f times at best, want %.0f", best, want)
}

func openCounted(t *testing.T) *commits {
	t.Helper()
	db, err := store.OpenBadger(filepath.Join(t.TempDir(), "db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &commits{DB: db}
}

// TestRatioOfABatch: a durable batch of 256 beside as many single appends.
func TestRatioOfABatch(t *testing.T) {
	if testing.Short() || benchtest.Race {
		t.Skip("takes processor time, and means nothing under the race detector")
	}
	acme := newParty("acme", 0x11)
	l := long(t, acme, 512)
	ctx := context.Background()
	reaches(t, 12, func() (slow, fast time.Duration) {
		db := openCounted(t)
		e, err := store.OpenEvents(ctx, db)
		if err != nil {
			t.Fatal(err)
		}
		slow = work(t, db, 1, func() error {
			for i := range 256 {
				if err := e.Append(ctx, attestation.Batch{Org: acme.did, From: uint64(i), Entries: l.entries[i : i+1]}); err != nil {
					return err
				}
			}
			return nil
		})
		fast = work(t, db, 1, func() error {
			return e.Append(ctx, attestation.Batch{Org: acme.did, From: 256, Entries: l.entries[256:]})
		})
		return slow, fast
	})
}

// TestRatioOfIngest: ingest beside a plain loop of RFC 8785 transform, single check and one
// synced transaction per event. Ingest uses the cores it finds, counted as two.
func TestRatioOfIngest(t *testing.T) {
	if testing.Short() || benchtest.Race {
		t.Skip("takes processor time, and means nothing under the race detector")
	}
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	const size = 1024
	l := long(t, acme, size)
	pub := acme.keys[0].Public()
	ctx := context.Background()
	reaches(t, 5, func() (slow, fast time.Duration) {
		plain := openCounted(t)
		slow = work(t, plain, 1, func() error {
			for _, en := range l.entries[:256] {
				env, _, err := en.Envelope()
				if err != nil {
					return err
				}
				body, err := jcs.Transform(env.Body)
				if err != nil || len(body) != len(env.Body) {
					return err
				}
				if err := pub.Verify(env.Preimage().Bytes(), en.Signature()); err != nil {
					return err
				}
				id := en.ID().Sum()
				if err := plain.Update(ctx, func(tx store.Tx) error { return tx.Set(id[:], en) }); err != nil {
					return err
				}
			}
			return nil
		}) * size / 256
		n := newNode(t, beta, knows(acme, beta))
		db := openCounted(t)
		n.audit = db
		n.start(t)
		var packs []attestation.Package
		for from := 0; from < size; from += attestation.MaxBatch {
			packs = append(packs, l.pack(t, acme.keys[0], from, from+attestation.MaxBatch, size))
		}
		fast = work(t, db, 2, func() error {
			for _, p := range packs {
				if _, err := n.Ingest(ctx, p); err != nil {
					return err
				}
			}
			return nil
		})
		if judged := n.events.Judged(acme.did); judged != size {
			t.Fatalf("%d are judged", judged)
		}
		return slow, fast
	})
}
