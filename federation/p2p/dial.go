package p2p

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

// dialer keeps a link to one admitted peer. libp2p does not: a peer that came
// back was alone for minutes.
type dialer struct {
	host   host.Host
	to     peer.ID
	cancel context.CancelFunc
	aim    func()        // makes the address book ready
	again  chan struct{} // try soon: new addresses, or the peer was heard of
	down   chan struct{} // the link is gone
}

func newDialer(h host.Host, to peer.ID, cancel context.CancelFunc, aim func()) *dialer {
	return &dialer{host: h, to: to, cancel: cancel, aim: aim, again: make(chan struct{}, 1), down: make(chan struct{}, 1)}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run dials until ctx ends, first after wait: 1 s to 30 s apart while it fails. A peer that
// was linked not long ago is more likely cut off than gone: to it the waits do not grow, or
// a cut of 30 s would last a minute.
func (d *dialer) run(ctx context.Context, wait time.Duration) {
	var lost time.Time // when the newest good link ended
	for back := dialMin; ; {
		if !d.pause(ctx, wait, &back) {
			return
		}
		if d.linked() {
			since := time.Now()
			if !d.hold(ctx) {
				return
			}
			if time.Since(since) >= goodLink {
				back, lost = dialMin, time.Now()
			}
		} else {
			d.dial(ctx, time.Since(lost) < eagerFor)
			if d.linked() {
				wait = 0
				continue
			}
		}
		wait, back = jitter(back), longer(back, time.Since(lost))
	}
}

// pause waits, or less where there is reason to.
func (d *dialer) pause(ctx context.Context, wait time.Duration, back *time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
			return true
		case <-d.again:
			*back = dialMin
			return true
		case <-d.down: // of a link that is gone already
		}
	}
}

// hold waits for the end of the link.
func (d *dialer) hold(ctx context.Context) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-d.down:
		case <-d.again:
		case <-time.After(dialMax): // in case word of the end got lost
		}
		if !d.linked() {
			return true
		}
	}
}

func (d *dialer) dial(ctx context.Context, eager bool) {
	most := dialTimeout
	if eager {
		most = eagerTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	d.aim()
	// Nil means little: the other side may still refuse. Hello tells.
	_ = d.host.Connect(ctx, peer.AddrInfo{ID: d.to})
}

func (d *dialer) linked() bool {
	return d.host.Network().Connectedness(d.to) == network.Connected
}

// longer is the wait after one of d that did not help, the newest good link being so long
// gone.
func longer(d, gone time.Duration) time.Duration {
	if gone < eagerFor {
		return d
	}
	return min(2*d, dialMax)
}

// jitter spreads d by a fifth both ways.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
