package recorder_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// refusing is a database that refuses to write under a prefix while it is armed.
type refusing struct {
	store.DB
	armed  *atomic.Bool
	prefix string
}

var errRefused = errors.New("the disk refuses")

func (f refusing) Update(ctx context.Context, fn func(store.Tx) error) error {
	return f.DB.Update(ctx, func(tx store.Tx) error { return fn(refusingTx{tx, f}) })
}

type refusingTx struct {
	store.Tx
	f refusing
}

func (t refusingTx) Set(k, v []byte) error {
	if t.f.armed.Load() && bytes.HasPrefix(k, []byte(t.f.prefix)) {
		return errRefused
	}
	return t.Tx.Set(k, v)
}

// compromised is a log of n events under the first key, then a rotation that puts all but the
// first two in doubt.
func compromised(t *testing.T, p *party, n int) *forged {
	t.Helper()
	p.keys = append(p.keys, seeded(0x15))
	f := long(t, p, n)
	from := uint64(1)
	f.rotated(t, p.keys[1], 1, "compromise", &from)
	return f
}

// TestACompromiseTaintsWhatCameBefore: what was judged before the announcement, in updates of
// its own, and what comes with it end up the same; doubts whose announcement then does not
// become durable are taken back, and come back with it.
func TestACompromiseTaintsWhatCameBefore(t *testing.T) {
	ctx := context.Background()
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	thief, key, from := did.MustParse("did:key:"+seeded(0x31).kid()), acme.keys[0], uint64(1)
	f := &forged{p: acme}
	f.open(t)
	for i := 1; i < 20; i++ {
		d := plain(i)
		f.say(t, key, d.Type, d.Subject, d.Refs, d.Data, func(e *attestation.Event) { e.Actor = thief })
	}
	f.say(t, key, "agent.revoked", thief.String(), []envelope.ID{envelope.IDOf([]byte("object"))},
		attestation.AgentRevoked{Agent: thief, Name: "quant", Reason: "key_compromise", TaintFrom: &from, ThroughSerial: 1}, nil)
	n := newNode(t, beta, knows(acme, beta))
	var armed atomic.Bool
	n.audit = refusing{n.audit, &armed, "en/"}
	n.start(t)
	ingest(t, n, f.pack(t, key, 0, 15, 15))
	armed.Store(true)
	if _, err := n.Ingest(ctx, f.pack(t, key, 15, 21, 21)); !errors.Is(err, errRefused) {
		t.Fatalf("the disk did not refuse: %v", err)
	}
	if got := runs(n.standingsNow(t, acme.did)); got != "2 valid, 13 disputed:taint" {
		t.Errorf("after the crash: %s", got)
	}
	n.start(t)
	if err := n.Recheck(ctx, acme.did); err != nil { // as Run does first
		t.Fatal(err)
	}
	if got := runs(n.standings(t, acme.did)); got != "15 valid" {
		t.Errorf("once weighed again: %s", got)
	}
	armed.Store(false)
	ingest(t, n, f.pack(t, key, 15, 21, 21))
	for range 2 {
		if got := runs(n.standings(t, acme.did)); got != "2 valid, 18 disputed:taint, 1 valid" {
			t.Error(got)
		}
		n.start(t)
	}
}

// TestACompromiseTaintsMoreThanOneUpdateWrites: a key that was stolen long ago puts more
// events in doubt than one update can write, whether its version is known when it is announced or
// comes later.
func TestACompromiseTaintsMoreThanOneUpdateWrites(t *testing.T) {
	if os.Getenv("TRUSTNODE_LONG") == "" {
		t.Skip("TRUSTNODE_LONG is not set")
	}
	const events = store.MaxUpdateKeys + 300
	ctx := context.Background()
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	f := compromised(t, acme, events)
	var packs []attestation.Package
	for from := 0; from < events; from += attestation.MaxBatch {
		to := min(from+attestation.MaxBatch, events)
		packs = append(packs, f.pack(t, acme.keys[0], from, to, to))
	}
	for _, late := range []bool{false, true} {
		ring := knows(newParty("acme", 0x11), beta)
		n := listener(t, ring, beta)
		for _, p := range packs {
			ingest(t, n, p)
		}
		if late { // the rotation is held before its version is known
			ingest(t, n, f.pack(t, acme.keys[0], events, events+1, events+1))
			ring.learn(acme)
			if err := n.Recheck(ctx, acme.did); err != nil {
				t.Fatal(err)
			}
		} else {
			ring.learn(acme)
			ingest(t, n, f.pack(t, acme.keys[1], events, events+1, events+1))
		}
		if got, want := runs(n.standings(t, acme.did)), fmt.Sprintf("2 valid, %d disputed:taint, 1 valid", events-2); got != want {
			t.Errorf("late %v: %s, want %s", late, got, want)
		}
	}
}
