package recorder_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// faulty is a database in whose memory a bit flips: what is written, or read, under a prefix
// is changed once it is armed.
type faulty struct {
	store.DB
	armed  *atomic.Bool
	prefix string
	write  bool
	change func([]byte) []byte
}

func (f faulty) hit(k []byte) bool { return f.armed.Load() && strings.HasPrefix(string(k), f.prefix) }

func (f faulty) Update(ctx context.Context, fn func(store.Tx) error) error {
	return f.DB.Update(ctx, func(tx store.Tx) error { return fn(faultyTx{tx, f}) })
}

func (f faulty) View(ctx context.Context, fn func(store.Reader) error) error {
	return f.DB.View(ctx, func(r store.Reader) error { return fn(faultyReader{r, f}) })
}

type faultyTx struct {
	store.Tx
	f faulty
}

func (t faultyTx) Set(k, v []byte) error {
	if t.f.write && t.f.hit(k) {
		v = t.f.change(bytes.Clone(v))
	}
	return t.Tx.Set(k, v)
}

type faultyReader struct {
	store.Reader
	f faulty
}

func (r faultyReader) Get(k []byte) ([]byte, error) {
	v, err := r.Reader.Get(k)
	if err == nil && !r.f.write && r.f.hit(k) {
		v = r.f.change(v)
	}
	return v, err
}

func flipLast(v []byte) []byte { v[len(v)-1] ^= 1; return v }

// otherLeaf changes the newest leaf of a stored head and makes edge and root fit it: as if
// the fault had come before the root was computed.
func otherLeaf(v []byte) []byte {
	v = flipLast(v)
	edge := v[40:]
	root := tlog.Hash(edge[len(edge)-32:])
	for at := len(edge) - 64; at >= 0; at -= 32 {
		root = tlog.NodeHash(tlog.Hash(edge[at:at+32]), root)
	}
	copy(v[8:40], root[:])
	return v
}

// hung is a database whose disk does not answer while hold is open.
type hung struct {
	store.DB
	hold <-chan struct{}
}

func (h hung) Update(ctx context.Context, fn func(store.Tx) error) error {
	<-h.hold
	return h.DB.Update(ctx, fn)
}

// TestJudgingNeedsNoDisk is I-20: what gossip judges a message from answers while a batch of
// the same log, one of another and a draft wait for a disk that does not answer.
func TestJudgingNeedsNoDisk(t *testing.T) {
	acme, beta, core := newParty("acme", 0x11), newParty("beta", 0x21), newParty("core", 0x31)
	f, g := long(t, acme, 20), long(t, core, 20)
	n := newNode(t, beta, knows(acme, beta, core))
	hold := make(chan struct{})
	close(hold)
	gate := &hung{n.audit, hold}
	n.audit = gate
	n.start(t)
	ctx := context.Background()
	if _, err := n.Ingest(ctx, f.pack(t, acme.keys[0], 0, 10, 10)); err != nil {
		t.Fatal(err)
	}
	hold = make(chan struct{})
	gate.hold = hold
	done := make(chan error, 2)
	go func() { _, err := n.Ingest(ctx, f.pack(t, acme.keys[0], 10, 20, 20)); done <- err }()
	go func() { _, err := n.Ingest(ctx, g.pack(t, core.keys[0], 0, 20, 20)); done <- err }()
	time.Sleep(50 * time.Millisecond) // until both wait
	judged := make(chan struct{})
	go func() {
		defer close(judged)
		for range 1000 {
			for _, p := range []*party{acme, beta, core} {
				if len(n.HeadKeys(p.did)) == 0 {
					t.Error("no key of " + p.did.String())
				}
				n.events.Edge(p.did)
			}
		}
		if size := n.events.Edge(acme.did).End(); size != 10 {
			t.Errorf("the edge is at %d while the batch is not durable, want 10", size)
		}
	}()
	select {
	case <-judged:
	case <-time.After(30 * time.Second):
		t.Error("judging waits for the disk")
	}
	close(hold)
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	<-judged
	if size := n.events.Edge(acme.did).End(); size != 20 {
		t.Errorf("the edge is at %d, want 20", size)
	}
}

// TestAWrongRootLeavesNothing is C-14 and I-3: between the append and the signature a root
// is wrong, however that came. No head leaves, none is pinned, and the log is corrupt.
func TestAWrongRootLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		name, prefix string
		write        bool
		change       func([]byte) []byte
	}{
		{"the root is written wrong", "he/", true, func(v []byte) []byte { v[9] ^= 1; return v }},
		{"the size is written wrong", "he/", true, func(v []byte) []byte {
			binary.BigEndian.PutUint64(v, binary.BigEndian.Uint64(v)-1)
			return v
		}},
		{"the edge is written wrong", "he/", true, flipLast},
		{"the root is computed of another leaf", "he/", true, otherLeaf},
		{"a tile is written wrong", "ti/", true, flipLast},
		{"a tile is read wrong", "ti/", false, flipLast},
		{"the edge is read wrong", "he/", false, flipLast},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newParty("acme", 0x11)
				n := newNode(t, p, knows(p))
				armed := new(atomic.Bool)
				n.audit = faulty{n.audit, armed, c.prefix, c.write, c.change}
				n.start(t)
				n.run(t)
				for i := range 6 { // log.opened and these: the newest leaf of 9 is an edge of its own
					n.event(t, plain(i))
				}
				flush(t, n)
				n.event(t, plain(6))
				flush(t, n)
				synctest.Wait()
				told := len(n.news.told())
				armed.Store(true)
				n.event(t, plain(7))
				time.Sleep(3 * time.Second)
				if s, why := n.State(); s != recorder.Corrupt {
					t.Errorf("the log is %s %s", s, why)
				}
				n.event(t, barrier(8)) // it waits in the outbox
				time.Sleep(3 * time.Second)
				silent(t, n, told, 8, 8)
			})
		})
	}
}

// silent checks that no head left but the first ones, up to a size, and what is pinned.
func silent(t *testing.T, n *node, told int, size, pinned uint64) {
	t.Helper()
	if got := n.news.told(); len(got) != told || parseNote(t, got[told-1].Note).Head.Size != size {
		t.Errorf("%d heads left, %d before the fault; the newest is %s", len(got), told, got[len(got)-1].Note)
	}
	if floor, _, _ := n.pins.Highest(pins.KindLog, n.p.did.String()); floor.N != pinned {
		t.Errorf("size %d is pinned, want %d", floor.N, pinned)
	}
	if h, err := n.Head(context.Background(), n.p.did); err != nil || parseNote(t, h.Note).Head.Size != size {
		t.Errorf("the head shown is %s (%v)", h.Note, err)
	}
	if p, err := n.Package(context.Background(), n.p.did, size, size+1); err == nil && len(p.Entries) > 0 {
		t.Errorf("%d entries above the head are shown", len(p.Entries))
	}
}

// shaky signs wrongly while it is armed: what is signed begins as told.
type shaky struct {
	seedSigner
	armed *atomic.Bool
	what  string
}

func (s shaky) Sign(ctx context.Context, p envelope.Preimage) (did.Signature, error) {
	sig, err := s.seedSigner.Sign(ctx, p)
	if s.armed.Load() && strings.HasPrefix(string(p.Bytes()), s.what) {
		sig[3] ^= 1
	}
	return sig, err
}

// TestAWrongSignatureLeavesNothing is the other half of C-14: the own signature is checked,
// of a head before it leaves, of an event before it stands in the log for ever. What waited
// is signed once the fault is over.
func TestAWrongSignatureLeavesNothing(t *testing.T) {
	for name, what := range map[string]string{"of a head": "did:", "of an event": "DSSEv1"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newParty("acme", 0x11)
				n := newNode(t, p, knows(p))
				armed := new(atomic.Bool)
				n.signs = func(s seedSigner) envelope.Signer { return shaky{s, armed, what} }
				n.start(t)
				n.run(t)
				n.event(t, plain(0))
				flush(t, n)
				synctest.Wait() // the head is told after it can be waited for
				told := len(n.news.told())
				armed.Store(true)
				id := n.event(t, barrier(1))
				time.Sleep(3 * time.Second)
				silent(t, n, told, 2, map[string]uint64{"did:": 3, "DSSEv1": 2}[what]) // the pin comes before the signature
				armed.Store(false)
				flush(t, n)
				if at, err := n.WaitLogged(context.Background(), id); err != nil || at != 2 {
					t.Errorf("after the fault it is logged at %d (%v)", at, err)
				}
				if got := strings.Join(n.standings(t, p.did), " "); got != "valid valid valid" {
					t.Errorf("standings %s", got)
				}
			})
		})
	}
}
