package fetch

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/did"
)

// gate is a handler that counts who is inside and lets nobody out before it is opened.
type gate struct {
	inside, most, total atomic.Int64
	entered             chan struct{}
	open                chan struct{}
}

func newGate() *gate { return &gate{entered: make(chan struct{}, 64), open: make(chan struct{})} }

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := g.inside.Add(1)
	defer g.inside.Add(-1)
	for m := g.most.Load(); n > m && !g.most.CompareAndSwap(m, n); m = g.most.Load() {
	}
	g.total.Add(1)
	g.entered <- struct{}{}
	select {
	case <-g.open:
	case <-r.Context().Done():
		return
	}
	w.Write([]byte(r.URL.Path))
}

type outcome struct {
	m   did.Material
	err error
}

func start(f *Fetcher, ctx context.Context, d did.DID) chan outcome {
	c := make(chan outcome, 1)
	go func() {
		m, err := f.Material(ctx, d)
		c <- outcome{m, err}
	}()
	return c
}

// waiting blocks until n callers have or await a turn at host.
func waiting(t *testing.T, f *Fetcher, host string, n int) {
	t.Helper()
	eventually(t, func() bool {
		f.turns.mu.Lock()
		defer f.turns.mu.Unlock()
		h := f.turns.hosts[host]
		return h != nil && h.users == n
	})
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(4 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to pass in 4 s")
		}
	}
}

func TestOneFlightPerDID(t *testing.T) {
	g := newGate()
	w := newWorld(t, g)
	f := w.fetcher()
	d := w.did("example.com")
	first := start(f, t.Context(), d)
	<-g.entered
	var rest []chan outcome
	for range 8 {
		rest = append(rest, start(f, t.Context(), d))
	}
	time.Sleep(50 * time.Millisecond) // they have nothing to show for their waiting
	close(g.open)
	a := <-first
	for _, c := range rest {
		if b := <-c; b.err != nil || a.err != nil || !bytes.Equal(a.m.Log, b.m.Log) {
			t.Errorf("got %q, %v and %q, %v", a.m.Log, a.err, b.m.Log, b.err)
		}
	}
	if n := g.total.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	// What is over is over: the next caller asks anew.
	if _, err := f.Material(t.Context(), d); err != nil || g.total.Load() != 2 {
		t.Errorf("%d requests, %v", g.total.Load(), err)
	}
	if len(f.flights.open) != 0 || len(f.turns.hosts) != 0 {
		t.Errorf("%d flights and %d hosts are kept", len(f.flights.open), len(f.turns.hosts))
	}
}

// TestGivingUpIsNotShared: the caller whose request it is may go; those who wait get an answer all the same.
func TestGivingUpIsNotShared(t *testing.T) {
	g := newGate()
	w := newWorld(t, g)
	f := w.fetcher()
	d := w.did("example.com")
	ctx, cancel := context.WithCancel(t.Context())
	first := start(f, ctx, d)
	<-g.entered
	second, third := start(f, t.Context(), d), start(f, t.Context(), d)
	time.Sleep(50 * time.Millisecond)
	cancel()
	if o := <-first; cause(o.err) != CauseCancelled {
		t.Errorf("got %v", o.err)
	}
	<-g.entered
	close(g.open)
	for _, c := range []chan outcome{second, third} {
		if o := <-c; o.err != nil || len(o.m.Log) == 0 {
			t.Errorf("got %q, %v", o.m.Log, o.err)
		}
	}
	if n := g.total.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// TestWaitingEnds: one who shares another's request still leaves when its own context ends.
func TestWaitingEnds(t *testing.T) {
	g := newGate()
	w := newWorld(t, g)
	f := w.fetcher()
	d := w.did("example.com")
	first := start(f, t.Context(), d)
	<-g.entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := f.Material(ctx, d); cause(err) != CauseTimeout {
		t.Errorf("got %v", err)
	}
	close(g.open)
	if o := <-first; o.err != nil {
		t.Error(o.err)
	}
}

func TestTwoPerHost(t *testing.T) {
	g := newGate()
	w := newWorld(t, g)
	f := w.fetcher()
	var all []chan outcome
	for i := range 6 {
		all = append(all, start(f, t.Context(), w.did("example.com", fmt.Sprint("u", i))))
	}
	<-g.entered
	<-g.entered
	waiting(t, f, "example.com", 6)
	// Another host has its own turns.
	other := start(f, t.Context(), w.did("a.example.com"))
	<-g.entered
	if n := g.inside.Load(); n != 3 {
		t.Errorf("%d requests under way, want 2 and 1", n)
	}
	close(g.open)
	for _, c := range append(all, other) {
		if o := <-c; o.err != nil {
			t.Error(o.err)
		}
	}
	if g.most.Load() != 3 || g.total.Load() != 7 {
		t.Errorf("at most %d at once, %d in all", g.most.Load(), g.total.Load())
	}
}

func TestWaitingForATurnCountsAsTime(t *testing.T) {
	g := newGate()
	w := newWorld(t, g)
	slow := w.fetcher()
	held := []chan outcome{start(slow, t.Context(), w.did("example.com", "a")), start(slow, t.Context(), w.did("example.com", "b"))}
	<-g.entered
	<-g.entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := slow.Material(ctx, w.did("example.com", "c")); cause(err) != CauseTimeout {
		t.Errorf("got %v", err)
	}
	close(g.open)
	for _, c := range held {
		if o := <-c; o.err != nil {
			t.Error(o.err)
		}
	}
	if g.total.Load() != 2 {
		t.Errorf("%d requests, want 2", g.total.Load())
	}
}

// TestPanicIsNotAHang: a flight whose maker panics is given up, not left open.
func TestPanicIsNotAHang(t *testing.T) {
	var f flights
	d := did.MustParse("did:web:example.com")
	entered, leave := make(chan struct{}), make(chan struct{})
	go func() {
		defer func() { recover() }()
		f.do(t.Context(), t.Context(), d, func() (Fetched, error) {
			close(entered)
			<-leave
			panic("broken")
		})
	}()
	<-entered
	got := make(chan error, 1)
	go func() {
		_, err := f.do(t.Context(), t.Context(), d, func() (Fetched, error) { return Fetched{}, nil })
		got <- err
	}()
	close(leave)
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(3 * time.Second):
		t.Error("the second caller hangs")
	}
}

// TestConnectionsEnd: nothing is kept for a next request.
func TestConnectionsEnd(t *testing.T) {
	w := newWorld(t, says(200, "{}"))
	f := w.fetcher()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := f.Material(t.Context(), w.did("example.com", fmt.Sprint("u", i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	eventually(t, func() bool { return w.lis.open.Load() == 0 })
	if n := w.lis.accepted.Load(); n != 8 {
		t.Errorf("%d connections, want 8", n)
	}
}
