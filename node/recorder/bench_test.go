package recorder_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/recorder"
	"trustnode/node/store"
	"trustnode/scripts/benchtest"
)

// BenchmarkLoneEvent is one event from its decision to a signed head, on disk.
func BenchmarkLoneEvent(b *testing.B) {
	n, done, err := onDisk(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { n.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended; done() }()
	i := 0
	for b.Loop() {
		i++
		var id envelope.ID
		err := n.state.Update(ctx, func(tx store.Tx) error {
			var err error
			id, err = n.Event(tx, plain(i))
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := n.WaitLogged(ctx, id); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRows is rows of 600 bytes from their decision into the audit
// database, 1,024 to a transaction, on disk; ns/row is per row.
func BenchmarkRows(b *testing.B) {
	n, done, err := onDisk(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { n.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended; done() }()
	rows := 0
	for b.Loop() {
		err := n.state.Update(ctx, func(tx store.Tx) error {
			for range 1024 {
				rows++
				row := audit.Row{Kind: "read", Keys: []string{"perm"}, Body: fmt.Appendf(nil, `{"n":%d,"op":"read","pad":"%0550d","salt":"s"}`, rows, rows)}
				if _, err := n.Row(tx, row); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		for {
			changed := n.Changed()
			if m, _ := n.events.Mark(ctx); m >= uint64(rows) {
				break
			}
			<-changed
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
}

// runOnDisk opens a node on disk with its log running, until the benchmark ends.
func runOnDisk(b *testing.B, dir string) *node {
	b.Helper()
	n, done, err := onDisk(dir)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { n.Run(ctx); close(ended) }()
	n.stop = sync.OnceValue(func() error { cancel(); <-ended; done(); return nil })
	b.Cleanup(func() { _ = n.stop() })
	return n
}

// peerOnDisk opens a node of beta on disk, which knows what ring knows.
func peerOnDisk(b *testing.B, ring *world) *node {
	b.Helper()
	n := newNode(b, newParty("beta", 0x21), ring)
	var err error
	for name, db := range map[string]*store.DB{"state": &n.state, "audit": &n.audit} {
		if *db, err = store.OpenBadger(filepath.Join(b.TempDir(), name), slog.New(slog.DiscardHandler)); err != nil {
			b.Fatal(err)
		}
	}
	b.Cleanup(func() { n.state.Close(); n.audit.Close() })
	n.start(b)
	return n
}

// syncedAppends returns a function that appends to a file and syncs it, times over.
func syncedAppends(b *testing.B, times int) func() error {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	row := make([]byte, 700)
	return func() error {
		for range times {
			if _, err := f.Write(row); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
		}
		return nil
	}
}

// BenchmarkFigureLoneEvent is an event alone, from its decision to a signed head.
func BenchmarkFigureLoneEvent(b *testing.B) {
	n := runOnDisk(b, b.TempDir())
	ctx, i := b.Context(), 0
	lone := func() error {
		i++
		var id envelope.ID
		err := n.state.Update(ctx, func(tx store.Tx) (err error) {
			id, err = n.Event(tx, plain(i))
			return err
		})
		if err == nil {
			_, err = n.WaitLogged(ctx, id)
		}
		return err
	}
	got, floor := benchtest.Turns(b, 500, 1, lone, syncedAppends(b, 3))
	benchtest.Latency(b, "log: lone event to logged", got, floor, "three synced appends", benchtest.Target{P50: 5 * time.Millisecond, P99: 15 * time.Millisecond})
}

// BenchmarkFigureRows is rows of 600 bytes from their decision into the audit database
// under a signed head, for each second of one core; the floor hashes and writes the same
// bytes once, in transactions of the same size.
func BenchmarkFigureRows(b *testing.B) {
	const batch, batches = 1024, 24
	n := runOnDisk(b, b.TempDir())
	ctx, rows := b.Context(), 0
	body := func() []byte {
		rows++
		return fmt.Appendf(nil, `{"n":%d,"op":"read","pad":"%0550d","salt":"s"}`, rows, rows)
	}
	start := benchtest.CPU()
	for range batches {
		err := n.state.Update(ctx, func(tx store.Tx) error {
			for range batch {
				if _, err := n.Row(tx, audit.Row{Kind: "read", Keys: []string{"perm"}, Body: body()}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := n.Flush(ctx); err != nil {
		b.Fatal(err)
	}
	got := float64(rows) / (benchtest.CPU() - start).Seconds()

	db, err := store.OpenBadger(b.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	start, rows = benchtest.CPU(), 0
	for range batches {
		err := db.Update(ctx, func(tx store.Tx) error {
			for range batch {
				v := body()
				sum := sha256.Sum256(v)
				if err := tx.Set(sum[:], v); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	floor := float64(rows) / (benchtest.CPU() - start).Seconds()
	benchtest.Rate(b, "log: own rows under signed heads, per core", got, floor, "SHA-256 + batch write", benchtest.Target{Rate: 50_000})
}

// BenchmarkFigureIngest is events of a peer from their package to authored, for each
// second of one core; the floor is one verification each, of the same events, on the same
// cores, in turns with the packages.
func BenchmarkFigureIngest(b *testing.B) {
	ctx := b.Context()
	from, packs, total := grown(b, 10_000)
	to := peerOnDisk(b, knows(newParty("beta", 0x21), from.p))
	pub := from.p.current().Public()
	var spent, bare time.Duration
	for _, p := range packs {
		start := benchtest.CPU()
		if res, err := to.Ingest(ctx, p); err != nil || res.Verdict != recorder.Accepted {
			b.Fatal(res.Verdict, err)
		}
		spent += benchtest.CPU() - start
		bare += verifyAll(b, pub, p.Entries)
	}
	if judged := to.events.Judged(from.p.did); judged != total {
		b.Fatalf("%d events of %d are judged", judged, total)
	}
	for _, s := range []uint64{0, 1, total - 1} {
		if v, err := to.events.Verdict(ctx, from.p.did, s); err != nil || !v.Counts() {
			b.Fatal(s, v, err)
		}
	}
	benchtest.Rate(b, "log: peer events to authored, per core", rate(total, spent), rate(total, bare), "Ed25519 verify", benchtest.Target{Share: 0.6, Rate: 10_000})
}

// verifyAll checks one signature for each entry on two cores, and returns the processor time.
func verifyAll(b *testing.B, pub did.PublicKey, entries []attestation.Entry) time.Duration {
	type signed struct {
		pre []byte
		sig did.Signature
	}
	list := make([]signed, len(entries))
	for i, en := range entries {
		env, _, err := en.Envelope()
		if err != nil {
			b.Fatal(err)
		}
		list[i] = signed{env.Preimage().Bytes(), en.Signature()}
	}
	start := benchtest.CPU()
	var wg sync.WaitGroup
	var bad atomic.Int64
	for w := range 2 {
		wg.Go(func() {
			for i := w; i < len(list); i += 2 {
				if pub.Verify(list[i].pre, list[i].sig) != nil {
					bad.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if bad.Load() > 0 {
		b.Fatal("a signature does not verify")
	}
	return benchtest.CPU() - start
}

func rate(n uint64, took time.Duration) float64 { return float64(n) / took.Seconds() }

// BenchmarkFigureLogged is events of a peer whose version is not known here yet, from their
// package to logged: checked in form and tree, indexed and durable, for each second of one
// core. The floor hashes and writes the same bytes once, in as many transactions.
func BenchmarkFigureLogged(b *testing.B) {
	ctx := b.Context()
	from, packs, total := grown(b, 20_000)
	ring := knows(newParty("beta", 0x21), from.p)
	ring.alias = "x"
	to := peerOnDisk(b, ring)
	db, err := store.OpenBadger(b.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var spent, bare time.Duration
	for _, p := range packs {
		start := benchtest.CPU()
		if res, err := to.Ingest(ctx, p); err != nil || res.Verdict != recorder.Accepted {
			b.Fatal(res.Verdict, err)
		}
		between := benchtest.CPU()
		err := db.Update(ctx, func(tx store.Tx) error {
			for _, en := range p.Entries {
				sum := sha256.Sum256(en)
				if err := tx.Set(sum[:], en); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		spent, bare = spent+between-start, bare+benchtest.CPU()-between
	}
	if v, err := to.events.Verdict(ctx, from.p.did, total-1); err != nil || v.Level != attestation.Logged || v.Standing != attestation.Pending {
		b.Fatal(v, err)
	}
	benchtest.Rate(b, "log: peer events to logged, per core", rate(total, spent), rate(total, bare), "SHA-256 + batch write", benchtest.Target{Rate: 25_000})
}

// grown is a node whose own log has that many events, its log as it goes to a peer, and the
// log's size. It does nothing any more.
func grown(b *testing.B, events int) (*node, []attestation.Package, uint64) {
	b.Helper()
	ctx := b.Context()
	n := runOnDisk(b, b.TempDir())
	for i := 0; i < events; {
		err := n.state.Update(ctx, func(tx store.Tx) error {
			for range 1000 {
				i++
				if _, err := n.Event(tx, plain(i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := n.Flush(ctx); err != nil {
		b.Fatal(err)
	}
	packs, total := packages(b, n)
	_ = n.stop()
	return n, packs, total
}

// packages returns a node's whole own log as it goes to a peer.
func packages(b *testing.B, n *node) (out []attestation.Package, size uint64) {
	b.Helper()
	h, err := n.Head(b.Context(), n.p.did)
	if err != nil {
		b.Fatal(err)
	}
	for size < h.Size {
		p, err := n.Package(b.Context(), n.p.did, size, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		out, size = append(out, p), size+uint64(len(p.Entries))
	}
	return out, size
}
