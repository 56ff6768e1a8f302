package daemon

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"trustnode/federation"
	"trustnode/federation/gossip"
)

// fabric is the network between forts: each dials each other by a relay of its own, so that
// one pair, one direction or one node can be cut while the nodes know nothing of it.
type fabric struct {
	t  testing.TB
	mu sync.Mutex
	by map[way]*relay // guarded by mu
}

// way is who dials whom.
type way struct {
	from string // organization
	to   federation.PeerID
}

// cut is what a relay does with what passes.
type cut int

const (
	healed cut = iota
	reset      // connections end and none can be made
	stall      // connections stay and nothing passes, as behind a cable that was pulled
)

func newFabric(t testing.TB) *fabric {
	f := &fabric{t: t, by: map[way]*relay{}}
	t.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, r := range f.by {
			r.close()
		}
	})
	return f
}

// via makes a fort dial the others by relays.
func (f *fabric) via(from string) func(gossip.Members) gossip.Members {
	return func(m gossip.Members) gossip.Members { return relayed{m, f, from} }
}

type relayed struct {
	gossip.Members
	f    *fabric
	from string
}

func (r relayed) Peers() []federation.Peer {
	list := r.Members.Peers()
	for i, p := range list {
		if len(p.Addrs) > 0 {
			list[i].Addrs = []string{r.f.relay(way{r.from, p.ID}, p.Addrs[0]).addr}
		}
	}
	return list
}

// relay is the one of a way; target is a multiaddr of TCP.
func (f *fabric) relay(w way, target string) *relay {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.by[w]; r != nil {
		return r
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Error(err)
		return &relay{addr: target}
	}
	parts := strings.Split(target, "/")
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	r := &relay{addr: "/ip4/127.0.0.1/tcp/" + port, target: net.JoinHostPort(parts[2], parts[4]), ln: ln, pairs: map[net.Conn]bool{}, moved: make(chan struct{})}
	f.by[w] = r
	go r.accept()
	return r
}

// between cuts or heals both wires of a pair.
func (f *fabric) between(a, b *fort, how cut) { f.wires(a.node, b.node, how) }

func (f *fabric) wires(a, b *Node, how cut) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w, r := range f.by {
		if w.from == a.cfg.Name && w.to == b.transport.ID() || w.from == b.cfg.Name && w.to == a.transport.ID() {
			r.set(how)
		}
	}
}

// relay passes bytes of one way.
type relay struct {
	addr, target string
	ln           net.Listener

	mu    sync.Mutex
	how   cut               // guarded by mu
	moved chan struct{}     // guarded by mu; closed when how changes
	pairs map[net.Conn]bool // guarded by mu
}

func (r *relay) set(how cut) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.how = how
	close(r.moved)
	r.moved = make(chan struct{})
	if how == reset {
		for c := range r.pairs {
			c.Close()
		}
	}
}

func (r *relay) state() (cut, chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.how, r.moved
}

func (r *relay) close() {
	r.set(reset)
	r.ln.Close()
}

func (r *relay) accept() {
	for {
		c, err := r.ln.Accept()
		if err != nil {
			return
		}
		go r.pass(c)
	}
}

// pass carries one connection. While the way is stalled a new one is not answered.
func (r *relay) pass(c net.Conn) {
	defer c.Close()
	for {
		how, moved := r.state()
		if how == reset {
			return
		}
		if how == healed {
			break
		}
		<-moved
	}
	d, err := net.DialTimeout("tcp", r.target, 5*time.Second)
	if err != nil {
		return
	}
	defer d.Close()
	r.mu.Lock()
	if r.how == reset {
		r.mu.Unlock()
		return
	}
	r.pairs[c], r.pairs[d] = true, true
	r.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() { r.copy(c, d) })
	wg.Go(func() { r.copy(d, c) })
	wg.Wait()
	r.mu.Lock()
	delete(r.pairs, c)
	delete(r.pairs, d)
	r.mu.Unlock()
}

func (r *relay) copy(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		for n > 0 {
			how, moved := r.state()
			if how != stall {
				break
			}
			<-moved
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				return
			}
			if t, ok := to.(*net.TCPConn); ok {
				t.CloseWrite()
			}
			return
		}
	}
}
