package gossip

import (
	"context"
	"maps"
	"time"

	"trustnode/did"
	"trustnode/federation"
)

// shownHead is a head of a DID log that somebody showed and that is not known here.
type shownHead struct {
	by      string // the node that was asked, or the member whose beacon shows it
	of      did.DID
	version string // empty: all that is kept
}

// chased bounds what is done about heads that are not known here. Whoever may send
// heads can invent them, each of which could cost a sync, or a whole log to verify.
type chased struct {
	at    map[shownHead]time.Time
	asks  rates // an hour, of each organization whose nodes are asked
	shows rates // an hour, of each organization whose beacons show them
}

func newChased() chased { return chased{at: map[shownHead]time.Time{}, asks: rates{}, shows: rates{}} }

// may counts one head that org showed and reports whether something is to be done about it.
func (c *chased) may(h shownHead, count rates, org did.DID, now time.Time) bool {
	if at, ok := c.at[h]; ok && now.Sub(at) < chaseAgain {
		return false
	}
	if !count.within(org, now, time.Hour, chasesPerHour) {
		return false
	}
	if len(c.at) >= maxChased {
		maps.DeleteFunc(c.at, func(_ shownHead, at time.Time) bool { return now.Sub(at) >= chaseAgain })
	}
	if len(c.at) >= maxChased {
		return false
	}
	c.at[h] = now
	return true
}

// mayAsk counts a question to a node for a whole DID log.
func (n *Node) mayAsk(h shownHead, org did.DID) bool {
	n.judging.mu.Lock()
	defer n.judging.mu.Unlock()
	return n.judging.chased.may(h, n.judging.chased.asks, org, n.cfg.Now())
}

// askAnew lets a node be asked again: it was not answered to the end.
func (n *Node) askAnew(h shownHead) {
	n.judging.mu.Lock()
	defer n.judging.mu.Unlock()
	delete(n.judging.chased.at, h)
}

// strange reports whether a beacon shows a head of a member's DID log that is not known
// here and that it did not show a while ago. n.judging.mu is held.
func (n *Node) strange(ctx context.Context, b federation.Beacon) (strange bool) {
	c := &n.judging.chased
	for _, h := range b.Heads {
		if h.DIDHead == "" || n.cfg.Members.Status(h.DID) == "" || n.cfg.Identities.Knows(ctx, h.DID, h.DIDHead) {
			continue
		}
		if c.may(shownHead{"beacon of " + b.Org.String(), h.DID, h.DIDHead}, c.shows, b.Org, n.cfg.Now()) {
			strange = true
		}
	}
	return strange
}

// kickOrg makes the links to an organization's nodes sync soon; where there are none,
// that to whoever passed its word on.
func (n *Node) kickOrg(org did.DID, from federation.PeerID) {
	peers := n.bounded(func(p *peer) bool { return p.org == org && p.greeted })
	for _, p := range peers {
		p.kick.give()
	}
	if len(peers) == 0 {
		n.kick(from)
	}
}
