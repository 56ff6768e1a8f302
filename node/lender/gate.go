package lender

import (
	"sync"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// gate is the lock of one loan's releases: any number of releases hold it together, a
// revocation holds it alone and for good. It outlives its loan's last holder only in
// state: whoever comes later finds the revocation in its decision.
type gate struct {
	holders int        // guarded by Lender.mu
	parties [3]did.DID // lender, borrower, and the borrower's organization; never changes

	mu     sync.Mutex
	closed bool               // guarded by mu: no release begins any more
	busy   map[*Sender]func() // guarded by mu: abort of each release under way
	idle   chan struct{}      // guarded by mu: closed when the last release has ended; nil while nobody waits
}

// hold returns the gate of a loan. It is taken before the decision and dropped after the
// release, so that a revocation committed in between finds the same gate.
func (l *Lender) hold(k *known) *gate {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.gates[k.perm.ID()]
	if g == nil {
		p := k.perm.Body()
		g = &gate{busy: map[*Sender]func(){}, parties: [3]did.DID{p.Lender, p.Borrower, k.issued.BorrowerOrg}}
		l.gates[k.perm.ID()] = g
	}
	g.holders++
	return g
}

func (l *Lender) drop(perm envelope.ID, g *gate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.holders--; g.holders == 0 {
		delete(l.gates, perm)
	}
}

// pass sends an answer under the gate; ok is false if the loan has been revoked, and
// then nothing was sent.
func (g *gate) pass(s Sender, answer []byte) (ok bool, err error) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return false, nil
	}
	key := &s
	g.busy[key] = s.Abort
	g.mu.Unlock()
	defer g.leave(key)
	return true, s.Send(answer)
}

func (g *gate) leave(key *Sender) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.busy, key)
	if len(g.busy) == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// isClosed reports whether a revocation has closed the gate.
func (g *gate) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// drain closes gates, so that no release begins any more, and returns when the last one
// under way has ended: by itself within wait, which is for all together, or aborted.
func drain(wait time.Duration, gates ...*gate) {
	idle := make([]<-chan struct{}, len(gates))
	for i, g := range gates {
		idle[i] = g.close()
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	for i, g := range gates {
		select {
		case <-idle[i]:
			continue
		case <-t.C:
			t.Reset(0) // for all that follow too
		}
		g.abort()
		<-idle[i]
	}
}

// none is the end of releases of which there are none.
var none = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// close lets no release begin any more; the channel is closed once none is under way.
func (g *gate) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if len(g.busy) == 0 {
		return none
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	return g.idle
}

func (g *gate) abort() {
	g.mu.Lock()
	var under []func()
	for _, abort := range g.busy {
		under = append(under, abort)
	}
	g.mu.Unlock()
	for _, abort := range under {
		abort()
	}
}
