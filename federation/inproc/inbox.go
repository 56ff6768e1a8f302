package inproc

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"trustnode/federation"
)

// delivery is one message on its way to one node.
type delivery struct {
	due    time.Time
	topic  federation.Topic
	msg    []byte
	sum    [32]byte
	origin federation.PeerID // who published it
	from   federation.PeerID // who passed it on
	relink bool              // no message: time to make the link to from anew
}

// inbox holds deliveries until their instants. It has one reader.
type inbox struct {
	mu   sync.Mutex
	h    dueHeap // guarded by mu
	wake chan struct{}
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// push adds d, or loses it where the queue is full.
func (b *inbox) push(d delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.h) >= queue && !d.relink {
		return
	}
	heap.Push(&b.h, d)
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// next waits for the next delivery to be due. It reports false when ctx ends.
func (b *inbox) next(ctx context.Context) (delivery, bool) {
	for {
		d, wait := b.pop()
		if wait == 0 {
			return d, ctx.Err() == nil
		}
		t := time.NewTimer(wait)
		select {
		case <-b.wake:
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return delivery{}, false
		}
		t.Stop()
	}
}

// pop returns the first delivery if it is due, else how long to wait.
func (b *inbox) pop() (delivery, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.h) == 0 {
		return delivery{}, time.Hour
	}
	if wait := time.Until(b.h[0].due); wait > 0 {
		return delivery{}, wait
	}
	return heap.Pop(&b.h).(delivery), 0
}

// dueHeap is a container/heap by instant.
type dueHeap []delivery

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(delivery)) }
func (h *dueHeap) Pop() any {
	old := *h
	d := old[len(old)-1]
	*h = old[:len(old)-1]
	return d
}
