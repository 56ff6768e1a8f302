package gossip

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/federation"
	"trustnode/federation/inproc"
)

// world is a federation of homes on one network in memory.
type world struct {
	t    *testing.T
	net  *inproc.Network
	hs   []*home
	stop map[int]func()
}

// inWorld runs f in a bubble with n homes that know each other's keys and
// bindings, none of which runs.
func inWorld(t *testing.T, n int, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, net: inproc.New(1), stop: map[int]func(){}}
		for i := range n {
			w.hs = append(w.hs, newHome(t, i))
		}
		acquaint(w.hs)
		f(w)
		for i := range w.hs {
			w.kill(i)
		}
	})
}

func acquaint(hs []*home) {
	for _, h := range hs {
		h.bind(1)
		h.start = true
	}
	for _, h := range hs {
		for _, o := range hs {
			h.knows(o, true, true)
		}
	}
}

// config wires a home to a transport.
func (h *home) config(tr federation.Transport) Config {
	var ids Identities = identitiesOf{h}
	if h.ids != nil {
		ids = h.ids
	}
	return Config{
		Me: h.me, Transport: tr, Members: h, Greeter: h, Charters: chartersOf{h}, Identities: ids,
		Bindings: bindingsOf{h}, Beacons: beaconsOf{h}, Logs: logsOf{h}, Intake: logsOf{h}, Edges: logsOf{h},
		Witnessing: witnessingOf{h}, Objects: objectsOf{h}, Lender: lenderOf{h}, Keys: h, Now: time.Now,
	}
}

// run starts a node for h and returns it and how to end it.
func (h *home) run(t *testing.T, tr federation.Transport) (n *Node, stop func()) {
	t.Helper()
	n, err := New(h.config(tr))
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	h.node = n
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := n.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return n, func() {
		cancel()
		wg.Wait()
		h.mu.Lock()
		h.node, h.start = nil, true
		clear(h.heard) // what was heard when is of one run
		h.mu.Unlock()
	}
}

func (w *world) start(is ...int) {
	w.t.Helper()
	for _, i := range is {
		_, w.stop[i] = w.hs[i].run(w.t, w.net.Join(w.hs[i].peer))
	}
}

func (w *world) kill(i int) {
	if stop := w.stop[i]; stop != nil {
		delete(w.stop, i)
		stop()
	}
}

func (w *world) node(i int) *Node {
	w.hs[i].mu.Lock()
	defer w.hs[i].mu.Unlock()
	return w.hs[i].node
}

func (w *world) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// alike checks that all homes hold each log at its owner's size.
func (w *world) alike() {
	w.t.Helper()
	for i, h := range w.hs {
		for j, o := range w.hs {
			if got, want := h.size(o.me), o.size(o.me); got != want {
				w.t.Errorf("node %d holds %d of %d entries of node %d", i, got, want, j)
			}
		}
	}
}

// witnessed checks that all homes fold the same cosignatures of i's newest head.
func (w *world) witnessed(i, want int) {
	w.t.Helper()
	for j, h := range w.hs {
		if got := h.witnesses(w.hs[i].me); got != want {
			w.t.Errorf("node %d holds %d cosignatures of the head of node %d, want %d", j, got, i, want)
		}
	}
}
