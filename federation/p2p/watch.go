package p2p

import (
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

// absence is how long a linked peer has been missing from a topic.
type absence struct {
	since  time.Time     // zero: it is there
	wait   time.Duration // patience
	linked time.Time     // when it was first seen linked without the Handler knowing
}

// watch follows links until the context of the run ends. It is the one place
// that tells which links are up.
func (r *run) watch(events event.Subscription) {
	defer events.Close()
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case e, ok := <-events.Out():
			if !ok {
				return
			}
			r.event(e)
		case <-t.C:
			r.inspect(time.Now())
		}
	}
}

func (r *run) event(e any) {
	switch e := e.(type) {
	case event.EvtPeerIdentificationCompleted:
		// The link works both ways: a gate on the other side would have shown.
		if r.connected(e.Peer) {
			r.expel(e.Peer)
			r.up(e.Peer)
		}
	case event.EvtPeerConnectednessChanged:
		if e.Connectedness == network.Connected {
			r.expel(e.Peer)
			return
		}
		r.t.gate.leave(e.Peer)
		r.down(e.Peer)
		if r.connected(e.Peer) { // and back already
			r.up(e.Peer)
		}
	}
}

// expel closes a link that came up while the table changed.
func (r *run) expel(p peer.ID) {
	if !r.t.gate.may(p) {
		_ = r.t.host.Network().ClosePeer(p)
	}
}

// inspect repairs what events missed: links the Handler was not told of, lobby
// links that stay too long, links over which gossip died.
func (r *run) inspect(now time.Time) {
	for _, p := range r.t.gate.overstayed() {
		r.t.gate.leave(p)
		if !r.t.gate.admitted(p) {
			_ = r.t.host.Network().ClosePeer(p)
		}
	}
	var linked []peer.ID
	for _, p := range r.t.gate.list() {
		id, ok := r.t.gate.id(p)
		if !ok {
			continue
		}
		if c := r.connected(p); c != r.links.Has(id) {
			r.reconcile(p, c, now)
		} else if c {
			linked = append(linked, p)
		}
	}
	r.gossipDied(linked, now)
}

// reconcile waits a moment before it believes in a link: identification may be
// on its way.
func (r *run) reconcile(p peer.ID, connected bool, now time.Time) {
	a := r.absence(p)
	switch {
	case !connected:
		r.down(p)
		a.linked = time.Time{}
	case a.linked.IsZero():
		a.linked = now
	case now.Sub(a.linked) >= 5*tick:
		a.linked = time.Time{}
		r.up(p)
	}
}

func (r *run) absence(p peer.ID) *absence {
	a, ok := r.gone[p]
	if !ok {
		a = &absence{wait: r.patience()}
		r.gone[p] = a
	}
	return a
}

func (r *run) patience() time.Duration {
	if d := r.t.cfg.testingOnlyAbsent; d > 0 {
		return d
	}
	return absent
}

// gossipDied makes links anew whose peer is absent from a topic. One message over
// the receive limit does that, and the link itself looks well for ever.
func (r *run) gossipDied(linked []peer.ID, now time.Time) {
	missing := map[peer.ID]bool{}
	for _, p := range r.gossiping().missing(linked) {
		missing[p] = true
	}
	for _, p := range linked {
		a := r.absence(p)
		switch {
		case !missing[p]:
			a.since, a.wait = time.Time{}, r.patience()
		case a.since.IsZero():
			a.since = now
		case now.Sub(a.since) >= a.wait:
			a.since, a.wait = time.Time{}, min(2*a.wait, absentMax)
			r.reset(p)
		}
	}
	for p := range r.gone {
		if !r.t.gate.admitted(p) {
			delete(r.gone, p)
		}
	}
}

func (r *run) reset(p peer.ID) {
	r.t.resets.Add(1)
	r.t.log.Warn("link closed: peer is absent from a topic", "peer", p.String())
	_ = r.t.host.Network().ClosePeer(p)
	r.redial(p)
}
