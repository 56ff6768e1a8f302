package gossip

import (
	"context"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/federation"
)

// gap is a log whose end peers hold and this node does not.
type gap struct {
	size  uint64
	from  []federation.PeerID // who showed it
	due   time.Time           // when it is pulled next, unless it is closed by then
	tries int
}

// lag notes that a peer showed a log at a size that is not held. What is on its
// way gets a moment to arrive.
func (n *Node) lag(d did.DID, size uint64, from federation.PeerID) {
	soon := n.cfg.Now().Add(lagWait)
	n.mu.Lock()
	g, ok := n.gaps[d]
	if !ok && len(n.gaps) < maxLags {
		g = &gap{due: soon}
		n.gaps[d] = g
	}
	if g != nil {
		if size > g.size {
			g.size, g.tries = size, 0
			if g.due.After(soon) {
				g.due = soon
			}
		}
		if !slices.Contains(g.from, from) && len(g.from) < maxShowing {
			g.from = append(g.from, from)
		}
	}
	n.mu.Unlock()
	n.lags.give()
}

// lagLoop pulls what did not arrive, again and from others until it is held: one message may
// have been dropped, one peer may have shown what it has lost, or not yet, or its link
// may have died since.
func (n *Node) lagLoop(ctx context.Context) {
	for {
		wait, any := n.pullGaps(ctx)
		if !any {
			wait = time.Hour
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-n.lags:
		case <-t.C:
		}
		if t.Stop(); ctx.Err() != nil {
			return
		}
	}
}

// pullGaps pulls what is due, and returns how long nothing else is; false where nothing lags.
func (n *Node) pullGaps(ctx context.Context) (wait time.Duration, any bool) {
	n.mu.Lock()
	open := make(map[did.DID]uint64, len(n.gaps))
	for d, g := range n.gaps {
		open[d] = g.size
	}
	n.mu.Unlock()
	now := n.cfg.Now()
	for d, size := range open {
		held, _, err := n.head(ctx, d)
		to, next := n.nextTry(d, now, err != nil || held >= size)
		for _, id := range to {
			n.kick(id)
		}
		if !next.IsZero() && (!any || next.Sub(now) < wait) {
			wait, any = next.Sub(now), true
		}
	}
	return wait, any
}

// nextTry returns who is to be asked for a log now, if anybody, and when the next one is to
// be; the zero time once it is closed or given up: the sync of every minute remains.
func (n *Node) nextTry(d did.DID, now time.Time, closed bool) (to []federation.PeerID, next time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	g := n.gaps[d]
	if closed || g.tries >= lagTries {
		delete(n.gaps, d)
		return nil, time.Time{}
	}
	if g.due.After(now) {
		return nil, g.due
	}
	if all := n.holders(d, g.from); len(all) > 0 {
		to = all[g.tries%len(all):][:1]
	}
	g.tries++
	g.due = now.Add(lagAgain)
	return to, g.due
}

// holders lists greeted peers that may hold the end of a log: who showed it, its own nodes, and
// all others after them. The caller holds mu.
func (n *Node) holders(d did.DID, shown []federation.PeerID) (out []federation.PeerID) {
	add := func(id federation.PeerID) {
		if p := n.peers[id]; p != nil && p.greeted && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, id := range shown {
		add(id)
	}
	for id, org := range n.bound {
		if org == d {
			add(id)
		}
	}
	for id := range n.bound {
		add(id)
	}
	return out
}

// kick makes the link to a peer sync soon.
func (n *Node) kick(id federation.PeerID) {
	if _, ok := n.orgOf(id); ok {
		n.peer(id).kick.give()
	}
}
