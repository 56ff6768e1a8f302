package recorder_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// sharesLock reports whether two logs have one lock.
func sharesLock(a, b did.DID) bool {
	var l store.LogLocks
	defer l.Lock(a)()
	for i := range l {
		if !l[i].TryLock() {
			var o store.LogLocks
			defer o.Lock(b)()
			return !o[i].TryLock()
		}
	}
	return false
}

// slowRing answers of one organization only once it is open.
type slowRing struct {
	*world
	of      did.DID
	reached chan struct{}
	open    chan struct{}
	once    sync.Once
}

func (s *slowRing) Keys(ctx context.Context, d did.DID, version string) (map[string]did.PublicKey, error) {
	if d == s.of {
		s.once.Do(func() { close(s.reached) })
		<-s.open
	}
	return s.world.Keys(ctx, d, version)
}

// TestASlowLogStopsNoOther: while one log is worked on, another is looked into, takes what a
// peer brings, and a new charter that waits for the slow one stops nobody.
func TestASlowLogStopsNoOther(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	slow := newParty("slow0", 0x51)
	for i := 1; sharesLock(slow.did, acme.did); i++ {
		slow = newParty(fmt.Sprint("slow", i), 0x51)
	}
	ours, other := branched(t, acme, 5, 10, 14)
	k, ctx := acme.keys[0], context.Background()
	ring := &slowRing{world: knows(acme, beta, slow), of: slow.did, reached: make(chan struct{}), open: make(chan struct{})}
	n := newNode(t, beta, ring.world)
	var now charterOf
	n.bounds = now.bounds
	n.start(t)
	ingest(t, n, long(t, slow, 3).pack(t, slow.keys[0], 0, 3, 3))
	ingest(t, n, ours.pack(t, k, 0, 8, 8))
	n.SetRing(ring)

	var wait sync.WaitGroup
	defer wait.Wait()
	defer close(ring.open)
	wait.Go(func() {
		if err := n.Recheck(ctx, slow.did); err != nil {
			t.Error(err)
		}
	})
	<-ring.reached
	done := make(chan struct{})
	wait.Go(func() { _ = n.Rebound(ctx) })
	wait.Go(func() {
		defer close(done)
		if res, err := n.Ingest(ctx, ours.pack(t, k, 8, 10, 10)); res.Verdict != recorder.Accepted {
			t.Errorf("%s, %v", res.Verdict, err)
		}
		asked := 0
		if res, _ := n.Part(ctx, acme.did, other.head(t, k, 14).Bytes(), other.ranges(t, 14, &asked)); res.Verdict != recorder.Forked {
			t.Error(res.Verdict)
		}
		now.Store(cutAt(other, 12))
		if res, _ := n.Part(ctx, acme.did, other.head(t, k, 14).Bytes(), other.ranges(t, 14, &asked)); res.Verdict != recorder.Forked || len(n.entries(t, acme.did)) != 5 {
			t.Error(res.Verdict)
		}
	})
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("they wait for a log that is none of theirs")
	}
}
