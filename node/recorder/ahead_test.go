package recorder_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"trustnode/attestation"
	"trustnode/node/recorder"
)

// headAlone brings a head with no entry of it, as gossip does to a node that is behind.
func headAlone(t *testing.T, n *node, f *forged, held, size int) {
	t.Helper()
	if res, err := n.Ingest(context.Background(), f.pack(t, f.p.keys[0], held, held, size)); err != nil || res.Verdict != recorder.Behind {
		t.Fatalf("head of size %d: %s, %v", size, res.Verdict, err)
	}
}

// TestAHeadKeptAheadIsComparedOnceItsEntriesCome: of two branches whose heads alone were
// brought, each is evidence once entries of the other come, cosigned by nobody or not.
func TestAHeadKeptAheadIsComparedOnceItsEntriesCome(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	ours, other := branched(t, acme, 4, 10, 10)
	k, ctx := acme.keys[0], context.Background()
	n := listener(t, knows(acme, beta), beta)
	ingest(t, n, ours.pack(t, k, 0, 4, 4))
	headAlone(t, n, ours, 4, 5)
	headAlone(t, n, other, 4, 9)
	if _, err := n.Ingest(ctx, other.pack(t, k, 4, 10, 10)); err != nil {
		t.Fatal(err)
	}
	if b, err := n.events.Note(ctx, acme.did, 5); !errors.Is(err, attestation.ErrNotFound) {
		t.Errorf("the head of the other branch stands among those of the log: %s, %v", b, err)
	}
	forks, err := n.Forks(ctx, acme.did)
	if err != nil || len(forks) != 1 || !n.Forked(acme.did) {
		t.Errorf("%d proofs of the fork, %v", len(forks), err)
	}
}

// TestHeadsKeptAheadAreBounded: whoever signs heads without end and shows no entry has no
// more kept of them than a few, the first and the newest among them; once the entries come
// none is left that says nothing.
func TestHeadsKeptAheadAreBounded(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	f, k, ctx := long(t, acme, 120), acme.keys[0], context.Background()
	for _, up := range []bool{true, false} {
		n := listener(t, knows(acme, beta), beta)
		ingest(t, n, f.pack(t, k, 0, 4, 4))
		for i := range 100 {
			size := 5 + i
			if !up {
				size = 104 - i
			}
			headAlone(t, n, f, 4, size)
			if i == 50 {
				n.start(t)
			}
		}
		kept := func() (out []uint64) {
			t.Helper()
			err := n.events.AllNotes(ctx, acme.did, 0, 1<<40, func(b []byte) bool { out = append(out, parseNote(t, b).Head.Size); return true })
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if got := kept(); len(got) != 65 || got[1] != 5 || got[len(got)-1] != 104 {
			t.Errorf("up %v: kept are %d: %v", up, len(got), got)
		}
		ingest(t, n, f.pack(t, k, 4, 110, 110))
		ingest(t, n, f.pack(t, k, 110, 120, 120))
		if got := kept(); len(got) != 1 || got[0] != 120 {
			t.Errorf("up %v: in the end kept are %v", up, got)
		}
	}
}

// TestAHeadKeptAheadIsComparedWhateverEnds: entries that came are compared with the heads kept
// before them even where whoever brought them does not wait for it, where the process ends in
// between, and where the disk refuses to for a while.
func TestAHeadKeptAheadIsComparedWhateverEnds(t *testing.T) {
	for name, end := range map[string]func(cancel func(), armed *atomic.Bool){
		"the caller goes": func(cancel func(), _ *atomic.Bool) { cancel() },
		"the node ends":   func(_ func(), armed *atomic.Bool) { armed.Store(true) },
		"the disk heals":  func(_ func(), armed *atomic.Bool) { armed.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
			ours, other := branched(t, acme, 4, 10, 12)
			k := acme.keys[0]
			n := newNode(t, beta, knows(acme, beta))
			var armed atomic.Bool
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			c := &commits{DB: refusing{n.audit, &armed, ""}}
			n.audit = c
			n.start(t)
			ingest(t, n, ours.pack(t, k, 0, 4, 4))
			headAlone(t, n, ours, 4, 5)
			headAlone(t, n, other, 4, 9)
			c.after = func() { end(cancel, &armed) }
			_, err := n.Ingest(ctx, other.pack(t, k, 4, 10, 10))
			if got := len(n.entries(t, acme.did)); got != 10 {
				t.Fatalf("%d entries, %v", got, err)
			}
			c.after = nil
			armed.Store(false)
			switch name {
			case "the node ends":
				n.start(t)
				n.run(t)
				flush(t, n)
			case "the disk heals":
				ingest(t, n, other.pack(t, k, 10, 12, 12))
			}
			if b, err := n.events.Note(context.Background(), acme.did, 5); !errors.Is(err, attestation.ErrNotFound) {
				t.Errorf("the head of the other branch stands among those of the log: %s, %v", b, err)
			}
			if forks, err := n.Forks(context.Background(), acme.did); err != nil || len(forks) != 1 || !n.Forked(acme.did) {
				t.Errorf("%d proofs of the fork, %v", len(forks), err)
			}
		})
	}
}
