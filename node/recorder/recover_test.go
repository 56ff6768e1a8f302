package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/node/recorder"
	"trustnode/node/store"
)

// TestALogBehindItsPinsRecovers restores the audit database of an earlier
// moment: the log must sign nothing, take its tail back from a peer, and go on.
func TestALogBehindItsPinsRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
		ring := knows(acme, beta)
		n, peer := running(t, acme, ring), running(t, beta, ring)
		for i := range 5 {
			n.event(t, plain(i))
		}
		flush(t, n)
		old := copyDB(t, n.audit)
		for i := range 5 {
			n.event(t, plain(10+i))
		}
		flush(t, n)
		want := fmt.Sprint(n.entries(t, acme.did))
		pull(t, n, peer)
		n.stop()
		n.audit = old
		n.start(t)
		n.run(t)
		synctest.Wait()
		if s, _ := n.State(); s != recorder.Recovering {
			t.Fatalf("the log is %s", s)
		}
		if err := n.Resume(context.Background()); !errors.Is(err, recorder.ErrUnconfirmed) {
			t.Errorf("resumed behind its pins: %v", err)
		}
		late := n.event(t, plain(77))
		time.Sleep(3 * time.Second)
		if got := len(n.entries(t, acme.did)); got != 6 {
			t.Errorf("%d entries while behind", got)
		}
		p, err := peer.Package(context.Background(), acme.did, 6, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := n.Ingest(context.Background(), p); err != nil || res.Verdict != recorder.Accepted {
			t.Fatalf("own tail: %v (%v)", res, err)
		}
		if got := fmt.Sprint(n.entries(t, acme.did)); got != want {
			t.Error("the tail from the peer is not the log that was")
		}
		if err := n.Resume(context.Background()); err != nil {
			t.Fatal(err)
		}
		flush(t, n)
		got := n.entries(t, acme.did)
		if got[len(got)-1].ID() != late {
			t.Error("what was drafted meanwhile is not the newest event")
		}
		if res := pull(t, n, peer); res.Verdict != recorder.Accepted {
			t.Errorf("the peer does not take what follows: %v", res)
		}
		signed(t, n)
	})
}

// TestAStateOlderThanItsLog restores the state database of an earlier moment:
// outbox numbers go on above all that were taken in.
func TestAStateOlderThanItsLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := running(t, p, knows(p))
		n.event(t, plain(0))
		old := copyDB(t, n.state)
		flush(t, n)
		for i := range 5 {
			n.event(t, plain(10+i))
		}
		flush(t, n)
		n.stop()
		n.state = old
		n.start(t)
		n.run(t)
		synctest.Wait()
		if s, _ := n.State(); s != recorder.Recovering {
			t.Fatalf("the log is %s", s)
		}
		n.stop()
		n.start(t)
		n.run(t)
		synctest.Wait()
		if s, _ := n.State(); s != recorder.Recovering {
			t.Fatalf("started again, the log is %s", s)
		}
		late := n.event(t, plain(99))
		if err := n.Resume(context.Background()); err != nil {
			t.Fatal(err)
		}
		flush(t, n)
		got := n.entries(t, p.did)
		if len(got) != 8 || got[7].ID() != late {
			t.Errorf("%d entries, want 8 with the new one last: what was taken in is not appended again", len(got))
		}
	})
}

func copyDB(t *testing.T, from store.DB) store.DB {
	t.Helper()
	to := store.Memory()
	type kv struct{ k, v []byte }
	var all []kv
	err := from.View(context.Background(), func(r store.Reader) error {
		return r.Scan(nil, nil, func(k, v []byte) bool {
			all = append(all, kv{slices.Clone(k), slices.Clone(v)})
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	err = to.Update(context.Background(), func(tx store.Tx) error {
		for _, e := range all {
			if err := tx.Set(e.k, e.v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { to.Close() })
	return to
}

func TestAnAlteredLogSignsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := running(t, p, knows(p))
		n.event(t, plain(0))
		flush(t, n)
		n.stop()
		err := n.audit.Update(context.Background(), func(tx store.Tx) error {
			k := []byte("en/\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01")
			b, err := tx.Get(k)
			if err != nil {
				return err
			}
			b[3] ^= 1
			return tx.Set(k, b)
		})
		if err != nil {
			t.Fatal(err)
		}
		n.start(t)
		n.run(t)
		n.event(t, plain(1))
		time.Sleep(2 * time.Second)
		if s, _ := n.State(); s != recorder.Corrupt {
			t.Errorf("the log is %s", s)
		}
		if got := len(n.entries(t, p.did)); got != 2 {
			t.Errorf("%d entries", got)
		}
		if err := n.Resume(context.Background()); err == nil {
			t.Error("resumed")
		}
	})
}
