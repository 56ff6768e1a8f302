package recorder_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"trustnode/attestation"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// scanned counts the entries of other branches that are read.
type scanned struct {
	store.DB
	n atomic.Int64
}

func (s *scanned) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.DB.View(ctx, func(r store.Reader) error { return fn(scannedReader{r, &s.n}) })
}

type scannedReader struct {
	store.Reader
	n *atomic.Int64
}

func (s scannedReader) Scan(prefix, after []byte, yield func(k, v []byte) bool) error {
	return s.Reader.Scan(prefix, after, func(k, v []byte) bool {
		if strings.HasPrefix(string(k), "br/") {
			s.n.Add(1)
		}
		return yield(k, v)
	})
}

// TestABranchIsNotReadForEachMessage: who shows a branch again, less of it or a third one makes
// nobody read what is kept of it; who shows more of it adds to it.
func TestABranchIsNotReadForEachMessage(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	ours, other := branched(t, acme, 5, 10, 40)
	third := long(t, acme, 5)
	for i := len(third.entries); i < 60; i++ {
		third.charter(t, acme.keys[0], 200+i)
	}
	k, ctx := acme.keys[0], context.Background()
	n := newNode(t, beta, knows(acme, beta))
	db := &scanned{DB: n.audit}
	n.audit = db
	n.start(t)
	ingest(t, n, ours.pack(t, k, 0, 10, 10))
	show := func(f *forged, to int) int64 {
		t.Helper()
		before := db.n.Load()
		if res, _ := n.Ingest(ctx, f.pack(t, k, 0, to, to)); res.Verdict != recorder.Forked {
			t.Fatal(res.Verdict)
		}
		return db.n.Load() - before
	}
	kept := func() (out []attestation.Entry) {
		t.Helper()
		if err := n.events.BranchEntries(ctx, acme.did, func(_ uint64, en attestation.Entry) error { out = append(out, en); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	show(other, 30)
	if got := len(kept()); got != 25 {
		t.Fatalf("%d entries are kept", got)
	}
	for range 2 {
		for _, c := range []struct {
			f    *forged
			to   int
			most int64
		}{{other, 30, 0}, {other, 20, 0}, {third, 30, 0}, {third, 60, 1}} {
			if got := show(c.f, c.to); got > c.most {
				t.Errorf("%d entries are read", got)
			}
		}
		n.start(t)
		show(other, 20) // once after a start
	}
	show(other, 40)
	if got := len(kept()); got != 35 {
		t.Errorf("%d entries are kept once more is shown", got)
	}
}
