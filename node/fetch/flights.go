package fetch

import (
	"context"
	"sync"

	"trustnode/did"
)

// flights lets concurrent callers for one DID share one request. The first caller makes it, in its own goroutine and
// under its own context; if that caller gives up, the next one starts anew. The zero value is ready; safe for
// concurrent use.
type flights struct {
	mu   sync.Mutex
	open map[did.DID]*flight // guarded by mu
}

type flight struct {
	done      chan struct{} // closed when the fields below are set
	got       Fetched
	err       error
	abandoned bool // the caller that made the request gave up: its error is nobody else's
}

// do returns what fetch gives, called here or by another caller for the same DID. caller is the context of the one who
// asks, ctx the same with the time that is left for it; the error for one who waited in vain is that of ctx.
func (f *flights) do(caller, ctx context.Context, d did.DID, fetch func() (Fetched, error)) (Fetched, error) {
	for {
		fl, mine := f.join(d)
		if mine {
			return f.lead(caller, d, fl, fetch)
		}
		select {
		case <-fl.done:
		case <-ctx.Done():
			return Fetched{}, ctx.Err()
		}
		if !fl.abandoned {
			return fl.got, fl.err
		}
	}
}

// join returns the flight for d and whether it is the caller's own to make.
func (f *flights) join(d did.DID) (fl *flight, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl, ok := f.open[d]; ok {
		return fl, false
	}
	if f.open == nil {
		f.open = map[did.DID]*flight{}
	}
	fl = &flight{done: make(chan struct{}), abandoned: true}
	f.open[d] = fl
	return fl, true
}

// lead makes the request. Should fetch panic, the flight stays abandoned and nobody waits for ever.
func (f *flights) lead(caller context.Context, d did.DID, fl *flight, fetch func() (Fetched, error)) (Fetched, error) {
	defer func() {
		f.mu.Lock()
		delete(f.open, d)
		f.mu.Unlock()
		close(fl.done)
	}()
	fl.got, fl.err = fetch()
	fl.abandoned = fl.err != nil && caller.Err() != nil
	return fl.got, fl.err
}
