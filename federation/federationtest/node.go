package federationtest

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"trustnode/federation"
)

// World makes the transports of one case.
type World interface {
	// Make makes the transport of node i. Made again for the same i it has the
	// same id and the same addresses.
	Make(i int) (federation.Transport, federation.Peer)
	// Apart keeps nodes i and j from having a link where both admit each other
	// without knowing an address.
	Apart(i, j int)
}

// node is a transport, a Handler that remembers, and how to end them.
type node struct {
	federation.Transport
	t    *testing.T
	peer federation.Peer
	stop func()

	mu     sync.Mutex
	judged map[string][]federation.PeerID // guarded by mu; by message, from whom
	links  []string                       // guarded by mu; "+id" and "-id" in order
	says   map[string]federation.Verdict  // guarded by mu; Accept where nothing is said
	serve  func(context.Context, served)  // guarded by mu; nil: echo
	served []federation.PeerID            // guarded by mu
	active int                            // guarded by mu; calls into this Handler
}

// served is one call of Serve.
type served struct {
	from  federation.PeerID
	proto federation.Protocol
	s     federation.Stream
}

// place is the nodes of one case and who cannot reach whom.
type place struct {
	t     *testing.T
	w     World
	peers map[int]federation.Peer
	apart map[[2]int]bool
}

func newPlace(t *testing.T, w World) *place {
	return &place{t: t, w: w, peers: map[int]federation.Peer{}, apart: map[[2]int]bool{}}
}

// split keeps nodes i and j from having a link of their own.
func (p *place) split(i, j int) {
	p.apart[[2]int{i, j}], p.apart[[2]int{j, i}] = true, true
	p.w.Apart(i, j)
}

// make makes node i, which does not run yet.
func (p *place) make(i int) *node {
	tr, peer := p.w.Make(i)
	p.peers[i] = peer
	return &node{Transport: tr, t: p.t, peer: peer, judged: map[string][]federation.PeerID{}, says: map[string]federation.Verdict{}}
}

// admit makes node i admit others, as i knows them.
func (p *place) admit(n *node, i int, others ...int) {
	p.t.Helper()
	var ps []federation.Peer
	for _, j := range others {
		peer := p.peers[j]
		if p.apart[[2]int{i, j}] {
			peer.Addrs = nil
		}
		ps = append(ps, peer)
	}
	if err := n.Admit(p.t.Context(), ps); err != nil {
		p.t.Fatalf("Admit: %v", err)
	}
}

// start runs n until the case ends or n.stop is called.
func (p *place) start(ns ...*node) {
	for _, n := range ns {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx, n) }()
		n.stop = sync.OnceFunc(func() {
			cancel()
			if err := <-done; err != nil {
				p.t.Errorf("Run: %v", err)
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.active != 0 {
				p.t.Errorf("%d calls into the handler outlive Run", n.active)
			}
		})
		p.t.Cleanup(n.stop)
	}
}

// mutual makes n nodes that all admit each other, run and are linked.
func (p *place) mutual(n int) []*node {
	p.t.Helper()
	var ns []*node
	for i := range n {
		ns = append(ns, p.make(i))
	}
	for i, a := range ns {
		var others []int
		for j := range n {
			if j != i {
				others = append(others, j)
			}
		}
		p.admit(a, i, others...)
	}
	p.start(ns...)
	for i, a := range ns {
		for j, b := range ns {
			if i != j && !p.apart[[2]int{i, j}] {
				a.awaitLink(b)
				p.flows(a, b)
			}
		}
	}
	return ns
}

var serial struct {
	sync.Mutex
	n int
}

// unique returns a message nobody sent before.
func unique(what string) []byte {
	serial.Lock()
	defer serial.Unlock()
	serial.n++
	return []byte(what + " " + time.Unix(int64(serial.n), 0).UTC().Format(time.RFC3339))
}

// flows waits until gossip passes from a to b: what is published before that is
// lost, by design.
func (p *place) flows(a, b *node) {
	p.t.Helper()
	for _, topic := range federation.Topics() {
		eventually(p.t, "gossip from one node to the other on "+string(topic), func() bool {
			m := unique("probe")
			if err := a.Publish(p.t.Context(), topic, m); err != nil {
				p.t.Fatalf("Publish: %v", err)
			}
			return soon(func() bool { return b.count(m) > 0 })
		})
	}
}

// eventually polls until ok, for as long as a link may take to be made anew.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never seen: %s", what)
}

// soon polls for a moment.
func soon(ok func() bool) bool {
	for range 30 {
		if ok() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// Judge implements federation.Handler.
func (n *node) Judge(_ context.Context, from federation.PeerID, _ federation.Topic, msg []byte) federation.Verdict {
	defer n.enter()()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.judged[string(msg)] = append(n.judged[string(msg)], from)
	if v, ok := n.says[string(msg)]; ok {
		return v
	}
	return federation.Accept
}

// Serve implements federation.Handler.
func (n *node) Serve(ctx context.Context, from federation.PeerID, p federation.Protocol, s federation.Stream) {
	defer n.enter()()
	n.mu.Lock()
	n.served = append(n.served, from)
	f := n.serve
	n.mu.Unlock()
	if f == nil {
		f = echo
	}
	f(ctx, served{from, p, s})
}

// Linked implements federation.Handler: it stays for as long as the link does.
func (n *node) Linked(ctx context.Context, p federation.PeerID) {
	defer n.enter()()
	n.note("+", p)
	<-ctx.Done()
}

// Unlinked implements federation.Handler.
func (n *node) Unlinked(_ context.Context, p federation.PeerID) {
	defer n.enter()()
	n.note("-", p)
}

func (n *node) enter() (leave func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.active++
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.active--
	}
}

func (n *node) note(sign string, p federation.PeerID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links = append(n.links, sign+p.String())
}

// history returns what was said about the link to p, in order.
func (n *node) history(p federation.PeerID) (h string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.links {
		if l[1:] == p.String() {
			h += l[:1]
		}
	}
	return h
}

func (n *node) linked(o *node) bool {
	h := n.history(o.peer.ID)
	return h != "" && h[len(h)-1] == '+'
}

func (n *node) awaitLink(o *node) {
	n.t.Helper()
	eventually(n.t, "a link", func() bool { return n.linked(o) })
}

func (n *node) count(msg []byte) int { return len(n.senders(msg)) }

func (n *node) senders(msg []byte) []federation.PeerID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]federation.PeerID(nil), n.judged[string(msg)]...)
}

func (n *node) say(msg []byte, v federation.Verdict) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.says[string(msg)] = v
}

func (n *node) serving(f func(context.Context, served)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.serve = f
}

// echo answers each frame with itself until there are no more.
func echo(_ context.Context, v served) {
	f := federation.NewFrames(v.s, v.proto)
	for {
		b, err := f.Read()
		if err != nil || f.Write(b) != nil {
			return
		}
	}
}

// exchange sends b on a new stream and returns what came back.
func (n *node) exchange(to *node, p federation.Protocol, b []byte) ([]byte, error) {
	s, err := n.Open(n.t.Context(), to.peer.ID, p)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	f := federation.NewFrames(s, p)
	if err := f.Write(b); err != nil {
		return nil, err
	}
	got, err := f.Read()
	if err != nil {
		return nil, err
	}
	if err := f.CloseWrite(); err != nil {
		return nil, err
	}
	if _, err := f.Read(); !errors.Is(err, io.EOF) {
		return nil, err
	}
	return got, nil
}

// calls returns how often Serve was called.
func (n *node) calls() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.served)
}
