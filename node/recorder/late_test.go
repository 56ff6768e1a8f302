package recorder_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/node/store"
)

// lateDB commits one update right after somebody has read what there was before it.
type lateDB struct {
	store.DB
	armed      atomic.Bool
	drafting   atomic.Bool // the update is at it
	begun      atomic.Bool // it has drafted
	read, done chan struct{}
}

func (l *lateDB) Update(ctx context.Context, fn func(store.Tx) error) error {
	if !l.armed.CompareAndSwap(true, false) {
		return l.DB.Update(ctx, fn)
	}
	defer close(l.done)
	return l.DB.Update(ctx, func(tx store.Tx) error {
		l.drafting.Store(true)
		err := fn(tx)
		l.begun.Store(true)
		l.drafting.Store(false)
		<-l.read
		return err
	})
}

func (l *lateDB) View(ctx context.Context, fn func(store.Reader) error) error {
	for l.drafting.Load() { // the reader was woken from inside it
		runtime.Gosched()
	}
	err := l.DB.View(ctx, fn)
	if l.begun.CompareAndSwap(true, false) {
		close(l.read)
		<-l.done
	}
	return err
}

// TestADecisionWaitsForNothing: one that commits right after the sequencer has read the outbox
// goes into the log at once, though it signals no more.
func TestADecisionWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := newNode(t, p, knows(p))
		l := &lateDB{DB: n.state, read: make(chan struct{}), done: make(chan struct{})}
		n.state = l
		n.start(t)
		n.run(t)
		time.Sleep(5 * time.Second)
		l.armed.Store(true)
		begin := time.Now()
		if _, err := n.WaitLogged(context.Background(), n.event(t, plain(1))); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("it waited for %v though nothing had to be done", took)
		}
	})
}
