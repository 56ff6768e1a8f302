package fetch

import (
	"context"
	"sync"
)

// turns lets perHost callers at once have a turn at one host. The zero value is ready; safe for concurrent use. A host
// costs memory only while somebody has or awaits a turn at it.
type turns struct {
	mu    sync.Mutex
	hosts map[string]*turn // guarded by mu
}

type turn struct {
	taken chan struct{} // holds one element for each turn that is taken
	users int           // have or await a turn; guarded by turns.mu
}

// take waits for a turn and returns what ends it, or the error of ctx.
func (t *turns) take(ctx context.Context, host string) (release func(), err error) {
	h := t.enter(host)
	select {
	case h.taken <- struct{}{}:
		return func() { <-h.taken; t.leave(host, h) }, nil
	case <-ctx.Done():
		t.leave(host, h)
		return nil, ctx.Err()
	}
}

func (t *turns) enter(host string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[host]
	if h == nil {
		h = &turn{taken: make(chan struct{}, perHost)}
		if t.hosts == nil {
			t.hosts = map[string]*turn{}
		}
		t.hosts[host] = h
	}
	h.users++
	return h
}

func (t *turns) leave(host string, h *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.users--; h.users == 0 {
		delete(t.hosts, host)
	}
}
