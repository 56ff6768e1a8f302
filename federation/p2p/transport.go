package p2p

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"

	"trustnode/federation"
)

// Config is what a Transport is made from.
type Config struct {
	Seed   []byte       // of the Ed25519 node key, 32 bytes
	Listen []string     // multiaddrs, TCP and QUIC; port 0: any free one
	CIDRs  []string     // networks of members, whose connections are not counted
	Log    *slog.Logger // nil: silent

	testingOnlyReceive int           // another receive limit than the fixed one
	testingOnlyAbsent  time.Duration // another patience of the watchdog
}

// Transport is one node's place in a federation over libp2p.
type Transport struct {
	id   federation.PeerID
	host host.Host
	gate *gate
	log  *slog.Logger
	cfg  Config

	slots  federation.Slots
	visits visits
	resets atomic.Uint64

	admitting sync.Mutex // held by Admit, and by Run while it starts
	mu        sync.Mutex
	run       *run // guarded by mu; nil unless Run runs
	ran       bool // guarded by mu
}

var _ federation.Transport = (*Transport)(nil)

// New makes a Transport that listens on every address of cfg, and lets nobody in
// before Run. The error names the address that cannot be had. A Transport whose
// Run is never called is closed by Close.
func New(cfg Config) (*Transport, error) {
	if len(cfg.Seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("node key seed of %d bytes instead of %d", len(cfg.Seed), ed25519.SeedSize)
	}
	cidrs, err := parsePrefixes(cfg.CIDRs)
	if err != nil {
		return nil, err
	}
	g := newGate(time.Now)
	h, err := newHost(cfg.Seed, g, cidrs)
	if err != nil {
		return nil, err
	}
	t := &Transport{host: h, gate: g, log: cfg.Log, cfg: cfg}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	t.cfg.Seed = nil // the host has it
	if t.id, err = toPeerID(h.ID()); err == nil {
		err = listen(h, cfg.Listen)
	}
	if err != nil {
		_ = h.Close()
		return nil, err
	}
	return t, nil
}

// ID returns the peer id of the node.
func (t *Transport) ID() federation.PeerID { return t.id }

// Addrs returns the addresses listened on, an unspecified one as those of the
// interfaces of this machine.
func (t *Transport) Addrs() []string {
	ms, err := t.host.Network().InterfaceListenAddresses()
	if err != nil {
		return nil
	}
	var as []string
	for _, m := range ms {
		as = append(as, m.String())
	}
	slices.Sort(as)
	return as
}

// Resets returns how many links were closed because gossip over them had died.
func (t *Transport) Resets() uint64 { return t.resets.Load() }

// Close ends a Transport that does not run; one that runs ends with the context
// of Run.
func (t *Transport) Close() error {
	t.mu.Lock()
	ran := t.ran
	t.ran = true
	t.mu.Unlock()
	if ran {
		return nil
	}
	return t.host.Close()
}

// Admit implements federation.Transport.
func (t *Transport) Admit(ctx context.Context, peers []federation.Peer) error {
	next, err := t.table(peers)
	if err != nil {
		return err
	}
	t.admitting.Lock()
	defer t.admitting.Unlock()
	was := t.gate.set(next)
	t.forget(was, next)
	for _, p := range t.host.Network().Peers() {
		// A peer met before it was bound is met anew: gossipsub looks at a peer
		// once, when its link comes up.
		_, old := was[p]
		if _, ok := next[p]; ok && old {
			continue
		}
		t.gate.leave(p)
		_ = t.host.Network().ClosePeer(p)
	}
	r := t.running()
	if r == nil {
		return nil
	}
	return r.admit(ctx, was, next)
}

func (t *Transport) table(peers []federation.Peer) (map[peer.ID]federation.Peer, error) {
	if len(peers) > federation.MaxPeers {
		return nil, fmt.Errorf("%d peers, cap %d: %w", len(peers), federation.MaxPeers, federation.ErrTooLarge)
	}
	m := map[peer.ID]federation.Peer{}
	for _, p := range peers {
		id, err := fromPeerID(p.ID)
		if err != nil {
			return nil, fmt.Errorf("peer %q: %w", p.ID, federation.ErrPeerID)
		}
		if p.ID != t.id {
			m[id] = p
		}
	}
	return m, nil
}

// forget removes from the address book who is not admitted any more.
func (t *Transport) forget(was, next map[peer.ID]federation.Peer) {
	for p := range was {
		if _, ok := next[p]; !ok {
			t.host.Peerstore().ClearAddrs(p)
			t.host.Peerstore().RemovePeer(p)
		}
	}
}

// aim makes the address book say of p what its binding says, and nothing that p
// or another told on the way, and ends the waits of libp2p: they are ours.
func (t *Transport) aim(p peer.ID) {
	info, ok := t.gate.find(p)
	if !ok || t.host.Network().Connectedness(p) == network.Connected {
		return
	}
	t.host.Peerstore().ClearAddrs(p)
	t.host.Peerstore().AddAddrs(p, dialable(info.Addrs), peerstore.PermanentAddrTTL)
	if s, ok := t.host.Network().(*swarm.Swarm); ok {
		s.Backoff().Clear(p)
	}
}

func (t *Transport) running() *run {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.run
}

// Publish implements federation.Transport.
func (t *Transport) Publish(ctx context.Context, topic federation.Topic, msg []byte) error {
	if len(msg) > federation.MaxMessage {
		return fmt.Errorf("message of %d bytes, cap %d: %w", len(msg), federation.MaxMessage, federation.ErrTooLarge)
	}
	if !slices.Contains(federation.Topics(), topic) {
		return fmt.Errorf("topic %q is unknown", topic)
	}
	r := t.running()
	if r == nil {
		return federation.ErrStopped
	}
	if err := r.gossiping().topics[topic].Publish(ctx, slices.Clone(msg)); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %v", federation.ErrStopped, err)
	}
	return nil
}

// Open implements federation.Transport.
func (t *Transport) Open(ctx context.Context, to federation.PeerID, p federation.Protocol) (federation.Stream, error) {
	if !p.Known() {
		return nil, fmt.Errorf("protocol %q is unknown", p)
	}
	if t.running() == nil {
		return nil, federation.ErrStopped
	}
	id, err := fromPeerID(to)
	if err != nil {
		return nil, federation.ErrPeerID
	}
	octx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	if !t.gate.admitted(id) {
		if !p.Open() || t.host.Network().Connectedness(id) != network.Connected {
			return nil, fmt.Errorf("%s is not admitted: %w", to, federation.ErrUnreachable)
		}
		octx = network.WithNoDial(octx, "not admitted")
	}
	t.aim(id)
	s, err := t.host.NewStream(octx, id, protocolID(p))
	switch {
	case ctx.Err() != nil:
		if err == nil {
			_ = s.Reset()
		}
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %v", to, federation.ErrUnreachable, err)
	case !t.gate.may(id): // the table changed while the stream was opened
		_ = s.Reset()
		return nil, fmt.Errorf("%s is not admitted: %w", to, federation.ErrUnreachable)
	}
	return s, nil
}

func protocolID(p federation.Protocol) protocol.ID { return protocol.ID(p) }
