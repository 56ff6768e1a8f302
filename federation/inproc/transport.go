package inproc

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
	"time"

	"trustnode/federation"
)

// Transport is the place of one node in a Network.
type Transport struct {
	net *Network
	id  federation.PeerID

	admitted map[federation.PeerID]bool // guarded by net.mu
	run      *running                   // guarded by net.mu; nil unless Run runs
	ran      bool                       // guarded by net.mu
}

var _ federation.Transport = (*Transport)(nil)

// running is what lives as long as Run.
type running struct {
	ctx   context.Context
	h     federation.Handler
	links *federation.Links
	slots federation.Slots
	inbox *inbox
	wg    sync.WaitGroup            // calls of Serve
	lobby map[federation.PeerID]int // guarded by net.mu; open streams of unadmitted peers
	seen  map[[32]byte]*sighting    // guarded by net.mu
	swept time.Time                 // guarded by net.mu
}

// sighting is what is remembered of a message.
type sighting struct {
	at        time.Time
	delivered bool
}

// ID returns the peer id of the node.
func (t *Transport) ID() federation.PeerID { return t.id }

// Addrs returns no address: a network in memory needs none.
func (t *Transport) Addrs() []string { return nil }

// Admit implements federation.Transport.
func (t *Transport) Admit(_ context.Context, peers []federation.Peer) error {
	if len(peers) > federation.MaxPeers {
		return fmt.Errorf("%d peers, cap %d: %w", len(peers), federation.MaxPeers, federation.ErrTooLarge)
	}
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	next := map[federation.PeerID]bool{}
	for _, p := range peers {
		if p.ID != t.id {
			next[p.ID] = true
		}
	}
	was := t.admitted
	t.admitted = next
	for _, o := range t.net.sorted() {
		if was[o.id] != next[o.id] { // also a lobby link of one now admitted
			t.net.drop(t.id, o.id)
		}
	}
	t.net.relink()
	return nil
}

// Run implements federation.Transport.
func (t *Transport) Run(ctx context.Context, h federation.Handler) error {
	r, err := t.start(ctx, h)
	if err != nil {
		return err
	}
	for {
		d, ok := r.inbox.next(ctx)
		if !ok {
			break
		}
		t.deliver(r, d)
	}
	t.net.mu.Lock()
	t.run = nil
	t.net.relink()
	t.net.mu.Unlock()
	r.wg.Wait()
	r.links.Wait()
	return nil
}

func (t *Transport) start(ctx context.Context, h federation.Handler) (*running, error) {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	if t.ran || t.net.nodes[t.id] != t {
		return nil, federation.ErrStopped
	}
	t.ran = true
	t.run = &running{
		ctx: ctx, h: h, links: federation.NewLinks(ctx, h), inbox: newInbox(), swept: time.Now(),
		lobby: map[federation.PeerID]int{}, seen: map[[32]byte]*sighting{},
	}
	t.net.relink()
	return t.run, nil
}

// Publish implements federation.Transport.
func (t *Transport) Publish(ctx context.Context, topic federation.Topic, msg []byte) error {
	switch {
	case len(msg) > federation.MaxMessage:
		return fmt.Errorf("message of %d bytes, cap %d: %w", len(msg), federation.MaxMessage, federation.ErrTooLarge)
	case !slices.Contains(federation.Topics(), topic):
		return fmt.Errorf("topic %q is unknown", topic)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	if t.run == nil || t.run.ctx.Err() != nil {
		return federation.ErrStopped
	}
	d := delivery{topic: topic, msg: slices.Clone(msg), sum: sha256.Sum256(msg), origin: t.id, from: t.id}
	s := t.run.see(d.sum)
	if s.delivered {
		return nil // as the libp2p twin: it is out already
	}
	s.delivered = true
	t.forward(d)
	return nil
}

// see returns what is remembered of a message, which is from now on seen.
func (r *running) see(sum [32]byte) *sighting {
	now := time.Now()
	if now.Sub(r.swept) >= sweep {
		r.swept = now
		for k, s := range r.seen {
			if now.Sub(s.at) >= sticky {
				delete(r.seen, k)
			}
		}
	}
	s, ok := r.seen[sum]
	if !ok {
		s = &sighting{at: now}
		r.seen[sum] = s
	}
	return s
}

// forward sends d to every peer it did not come from.
func (t *Transport) forward(d delivery) {
	for _, o := range t.net.sorted() {
		if o.id == d.from || o.id == d.origin || !t.net.gossips(t, o) {
			continue
		}
		d := d
		d.from = t.id
		t.net.send(o, d)
	}
}

// send puts d on its way to o, or loses it.
func (n *Network) send(o *Transport, d delivery) {
	p := pair{d.from, o.id}
	f := n.fault(p)
	if f.mute || f.deaf || f.drop > 0 && n.rnd.Float64() < f.drop {
		return
	}
	copies := 1
	if f.dup > 0 && n.rnd.Float64() < f.dup {
		copies = 2
	}
	for range copies {
		d.due = n.due(p)
		if f.reorder > 0 && n.rnd.Float64() < f.reorder {
			d.due = d.due.Add(time.Duration(n.rnd.Int64N(int64(shuffle))))
		}
		o.run.inbox.push(d)
	}
}

// deliver judges what came and passes it on.
func (t *Transport) deliver(r *running, d delivery) {
	if d.relink {
		t.redo(d.from)
		return
	}
	if !t.receive(r, d) {
		return
	}
	if r.h.Judge(r.ctx, d.from, d.topic, d.msg) != federation.Accept {
		return
	}
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	if s := r.see(d.sum); t.run == r && !s.delivered {
		s.delivered = true
		t.forward(d)
	}
}

// receive reports whether d is to be judged.
func (t *Transport) receive(r *running, d delivery) bool {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	from := t.net.nodes[d.from]
	if from == nil || !t.net.gossips(from, t) || !t.admitted[d.origin] {
		return false
	}
	if max := t.net.limit[t.id]; max > 0 && len(d.msg) > max {
		t.deafen(r, d.from)
		return false
	}
	if s, ok := r.seen[d.sum]; ok && time.Since(s.at) < sticky {
		return false
	}
	delete(r.seen, d.sum)
	r.see(d.sum)
	return true
}

// deafen silences the gossip of from, as an oversized message does, until the
// watchdog makes the link anew.
func (t *Transport) deafen(r *running, from federation.PeerID) {
	p := pair{from, t.id}
	if _, ok := t.net.faults[p]; !ok {
		f := t.net.all
		t.net.faults[p] = &f
	}
	if !t.net.faults[p].deaf {
		t.net.faults[p].deaf = true
		r.inbox.push(delivery{relink: true, from: from, due: t.net.due(p).Add(watchdog)})
	}
}

// redo closes the link to from and makes it anew.
func (t *Transport) redo(from federation.PeerID) {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	t.net.drop(t.id, from)
	t.net.relink()
}
