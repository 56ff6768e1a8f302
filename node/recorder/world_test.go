package recorder_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/attestation/history"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

type seedSigner struct{ key ed25519.PrivateKey }

func seeded(b byte) seedSigner {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = b
	}
	return seedSigner{ed25519.NewKeyFromSeed(seed)}
}

func (s seedSigner) Public() did.PublicKey {
	k, err := did.NewEd25519(s.key.Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	return k
}

func (s seedSigner) Sign(_ context.Context, p envelope.Preimage) (did.Signature, error) {
	return did.Signature(ed25519.Sign(s.key, p.Bytes())), nil
}

func (s seedSigner) kid() string { return s.Public().Multikey() }

// party is an organization: its keys by version, and its witness key.
type party struct {
	did     did.DID
	mu      sync.Mutex
	keys    []seedSigner // key of version n+1; guarded by mu once a node runs
	witness seedSigner
}

func newParty(name string, b byte) *party {
	return &party{did: did.MustParse("did:web:" + name + ".example"), keys: []seedSigner{seeded(b)}, witness: seeded(b + 1)}
}

func (p *party) all() []seedSigner {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]seedSigner(nil), p.keys...)
}

func (p *party) current() seedSigner {
	all := p.all()
	return all[len(all)-1]
}

func (p *party) add(s seedSigner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = append(p.keys, s)
}

func version(n int) string { return fmt.Sprintf("%d-v", n+1) }

// world is who knows which versions: a Ring for one node.
type world struct {
	mu    sync.Mutex
	known map[did.DID][]seedSigner
	wit   map[did.DID]seedSigner
	alias string // what versions are called here besides: a log that names them as they are waits
}

func knows(list ...*party) *world {
	w := &world{known: map[did.DID][]seedSigner{}, wit: map[did.DID]seedSigner{}}
	for _, p := range list {
		w.learn(p)
	}
	return w
}

func (w *world) learn(p *party) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known[p.did] = p.all()
	w.wit[p.did] = p.witness
}

func (w *world) Known(_ context.Context, d did.DID) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for n := range w.known[d] {
		out = append(out, version(n)+w.alias)
	}
	return out, nil
}

func (w *world) Keys(_ context.Context, d did.DID, v string) (map[string]did.PublicKey, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n, s := range w.known[d] {
		if version(n)+w.alias == v {
			return map[string]did.PublicKey{s.kid(): s.Public()}, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", history.ErrUnknownVersion, v)
}

func (w *world) Witness(_ context.Context, d did.DID) []did.PublicKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s, ok := w.wit[d]; ok {
		return []did.PublicKey{s.Public()}
	}
	return nil
}

// node is one party's node: its databases outlive its recorder.
type node struct {
	quorum func() int
	signs  func(seedSigner) envelope.Signer // nil: each key by itself
	bounds func(did.DID) recorder.Bounds
	former did.DID // an organization whose keys are known and that is no active member
	*recorder.Recorder
	p      *party
	ring   *world
	state  store.DB
	audit  store.DB
	events *store.Events
	pins   pins.Pins
	news   *news
	stop   func() error
}

// news collects what OnHead is told, by whoever keeps a head.
type news struct {
	mu  sync.Mutex
	all []recorder.HeadNews // guarded by mu
}

func (n *news) add(h recorder.HeadNews) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, h)
}

func (n *news) told() []recorder.HeadNews {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

func newNode(t testing.TB, p *party, ring *world) *node {
	t.Helper()
	n := &node{p: p, ring: ring, state: store.Memory(), audit: store.Memory(), pins: pins.Memory(), news: new(news)}
	state, audit := n.state, n.audit // a test may put others in their place
	t.Cleanup(func() { state.Close(); audit.Close() })
	return n
}

// judgedAsNew wants every verdict that a node stored to be the one that the bytes, keys,
// forks and charter it knows come to when all of them are known at once (I-7, I-8).
func (n *node) judgedAsNew(t testing.TB) {
	t.Helper()
	cfg := recorder.Config{Org: n.p.did, State: n.state, Events: n.events, Pins: n.pins, Ring: n.ring, Member: n.isMember, Quorum: n.quorum, Bounds: n.bounds}
	if _, err := recorder.InspectVerdicts(context.Background(), cfg, func(f store.Fault) { t.Errorf("judged anew at %s: %s", n.p.did, f) }, nil); err != nil {
		t.Errorf("judged anew at %s: %v", n.p.did, err)
	}
}

func (n *node) isMember(d did.DID) bool {
	return d != n.former && len(n.ring.Witness(context.Background(), d)) > 0
}

// start opens a recorder over n's databases; Run is not called.
func (n *node) start(t testing.TB) {
	t.Helper()
	ctx := context.Background()
	var err error
	if n.events, err = store.OpenEvents(ctx, n.audit); err != nil {
		t.Fatal(err)
	}
	n.Recorder, err = recorder.New(ctx, recorder.Config{
		Quorum: n.quorum, Bounds: n.bounds, Org: n.p.did, State: n.state, Audit: n.audit, Events: n.events, Pins: n.pins, Ring: n.ring,
		Signer: func(context.Context) (envelope.Signer, string, error) {
			if n.signs != nil {
				return n.signs(n.p.current()), n.p.current().kid(), nil
			}
			return n.p.current(), n.p.current().kid(), nil
		},
		SignerOf: func(_ context.Context, kid string) (envelope.Signer, error) {
			for _, s := range n.p.all() {
				if s.kid() == kid {
					return s, nil
				}
			}
			return nil, errors.New("no such key")
		},
		WitnessSigner: func(context.Context) (envelope.Signer, error) { return n.p.witness, nil },
		Member:        n.isMember,
		OnHead:        func(h recorder.HeadNews) { n.news.add(h) },
		Now:           time.Now,
		Log:           slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// run starts Run; halt ends it and returns its error.
func (n *node) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	var once sync.Once
	var err error
	n.stop = func() error {
		once.Do(func() { cancel(); err = <-done })
		return err
	}
	t.Cleanup(func() { n.stop() })
}

// running is a started node with Run under way.
func running(t *testing.T, p *party, ring *world) *node {
	t.Helper()
	n := newNode(t, p, ring)
	n.start(t)
	n.run(t)
	return n
}

// event drafts one event in a transaction of its own.
func (n *node) event(t *testing.T, d attestation.Draft) envelope.ID {
	t.Helper()
	var id envelope.ID
	err := n.state.Update(context.Background(), func(tx store.Tx) error {
		var err error
		id, err = n.Event(tx, d)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (n *node) row(t *testing.T, i int, keys ...string) envelope.ID {
	t.Helper()
	var id envelope.ID
	err := n.state.Update(context.Background(), func(tx store.Tx) error {
		var err error
		id, err = n.Row(tx, audit.Row{Kind: "read", Body: fmt.Appendf(nil, `{"n":%d,"op":"read","salt":"s"}`, i), Keys: keys})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// plain is an event that is no barrier; barrier is one that is.
func plain(i int) attestation.Draft {
	id := envelope.IDOf(fmt.Append(nil, "charter", i))
	return attestation.Draft{Type: "charter.signed", Subject: id.String(), Refs: []envelope.ID{id}, Data: attestation.CharterSigned{Body: id, Seq: uint64(i)}}
}

func barrier(i int) attestation.Draft {
	id := envelope.IDOf(fmt.Append(nil, "permission", i))
	return attestation.Draft{
		Type: "loan.revoked", Subject: id.String(), Refs: []envelope.ID{envelope.IDOf(fmt.Append(nil, "revocation", i))},
		Data: attestation.LoanEnded{Cause: "ended", Target: id.String(), TargetKind: "permission"},
		Body: fmt.Appendf(nil, `{"reason_text":"because %d","salt":"s"}`, i),
	}
}

func flush(t *testing.T, n *node) {
	t.Helper()
	if err := n.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// ownEntries returns all entries of a log as n holds it.
func (n *node) entries(t *testing.T, d did.DID) []attestation.Entry {
	t.Helper()
	l, err := n.events.Log(context.Background(), d)
	if errors.Is(err, attestation.ErrNotFound) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	h, _ := l.Head()
	var out []attestation.Entry
	err = l.Entries(context.Background(), 0, h.Size, func(_ uint64, e attestation.Entry) error {
		out = append(out, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// standings returns level and standing of each event of a log, one word each. They are what
// all logs come to that are judged anew.
func (n *node) standings(t *testing.T, d did.DID) []string {
	t.Helper()
	n.judgedAsNew(t)
	return n.standingsNow(t, d)
}

// standingsNow is standings where not all that is known was applied yet.
func (n *node) standingsNow(t *testing.T, d did.DID) []string {
	t.Helper()
	var out []string
	for i := range n.entries(t, d) {
		v, err := n.events.Verdict(context.Background(), d, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		w := v.Standing.String()
		if v.Reason != "" {
			w += ":" + string(v.Reason)
		}
		out = append(out, w)
	}
	return out
}

func parseNote(t *testing.T, b []byte) attlog.Note {
	t.Helper()
	n, err := attlog.ParseNote(b)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// package from one node, with everything from an index on.
func pack(t *testing.T, n *node, from uint64) attestation.Package {
	t.Helper()
	p, err := n.Package(context.Background(), n.p.did, from, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sync brings a's log to b, package by package.
func pull(t *testing.T, from, to *node) recorder.Result {
	t.Helper()
	var last recorder.Result
	for {
		h, err := from.Head(context.Background(), from.p.did)
		if err != nil {
			t.Fatal(err)
		}
		size := uint64(len(to.entries(t, from.p.did)))
		if size >= parseNote(t, h.Note).Head.Size {
			return last
		}
		res, err := to.Ingest(context.Background(), pack(t, from, size))
		if err != nil {
			t.Fatal(err)
		}
		if last = res; res.Verdict != recorder.Accepted {
			return res
		}
	}
}

// list reads the hashes of a tree held as its leaves.
type list []tlog.Hash

func (l list) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, x := range at {
		level, n := tlog.SplitStoredHashIndex(x)
		out[i] = l.node(level, n)
	}
	return out, nil
}

func (l list) node(level int, n int64) tlog.Hash {
	if level == 0 {
		return l[n]
	}
	return tlog.NodeHash(l.node(level-1, 2*n), l.node(level-1, 2*n+1))
}

// vkey is a key as C2SP signed-note writes it.
func vkey(name string, alg byte, s seedSigner) string {
	raw := append([]byte{alg}, s.Public().Raw()...)
	sum := sha256.Sum256([]byte(name + "\n" + string(raw)))
	return fmt.Sprintf("%s+%x+%s", name, sum[:4], base64.StdEncoding.EncodeToString(raw))
}
