package inproc

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"trustnode/federation"
)

// Network is a set of nodes in one process. It is safe for concurrent use.
type Network struct {
	mu     sync.Mutex
	rnd    *rand.Rand                       // guarded by mu
	nodes  map[federation.PeerID]*Transport // guarded by mu; the newest of each id
	faults map[pair]*fault                  // guarded by mu
	all    fault                            // guarded by mu; holds where faults has nothing
	limit  map[federation.PeerID]int        // guarded by mu; receive limits below the usual one
	last   time.Time                        // guarded by mu; instant of the newest delivery
	serial uint64                           // guarded by mu
	pipes  map[*pipe]struct{}               // guarded by mu; open streams
}

// pair is a direction between two nodes.
type pair struct{ from, to federation.PeerID }

func (p pair) back() pair { return pair{p.to, p.from} }

// fault is what happens to what goes one way.
type fault struct {
	cut     bool // no link at all
	mute    bool // nothing comes through, but the link stays
	deaf    bool // gossip died, as after an oversized message; streams live
	delay   time.Duration
	drop    float64
	dup     float64
	reorder float64
}

// New returns an empty network whose chances are drawn from seed.
func New(seed uint64) *Network {
	return &Network{
		rnd:    rand.New(rand.NewPCG(seed, 0x7472757374)),
		nodes:  map[federation.PeerID]*Transport{},
		faults: map[pair]*fault{},
		limit:  map[federation.PeerID]int{},
		pipes:  map[*pipe]struct{}{},
	}
}

// Join returns a transport for the node id. A node that stopped joins again for
// a new one; the old one is of no use then.
func (n *Network) Join(id federation.PeerID) *Transport {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := &Transport{net: n, id: id, admitted: map[federation.PeerID]bool{}}
	n.nodes[id] = t
	return t
}

// Cut takes the link between a and b down and keeps it down.
func (n *Network) Cut(a, b federation.PeerID) {
	n.change(pair{a, b}, func(f *fault) { f.cut = true })
	n.change(pair{b, a}, func(f *fault) { f.cut = true })
}

// OneWay lets nothing through from b to a, while what a sends still reaches b.
// Both go on believing that the link is up.
func (n *Network) OneWay(a, b federation.PeerID) {
	n.change(pair{b, a}, func(f *fault) { f.mute = true })
}

// Heal ends every fault between a and b that was set for them.
func (n *Network) Heal(a, b federation.PeerID) {
	n.change(pair{a, b}, func(f *fault) { *f = n.all })
	n.change(pair{b, a}, func(f *fault) { *f = n.all })
}

// Delay makes everything take d from one node to another, streams too.
func (n *Network) Delay(d time.Duration) { n.everywhere(func(f *fault) { f.delay = d }) }

// Drop loses each message with probability p on each link.
func (n *Network) Drop(p float64) { n.everywhere(func(f *fault) { f.drop = p }) }

// Dup sends each message twice with probability p on each link.
func (n *Network) Dup(p float64) { n.everywhere(func(f *fault) { f.dup = p }) }

// Reorder makes each message late by up to 50 ms with probability p on each link.
func (n *Network) Reorder(p float64) { n.everywhere(func(f *fault) { f.reorder = p }) }

// Oversize lowers the receive limit of id to bytes. What an honest sender sends
// below the usual limit then silences its gossip towards id until the link is
// made anew. 0 restores the limit.
func (n *Network) Oversize(id federation.PeerID, bytes int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.limit[id] = bytes
}

// Step is one line of a script.
type Step struct {
	After time.Duration // since the step before
	Do    func(*Network)
}

// Play does steps in order and returns after the last, or when ctx ends.
func (n *Network) Play(ctx context.Context, steps ...Step) error {
	for _, s := range steps {
		if err := sleep(ctx, s.After); err != nil {
			return err
		}
		s.Do(n)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (n *Network) everywhere(set func(*fault)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	set(&n.all)
	for _, f := range n.faults {
		set(f)
	}
}

// change edits the fault of one direction and brings links in line with it.
func (n *Network) change(p pair, set func(*fault)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f, ok := n.faults[p]
	if !ok {
		f = new(fault)
		*f = n.all
		n.faults[p] = f
	}
	set(f)
	for s := range n.pipes {
		s.stall(n)
	}
	n.relink()
}

func (n *Network) fault(p pair) fault {
	if f, ok := n.faults[p]; ok {
		return *f
	}
	return n.all
}

// due gives the next delivery from p an instant that no other has.
func (n *Network) due(p pair) time.Time {
	n.last = latest(time.Now(), n.last.Add(apart))
	n.serial++
	return n.last.Add(n.fault(p).delay + time.Duration(n.serial%997))
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// linked reports whether a, which admits b, has a link to b. Where b does not
// admit a, it is a lobby link.
func (n *Network) linked(a, b *Transport) bool {
	return a != b && a.run != nil && b.run != nil && a.admitted[b.id] && !n.fault(pair{a.id, b.id}).cut
}

// gossips reports whether messages pass from a to b.
func (n *Network) gossips(a, b *Transport) bool {
	return n.linked(a, b) && n.linked(b, a)
}

// relink tells every node which of its links are up.
func (n *Network) relink() {
	for _, a := range n.sorted() {
		if a.run == nil {
			continue
		}
		for _, b := range n.sorted() {
			if n.linked(a, b) {
				a.run.links.Up(b.id)
			} else {
				a.run.links.Down(b.id)
			}
		}
	}
	for s := range n.pipes {
		if !n.carries(s) {
			s.reset()
			delete(n.pipes, s)
		}
	}
}

// carries reports whether the link under s is still there.
func (n *Network) carries(s *pipe) bool {
	a, b := n.nodes[s.dir.from], n.nodes[s.dir.to]
	return a == s.from && b == s.to && (n.linked(a, b) || n.linked(b, a))
}

// drop closes the link between a and b with its streams; relink makes it anew
// where it may be.
func (n *Network) drop(a, b federation.PeerID) {
	for _, p := range []pair{{a, b}, {b, a}} {
		if t := n.nodes[p.from]; t != nil && t.run != nil {
			t.run.links.Down(p.to)
		}
		if f, ok := n.faults[p]; ok {
			f.deaf = false
		}
	}
	for s := range n.pipes {
		if s.dir == (pair{a, b}) || s.dir == (pair{b, a}) {
			s.reset()
			delete(n.pipes, s)
		}
	}
}

// sorted lists the nodes in one order, so that a run repeats itself.
func (n *Network) sorted() []*Transport {
	ts := make([]*Transport, 0, len(n.nodes))
	for _, t := range n.nodes {
		ts = append(ts, t)
	}
	slices.SortFunc(ts, func(a, b *Transport) int { return cmp.Compare(a.id.String(), b.id.String()) })
	return ts
}
