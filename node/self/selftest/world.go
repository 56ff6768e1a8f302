// Package selftest makes small worlds of nodes for tests of use cases: organizations
// that know each other by did:key, agents, a charter they all signed, a clock that is
// set by hand, logs that are real. Nothing but tests imports it.
package selftest

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/library"
	"trustnode/node/memory"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Start is when a world begins.
var Start = time.Date(2026, 12, 2, 9, 15, 30, 0, time.UTC)

// Clock is a wall clock set by hand. It is safe for concurrent use.
type Clock struct {
	made time.Time
	mu   sync.Mutex
	at   time.Time // guarded by mu
}

// ticking is the time for a log, which waits for it to pass.
func (c *Clock) ticking() time.Time { return c.Now().Add(time.Since(c.made)) }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Add moves the time; backwards with a negative d.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// World is some organizations, each with one node.
type World struct {
	Clock *Clock
	Nodes []*Node
	chain charter.Chain
}

// Node is one of them.
type Node struct {
	*self.Node
	Standing *Standing
	Audit    store.DB

	key     *envelopetest.Signer
	mu      sync.Mutex
	agents  map[did.DID]*envelopetest.Signer // guarded by mu
	world   *World
	serials uint64
}

// Option changes how a world is made.
type Option struct {
	// Open opens the databases of a node; nil is memory.
	Open func(t testing.TB, node string) (state, audit store.DB)
	// Now is the wall clock; nil is a Clock at Start.
	Now func() time.Time
	// Seed begins the seeds of the organizations' keys; 0 is 0x10. Worlds with the same
	// seed have the same organizations.
	Seed byte
}

// New makes a world of organizations with these names, members of one federation whose
// last one is the neutral mediator (from three on). All are fresh, and all logs run.
func New(t testing.TB, o Option, names ...string) *World {
	t.Helper()
	w := &World{Clock: &Clock{made: time.Now(), at: Start}}
	now, log := w.Clock.Now, w.Clock.ticking
	if o.Now != nil {
		now, log = o.Now, o.Now
	}
	for i, name := range names {
		w.Nodes = append(w.Nodes, w.node(t, o, name, cmp.Or(o.Seed, 0x10)+byte(i), now, log))
	}
	w.chain = w.charter(t, now())
	for _, n := range w.Nodes {
		n.Standing.Set(federation.Fresh)
	}
	return w
}

func (w *World) node(t testing.TB, o Option, name string, seed byte, now, ticking func() time.Time) *Node {
	t.Helper()
	state, audit := store.Memory(), store.Memory()
	if o.Open != nil {
		state, audit = o.Open(t, name)
	}
	key := envelopetest.Repeat(seed)
	org := must(didkey.FromKey(key.Public()))(t)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	n := &Node{key: key, agents: map[did.DID]*envelopetest.Signer{}, world: w, Standing: &Standing{world: w}, Audit: audit}
	n.Node = &self.Node{
		Org: org, Name: name, DB: state, Lib: library.New(state), Entries: memory.New(state, now), Signers: n,
		Standing: n.Standing, Peers: self.Offline{}, Clock: self.NewClock(now, time.Time{}), Log: log,
	}
	events := must(store.OpenEvents(t.Context(), audit))(t)
	n.Rec = must(recorder.New(t.Context(), recorder.Config{
		Org: org, State: state, Audit: audit, Events: events, Pins: pins.Memory(), Ring: ring{}, Now: ticking, Log: log,
		Signer: n.Issuer, Member: func(did.DID) bool { return true },
	}))(t)
	n.run(t)
	return n
}

// run runs the node's log until the test ends.
func (n *Node) run(t testing.TB) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Rec.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-done
		n.DB.Close()
		n.Audit.Close()
	})
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// charter is a genesis of all organizations.
func (w *World) charter(t testing.TB, at time.Time) charter.Chain {
	t.Helper()
	o := charter.Options{Name: "world", Recovery: []charter.Key{{Kid: envelopetest.Repeat(0x7f).Public().Multikey(), Pub: envelopetest.Repeat(0x7f).Public()}}}
	var signers []envelope.Signer
	for _, n := range w.Nodes {
		o.Members = append(o.Members, charter.Member{
			BindingsMax: 1, Contact: "ops@" + n.Name + ".example", DID: n.Org, Gaps: []charter.Gap{}, Generation: 1,
			Key: charter.Key{Kid: n.key.Public().Multikey(), Pub: n.key.Public()}, Name: n.Name, Status: charter.StatusActive, Votes: true,
		})
		signers = append(signers, n.key)
	}
	if last := len(w.Nodes) - 1; last >= 2 {
		o.Mediators = []did.DID{w.Nodes[last].Org}
	}
	body := must(charter.New(o, at.Add(-time.Hour)))(t)
	e := must(envelope.Seal(t.Context(), body, signers...))(t)
	chain, _, err := charter.Genesis(e, noKeys{}, at)
	return must(chain, err)(t)
}

// Standing is what a test says of a node's standing. It is safe for concurrent use.
type Standing struct {
	world *World
	mu    sync.Mutex
	state federation.State // guarded by mu
	alone bool             // guarded by mu
	only  *charter.Chain   // guarded by mu
}

// Set sets the node's state. In Fresh everything is allowed, in Stale live reads too,
// in any other one loans within the organization alone, but in Recovering none.
func (s *Standing) Set(state federation.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.alone = state, state == federation.Alone
}

// Use makes the node see another charter.
func (s *Standing) Use(c charter.Chain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.only = &c
}

// Charter implements self.Standing.
func (s *Standing) Charter() (charter.Chain, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.alone {
		return charter.Chain{}, false
	}
	if s.only != nil {
		return *s.only, true
	}
	return s.world.chain, true
}

// State implements self.Standing.
func (s *Standing) State(time.Time) (federation.State, []federation.Reason, federation.Allowed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := s.state == federation.Fresh
	return s.state, nil, federation.Allowed{
		LiveReads: fresh || s.state == federation.Stale, NewLoans: fresh, OwnLoans: s.state != federation.Recovering, OwnLog: true,
	}
}

// ring knows did:key organizations, which are all there are.
type ring struct{}

// Keys implements recorder.Ring.
func (ring) Keys(_ context.Context, d did.DID, _ string) (map[string]did.PublicKey, error) {
	k, err := didkey.Key(d)
	return map[string]did.PublicKey{k.Multikey(): k}, err
}

// Known implements recorder.Ring.
func (ring) Known(context.Context, did.DID) ([]string, error) {
	return []string{did.StaticVersion}, nil
}

// Witness implements recorder.Ring.
func (ring) Witness(context.Context, did.DID) []did.PublicKey { return nil }

// noKeys are the charter.Keys of a world in which no key was ever retired.
type noKeys struct{}

func (noKeys) At(did.DID, string) ([]did.PublicKey, error)           { return nil, charter.ErrUnknownVersion }
func (noKeys) Extends(did.DID, string, string) (bool, error)         { return false, charter.ErrUnknownVersion }
func (noKeys) Ended(did.DID, did.PublicKey) (uint64, bool)           { return 0, false }
func (noKeys) Signed(did.DID, pins.Slot, envelope.ID) (uint64, bool) { return 0, false }

// Chain is the charter that all nodes signed.
func (w *World) Chain() charter.Chain { return w.chain }
