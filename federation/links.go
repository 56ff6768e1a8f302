package federation

import (
	"context"
	"sync"
)

// Links tells a Handler of links that come up and go down, in the order the
// contract of Handler asks for. Transports share it. It is safe for concurrent use.
type Links struct {
	ctx context.Context
	h   Handler
	wg  sync.WaitGroup

	mu   sync.Mutex
	byID map[PeerID]*link // guarded by mu
}

// link is one peer's: want is what holds now, and a goroutine runs while the
// handler has not been told all of it.
type link struct {
	want   bool
	again  bool // it went down and up since the handler was told
	cancel context.CancelFunc
}

// NewLinks returns Links that tell h until ctx ends.
func NewLinks(ctx context.Context, h Handler) *Links {
	return &Links{ctx: ctx, h: h, byID: map[PeerID]*link{}}
}

// Up says that p is linked. Up on a linked peer does nothing.
func (l *Links) Up(p PeerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return
	}
	if k, ok := l.byID[p]; ok {
		if !k.want {
			k.want, k.again = true, true
		}
		return
	}
	ctx, cancel := context.WithCancel(l.ctx)
	l.byID[p] = &link{want: true, cancel: cancel}
	l.wg.Go(func() { l.follow(ctx, p) })
}

// Down says that p is not linked any more.
func (l *Links) Down(p PeerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k, ok := l.byID[p]; ok && k.want {
		k.want, k.again = false, false
		k.cancel()
	}
}

// Has reports whether p is linked.
func (l *Links) Has(p PeerID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.byID[p]
	return ok && k.want
}

// Wait returns when the context of NewLinks has ended and the last call into
// the Handler has returned.
func (l *Links) Wait() {
	<-l.ctx.Done()
	l.barrier()
	l.wg.Wait()
}

// barrier returns once no Up is under way that could still start a goroutine.
func (l *Links) barrier() {
	l.mu.Lock()
	defer l.mu.Unlock()
}

func (l *Links) follow(ctx context.Context, p PeerID) {
	for {
		l.h.Linked(ctx, p)
		<-ctx.Done()
		l.h.Unlinked(l.ctx, p)
		next, ok := l.next(p)
		if !ok {
			return
		}
		ctx = next
	}
}

// next gives the context of the link that came up meanwhile, if one did.
func (l *Links) next(p PeerID) (context.Context, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.byID[p]
	k.cancel()
	if !k.again || l.ctx.Err() != nil {
		delete(l.byID, p)
		return nil, false
	}
	ctx, cancel := context.WithCancel(l.ctx)
	k.again, k.cancel = false, cancel
	return ctx, true
}
