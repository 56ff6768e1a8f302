package lender

import (
	"context"
	"sync"
	"time"

	"trustnode/did"
	"trustnode/node/fault"
)

// limiter bounds what each borrower may ask: a bucket of one second's worth each.
type limiter struct {
	rate float64
	most int // calls of one borrower under way

	mu      sync.Mutex
	buckets map[did.DID]*bucket // guarded by mu
	under   map[did.DID]int     // guarded by mu; calls under way, none of zero
}

type bucket struct {
	left float64
	at   time.Time
}

func newLimiter(perSecond int) *limiter {
	return &limiter{rate: float64(perSecond), most: maxUnder, buckets: map[did.DID]*bucket{}, under: map[did.DID]int{}}
}

// take counts one call of who at at and refuses it if the bucket is empty.
func (l *limiter) take(who did.DID, at time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[who]
	if b == nil {
		if len(l.buckets) >= maxBuckets {
			l.forget(at)
		}
		b = &bucket{l.rate, at}
		l.buckets[who] = b
	}
	if passed := at.Sub(b.at); passed > 0 {
		b.left, b.at = min(l.rate, b.left+l.rate*passed.Seconds()), at
	}
	if b.left < 1 {
		return fault.New(fault.RateLimited, "reads", "more than %d calls a second", int(l.rate)).WithHint("ask again in a second")
	}
	b.left--
	return nil
}

// hold takes one of the places that who may have among the calls under way, until the
// returned function is called. A borrower whose calls hang holds up itself alone.
func (l *limiter) hold(who did.DID) (func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under[who] >= l.most {
		return nil, fault.New(fault.RateLimited, "under_way", "%d calls are under way", l.most).WithHint("take the answers of those first")
	}
	l.under[who]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.under[who]--; l.under[who] == 0 {
			delete(l.under, who)
		}
	}, nil
}

// forget drops buckets that are full again; if none is, all of them: memory is bounded
// before fairness.
func (l *limiter) forget(at time.Time) {
	for who, b := range l.buckets {
		if at.Sub(b.at) > time.Second {
			delete(l.buckets, who)
		}
	}
	if len(l.buckets) >= maxBuckets {
		clear(l.buckets)
	}
}

// enter takes a place among the calls under way, for as long as callTime.
func (l *Lender) enter(ctx context.Context) (context.Context, func(), error) {
	select {
	case l.slots <- struct{}{}:
	default:
		return nil, nil, fault.New(fault.Unavailable, "busy", "%d calls are under way", l.cfg.Queue).WithHint("ask again in a few seconds")
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	return ctx, func() { cancel(); <-l.slots }, nil
}
