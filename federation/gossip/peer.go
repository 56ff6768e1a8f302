package gossip

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/federation"
)

// peer is what is known of one node.
type peer struct {
	id    federation.PeerID
	slots chan struct{} // one for each sync stream that is open to it
	kick  signal        // wakes the sync of its link

	// The rest is guarded by Node.mu.
	org     did.DID
	linked  bool
	met     chan struct{} // closed while it is greeted
	greeted bool
	status  PeerStatus // what it showed; org, id and the flags are filled in later
}

func newPeer(id federation.PeerID) *peer {
	return &peer{id: id, slots: make(chan struct{}, syncStreams), kick: make(signal, 1), met: make(chan struct{})}
}

// greet notes that hello went well.
func (p *peer) greet() {
	if !p.greeted {
		p.greeted = true
		close(p.met)
	}
}

// forget makes the next stream wait for a hello again.
func (p *peer) forget() {
	if p.greeted {
		p.greeted, p.met = false, make(chan struct{})
	}
}

func (n *Node) peerLocked(id federation.PeerID) *peer {
	p, ok := n.peers[id]
	if !ok {
		p = newPeer(id)
		n.peers[id] = p
	}
	return p
}

func (n *Node) peer(id federation.PeerID) *peer {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.peerLocked(id)
}

// orgOf returns the organization that bound a peer.
func (n *Node) orgOf(id federation.PeerID) (did.DID, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	org, ok := n.bound[id]
	return org, ok
}

// admitted waits a moment for the hello of a peer's link and returns its
// organization; false where it is not bound or was not greeted.
func (n *Node) admitted(ctx context.Context, id federation.PeerID) (did.DID, bool) {
	n.mu.Lock()
	org, ok := n.bound[id]
	if !ok {
		n.mu.Unlock()
		return did.DID{}, false
	}
	met := n.peerLocked(id).met
	n.mu.Unlock()
	t := time.NewTimer(greetWait)
	defer t.Stop()
	select {
	case <-met:
		return org, true
	case <-t.C:
	case <-ctx.Done():
	}
	return did.DID{}, false
}

// bounded lists the bound peers, those that are linked first.
func (n *Node) bounded(keep func(*peer) bool) []*peer {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []*peer
	for id := range n.bound {
		if p := n.peerLocked(id); keep == nil || keep(p) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *peer) int {
		if a.greeted != b.greeted {
			if a.greeted {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.id.String(), b.id.String())
	})
	return out
}

func greeted(p *peer) bool { return p.greeted }

func ofOrg(org did.DID) func(*peer) bool { return func(p *peer) bool { return p.org == org } }

// kickAll makes every link sync soon.
func (n *Node) kickAll() {
	for _, p := range n.bounded(greeted) {
		p.kick.give()
	}
}

// PeerStatus is what is known of one bound node, for people.
type PeerStatus struct {
	Org     did.DID
	ID      federation.PeerID
	Linked  bool
	Greeted bool                  // hello went well on this link
	Verdict federation.Admission  // its answer to the last hello; empty: none yet
	About   federation.AboutYou   // what it said about us
	Charter federation.CharterRef // its head, as last shown
	Held    uint64                // how much of our log it held, as last shown
	Contact time.Time             // when it last said anything on a stream; zero: never
	Offset  time.Duration         // its clock minus ours at the last hello
}

// Peers returns the bound nodes by organization and id.
func (n *Node) Peers() []PeerStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := make([]PeerStatus, 0, len(n.bound))
	for id, org := range n.bound {
		p := n.peerLocked(id)
		s := p.status
		s.Org, s.ID, s.Linked, s.Greeted = org, id, p.linked, p.greeted
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b PeerStatus) int {
		return cmp.Or(cmp.Compare(a.Org.String(), b.Org.String()), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return out
}

func (n *Node) note(p *peer, set func(s *PeerStatus)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p.status.Contact = n.cfg.Now()
	set(&p.status)
}

// open opens a stream to p that is reset when ctx ends; close ends it in order.
func (n *Node) open(ctx context.Context, p *peer, proto federation.Protocol) (f *federation.Frames, s federation.Stream, done func(), err error) {
	s, err = n.cfg.Transport.Open(ctx, p.id, proto)
	if err != nil {
		return nil, nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	return federation.NewFrames(s, proto), s, func() { stop(); _ = s.Close() }, nil
}

// errBlame is wrapped by the error for what no honest member sends.
var errBlame = errors.New("the peer's fault")

func blame(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errBlame, fmt.Sprintf(format, args...))
}

// cut resets a stream after a fault of the peer and counts it.
func (n *Node) cut(ctx context.Context, p federation.PeerID, s federation.Stream, err error) {
	_ = s.Reset()
	if isFault(err) {
		n.stats.blamed.Add(1)
		n.cfg.Log.WarnContext(ctx, "stream cut", "peer", p.String(), "err", err)
	}
}

// isFault reports whether err is what a peer does on purpose or by a defect, not
// what a network does.
func isFault(err error) bool {
	var silent interface{ Timeout() bool }
	return errors.Is(err, errBlame) || errors.Is(err, federation.ErrFrame) || errors.Is(err, federation.ErrTooLarge) ||
		errors.As(err, &silent) && silent.Timeout() && !errors.Is(err, context.DeadlineExceeded)
}
