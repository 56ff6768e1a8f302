package p2p

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"

	"trustnode/federation"
)

// run is what lives as long as Run.
type run struct {
	t     *Transport
	ctx   context.Context
	h     federation.Handler
	links *federation.Links
	wg    sync.WaitGroup // dialers, and calls of Serve and Judge

	mu      sync.Mutex
	done    bool                // guarded by mu; nothing may be added to wg
	gossip  *gossip             // guarded by mu
	dialers map[peer.ID]*dialer // guarded by mu

	gone map[peer.ID]*absence // owned by watch
}

// Run implements federation.Transport. The host is closed on return.
func (t *Transport) Run(ctx context.Context, h federation.Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, events, err := t.start(ctx, h)
	switch {
	case err == nil:
	case ctx.Err() != nil && !errors.Is(err, federation.ErrStopped):
		return nil
	default:
		return err
	}
	r.watch(events)
	t.stop(r, cancel)
	return nil
}

func (t *Transport) start(ctx context.Context, h federation.Handler) (*run, event.Subscription, error) {
	t.admitting.Lock()
	defer t.admitting.Unlock()
	t.mu.Lock()
	ran := t.ran
	t.ran = true
	t.mu.Unlock()
	if ran {
		return nil, nil, federation.ErrStopped
	}
	r := &run{t: t, ctx: ctx, h: h, links: federation.NewLinks(ctx, h), dialers: map[peer.ID]*dialer{}, gone: map[peer.ID]*absence{}}
	events, err := t.host.EventBus().Subscribe([]any{
		new(event.EvtPeerIdentificationCompleted), new(event.EvtPeerConnectednessChanged),
	}, eventbus.BufSize(1024))
	if err != nil {
		return nil, nil, err
	}
	admitted := t.gate.list()
	if r.gossip, err = r.newGossip(len(admitted) + 1); err == nil {
		err = r.gossip.setDirect(admitted)
	}
	if err != nil {
		_ = events.Close()
		_ = t.host.Close()
		return nil, nil, err
	}
	for _, p := range federation.Protocols() {
		t.host.SetStreamHandler(protocolID(p), r.serve(p))
	}
	t.mu.Lock()
	t.run = r
	t.mu.Unlock()
	t.gate.turn(true)
	for _, p := range admitted {
		r.dial(p)
	}
	return r, events, nil
}

func (t *Transport) stop(r *run, cancel context.CancelFunc) {
	t.gate.turn(false)
	t.mu.Lock()
	t.run = nil
	t.mu.Unlock()
	r.mu.Lock()
	r.done = true
	r.mu.Unlock()
	cancel()
	if err := t.host.Close(); err != nil { // closes every link and stream
		t.log.Warn("closing the libp2p host", "err", err)
	}
	r.wg.Wait()
	r.links.Wait()
}

func (r *run) newGossip(n int) (*gossip, error) {
	receive := federation.MaxReceive
	if x := r.t.cfg.testingOnlyReceive; x > 0 {
		receive = x
	}
	return newGossip(r.ctx, r.t.host, r.t.gate, degreesFor(n), receive, r.judge)
}

func (r *run) gossiping() *gossip {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gossip
}

// begin counts a call into the Handler, which ends with r.wg.Done. It reports
// false where the run is over.
func (r *run) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return false
	}
	r.wg.Add(1)
	return true
}

// judge asks the Handler. What this node publishes was judged before.
func (r *run) judge(ctx context.Context, from peer.ID, m *pubsub.Message) pubsub.ValidationResult {
	if from == r.t.host.ID() {
		return pubsub.ValidationAccept
	}
	id, ok := r.t.gate.id(from)
	if !ok || !r.begin() {
		return pubsub.ValidationIgnore
	}
	defer r.wg.Done()
	switch r.h.Judge(ctx, id, federation.Topic(m.GetTopic()), m.GetData()) {
	case federation.Accept:
		return pubsub.ValidationAccept
	case federation.Reject:
		return pubsub.ValidationReject
	}
	return pubsub.ValidationIgnore
}

// admit brings dialers and gossip in line with the table.
func (r *run) admit(_ context.Context, was, next map[peer.ID]federation.Peer) error {
	for p := range was {
		if _, ok := next[p]; !ok {
			r.drop(p)
		}
	}
	for p, info := range next {
		old, ok := was[p]
		switch {
		case !ok:
			r.dial(p)
		case !slices.Equal(old.Addrs, info.Addrs):
			r.redial(p)
		}
	}
	if g := r.gossiping(); g.deg == degreesFor(len(next)+1) {
		return g.setDirect(slices.Collect(maps.Keys(next)))
	}
	return r.regossip(slices.Collect(maps.Keys(next)))
}

// regossip replaces gossipsub, whose degrees cannot be changed, and every link,
// on which the old one had its streams.
func (r *run) regossip(peers []peer.ID) error {
	fresh, err := r.newGossip(len(peers) + 1)
	if err != nil {
		return err
	}
	r.mu.Lock()
	old := r.gossip
	r.gossip = fresh
	r.mu.Unlock()
	old.cancel()
	if err := fresh.setDirect(peers); err != nil {
		return err
	}
	for _, p := range r.t.host.Network().Peers() {
		_ = r.t.host.Network().ClosePeer(p)
		r.redial(p)
	}
	return nil
}

// dial starts keeping a link to p.
func (r *run) dial(p peer.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done || r.dialers[p] != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	d := newDialer(r.t.host, p, cancel, func() { r.t.aim(p) })
	r.dialers[p] = d
	var wait time.Duration
	if cmp.Compare(r.t.host.ID(), p) > 0 {
		wait = jitter(dialLater)
	}
	r.wg.Go(func() { d.run(ctx, wait) })
}

func (r *run) redial(p peer.ID) {
	if d := r.dialer(p); d != nil {
		poke(d.again)
	}
}

func (r *run) dialer(p peer.ID) *dialer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dialers[p]
}

// drop stops keeping a link to p and tells the Handler that there is none.
func (r *run) drop(p peer.ID) {
	r.mu.Lock()
	if d := r.dialers[p]; d != nil {
		d.cancel()
		delete(r.dialers, p)
	}
	r.mu.Unlock()
	r.down(p)
}

func (r *run) up(p peer.ID) {
	if id, ok := r.t.gate.id(p); ok {
		r.links.Up(id)
		if !r.t.gate.admitted(p) { // Admit ran meanwhile
			r.links.Down(id)
		}
	}
}

func (r *run) down(p peer.ID) {
	if id, err := toPeerID(p); err == nil {
		r.links.Down(id)
	}
	if d := r.dialer(p); d != nil {
		poke(d.down)
	}
}

func (r *run) connected(p peer.ID) bool {
	return r.t.host.Network().Connectedness(p) == network.Connected
}
