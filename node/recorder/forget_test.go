package recorder_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

func nothingCited(attestation.Event, envelope.ID) bool { return false }

func (n *node) forget(t *testing.T, cited recorder.Cited) int {
	t.Helper()
	got, err := n.Forget(context.Background(), cited)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (n *node) take(t *testing.T, body []byte) {
	t.Helper()
	if _, err := n.PutBody(context.Background(), body); err != nil {
		t.Fatal(err)
	}
}

// TestPeersDropWhatItsOriginErased: a body that was shown goes once the origin's log.erased
// is here, stays while an open case rests on it, and is never taken again.
func TestPeersDropWhatItsOriginErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
		ring := knows(acme, beta)
		n, peer := running(t, acme, ring), running(t, beta, ring)
		event, kept := n.event(t, ending(1)), n.event(t, barrier(2))
		flush(t, n)
		pull(t, n, peer)
		peer.take(t, ending(1).Body)
		peer.take(t, barrier(2).Body)
		if got := peer.forget(t, nothingCited); got != 0 || len(peer.finds(t, secret)) != 1 {
			t.Fatalf("%d went before anything was erased", got)
		}
		n.erase(t, event)
		flush(t, n)
		pull(t, n, peer)
		asked := envelope.ID{}
		cited := func(_ attestation.Event, id envelope.ID) bool { asked = id; return true }
		if got := peer.forget(t, cited); got != 0 || asked != event || len(peer.finds(t, secret)) != 1 {
			t.Errorf("%d went from under an open case, %s was asked for", got, asked)
		}
		// The case is closed, and the node started again: it is due by what is kept.
		peer.stop()
		peer.start(t)
		peer.run(t)
		if got := peer.forget(t, nothingCited); got != 0 {
			t.Errorf("%d went before it was due again", got)
		}
		time.Sleep(time.Hour)
		if got := peer.forget(t, nothingCited); got != 1 || len(peer.finds(t, secret)) != 0 {
			t.Errorf("%d went; %q", got, peer.finds(t, secret))
		}
		if _, err := peer.PutBody(context.Background(), ending(1).Body); !errors.Is(err, attestation.ErrErased) {
			t.Errorf("taken again: %v", err)
		}
		if _, err := peer.Body(context.Background(), envelope.IDOf(barrier(2).Body)); err != nil {
			t.Errorf("the body of %s, which is not erased: %v", kept, err)
		}
		if list, err := peer.Wanted(context.Background(), 10); err != nil || len(list) != 0 {
			t.Errorf("wanted: %v (%v)", list, err)
		}
		if got := peer.forget(t, nothingCited); got != 0 {
			t.Errorf("%d went twice", got)
		}
		peer.sound(t)
	})
}

// TestNobodyErasesAnothersBody: a member that names another's body in an event of its own
// and erases that takes nothing from anybody, and what every member may read stays.
func TestNobodyErasesAnothersBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, beta, mallory := newParty("acme", 0x11), newParty("beta", 0x21), newParty("mallory", 0x31)
		ring := knows(acme, beta, mallory)
		n, peer, bad := running(t, acme, ring), running(t, beta, ring), running(t, mallory, ring)
		n.event(t, ending(1))
		flush(t, n)
		foreign := bad.event(t, ending(1))
		flush(t, bad)
		bad.erase(t, foreign)
		flush(t, bad)
		pull(t, n, peer)
		pull(t, bad, peer)
		peer.take(t, ending(1).Body)
		if got := peer.forget(t, nothingCited); got != 0 || len(peer.finds(t, secret)) != 1 {
			t.Errorf("%d went", got)
		}
		// Once its own origin erases it too, it goes.
		n.erase(t, envelope.IDOf(ending(1).Body))
		flush(t, n)
		pull(t, n, peer)
		if got := peer.forget(t, nothingCited); got != 1 || len(peer.finds(t, secret)) != 0 {
			t.Errorf("%d went", got)
		}
	})
}

// standing gives one event of a log another standing, as a fork or a taint would.
func (n *node) standing(t *testing.T, d did.DID, index uint64, s attestation.Standing, why attestation.Reason) {
	t.Helper()
	v := attestation.Verdict{Level: attestation.Authored, Standing: s, Reason: why}
	if err := n.events.Settle(context.Background(), d, store.Settled{Judged: []store.Judgement{{Index: index, Verdict: v}}}); err != nil {
		t.Fatal(err)
	}
}

// TestWhatNoEventOfItsOwnKeepsIsNotErasedByOthers: texts of cases, which no event names as
// its body, an own body whose event does not count now, and another's whose event does not,
// outlive a member that names each in an event of its own and erases that.
func TestWhatNoEventOfItsOwnKeepsIsNotErasedByOthers(t *testing.T) {
	for _, now := range []struct {
		s   attestation.Standing
		why attestation.Reason
	}{{attestation.Contested, attestation.ReasonFork}, {attestation.Disputed, attestation.ReasonTaint}, {attestation.Pending, attestation.ReasonRemoved}, {attestation.Void, attestation.ReasonCutoff}} {
		synctest.Test(t, func(t *testing.T) {
			acme, beta, mallory := newParty("acme", 0x11), newParty("beta", 0x21), newParty("mallory", 0x31)
			ring := knows(acme, beta, mallory)
			n, victim, bad := running(t, acme, ring), running(t, beta, ring), running(t, mallory, ring)
			text := []byte(`{"salt":"s","text":"handed in"}`)
			err := victim.state.Update(context.Background(), func(tx store.Tx) error {
				_, err := recorder.PutObject(tx, recorder.ObjectBody, text)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			victim.event(t, ending(1))
			n.event(t, ending(2))
			for i, body := range [][]byte{text, ending(1).Body, ending(2).Body} {
				d := barrier(i)
				d.Body = body
				bad.event(t, d)
			}
			for _, x := range []*node{n, victim, bad} {
				flush(t, x)
			}
			pull(t, n, victim)
			victim.take(t, ending(2).Body)
			for i, p := range []*party{beta, acme} {
				by, err := victim.events.Naming(context.Background(), envelope.IDOf(ending(i+1).Body))
				if err != nil || len(by) != 1 {
					t.Fatalf("%v (%v)", by, err)
				}
				victim.standing(t, p.did, by[0].Index, now.s, now.why)
			}
			for _, body := range [][]byte{text, ending(1).Body, ending(2).Body} {
				bad.erase(t, envelope.IDOf(body))
			}
			flush(t, bad)
			pull(t, bad, victim)
			victim.forget(t, nothingCited)
			for name, body := range map[string][]byte{"a text of a case": text, "its own": ending(1).Body, "another's": ending(2).Body} {
				if b, err := victim.Body(context.Background(), envelope.IDOf(body)); err != nil || !bytes.Equal(b, body) {
					t.Errorf("%v: %s went: %v", now.why, name, err)
				}
			}
		})
	}
}

// TestNobodyErasesABodyBeforeItComes: a member that names a body first, and erases that
// before the log comes whose body it is, keeps it from nobody: what is held is the same
// whatever came first (03, I-7).
func TestNobodyErasesABodyBeforeItComes(t *testing.T) {
	for _, first := range []string{"mallory", "acme", "acme, while it does not count"} {
		synctest.Test(t, func(t *testing.T) {
			acme, beta, mallory := newParty("acme", 0x11), newParty("beta", 0x21), newParty("mallory", 0x31)
			ring := knows(acme, beta, mallory)
			n, peer, bad := running(t, acme, ring), running(t, beta, ring), running(t, mallory, ring)
			n.event(t, ending(1))
			foreign := bad.event(t, ending(1))
			flush(t, n)
			flush(t, bad)
			bad.erase(t, foreign)
			flush(t, bad)
			id := envelope.IDOf(ending(1).Body)
			if first != "mallory" {
				pull(t, n, peer)
			}
			by, err := n.events.Naming(context.Background(), id)
			if err != nil || len(by) != 1 {
				t.Fatalf("%v (%v)", by, err)
			}
			if first == "acme, while it does not count" {
				peer.standing(t, acme.did, by[0].Index, attestation.Pending, attestation.ReasonRemoved)
			}
			pull(t, bad, peer)
			peer.forget(t, nothingCited)
			time.Sleep(time.Hour)
			peer.forget(t, nothingCited)
			pull(t, n, peer)
			if err := peer.Recheck(context.Background(), acme.did); err != nil {
				t.Fatal(err)
			}
			if list, err := peer.Wanted(context.Background(), 10); err != nil || !slices.ContainsFunc(list, func(w store.Wanted) bool { return w.Org == acme.did && w.ID == id }) {
				t.Errorf("%s first: wanted: %v (%v)", first, list, err)
			}
			peer.take(t, ending(1).Body)
			peer.sound(t)
			n.erase(t, id)
			flush(t, n)
			pull(t, n, peer)
			time.Sleep(time.Hour)
			peer.forget(t, nothingCited)
			if got := peer.finds(t, secret); len(got) != 0 {
				t.Errorf("%s first: erased by both, and held: %q", first, got)
			}
		})
	}
}

// TestErasuresBehindOneThatIsPendingAreTakenIn: however many there are, in one pass; the one
// that is pending, or out by what a charter says, follows once it counts.
func TestErasuresBehindOneThatIsPendingAreTakenIn(t *testing.T) {
	for _, why := range []attestation.Reason{attestation.ReasonRemoved, attestation.ReasonCutoff} {
		synctest.Test(t, func(t *testing.T) { erasedBehind(t, why) })
	}
}

func erasedBehind(t *testing.T, why attestation.Reason) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	ring := knows(acme, beta)
	n, peer := running(t, acme, ring), running(t, beta, ring)
	peer.SetMaxErasures(3)
	for i := range 9 {
		n.event(t, ending(i))
	}
	flush(t, n)
	pull(t, n, peer)
	for i := range 9 {
		peer.take(t, ending(i).Body)
		n.erase(t, envelope.IDOf(ending(i).Body))
	}
	flush(t, n)
	pull(t, n, peer)
	var first uint64
	for i, en := range n.entries(t, acme.did) {
		if _, ev, _ := en.Envelope(); ev.Type == "log.erased" {
			first = uint64(i)
			break
		}
	}
	st := attestation.Pending
	if why == attestation.ReasonCutoff {
		st = attestation.Void
	}
	peer.standing(t, acme.did, first, st, why)
	if got := peer.forget(t, nothingCited); got != 8 || len(peer.finds(t, secret)) != 1 {
		t.Errorf("%d went; %q", got, peer.finds(t, secret))
	}
	if err := errors.Join(peer.Recheck(context.Background(), acme.did), peer.Rebound(context.Background())); err != nil {
		t.Fatal(err)
	}
	if got := peer.forget(t, nothingCited); got != 1 || len(peer.finds(t, secret)) != 0 {
		t.Errorf("then %d went; %q", got, peer.finds(t, secret))
	}
	if upto, err := peer.events.ErasedTo(context.Background(), acme.did); err != nil || upto < first+9 {
		t.Errorf("taken in up to %d (%v)", upto, err)
	}
}

// TestOneErasureThatFailsKeepsNoOtherBack: nor does one of what is not held any more, and
// what is cut off is not due.
func TestOneErasureThatFailsKeepsNoOtherBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
		ring := knows(acme, beta)
		n, peer := running(t, acme, ring), running(t, beta, ring)
		lost := n.event(t, ending(1))
		n.event(t, ending(2))
		flush(t, n)
		pull(t, n, peer)
		for i := 1; i < 3; i++ {
			peer.take(t, ending(i).Body)
			n.erase(t, envelope.IDOf(ending(i).Body))
		}
		flush(t, n)
		pull(t, n, peer)
		found, err := peer.events.Find(ctx, lost)
		if err != nil || len(found) != 1 {
			t.Fatalf("%v (%v)", found, err)
		}
		err = peer.audit.Update(ctx, func(tx store.Tx) error {
			var at [][]byte
			err := peer.audit.View(ctx, func(r store.Reader) error {
				return r.Scan([]byte("en/"), nil, func(k, v []byte) bool {
					if bytes.Equal(v, found[0].Entry) {
						at = append(at, bytes.Clone(k))
					}
					return true
				})
			})
			for _, k := range at {
				err = errors.Join(err, tx.Delete(k))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		size := uint64(len(n.entries(t, acme.did)))
		if err := peer.events.NoteErasures(ctx, acme.did, []store.Due{{Org: acme.did, Index: size + 5, At: 1}}, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := peer.Forget(ctx, nothingCited); err == nil {
			t.Error("the fault is not told")
		}
		if got := peer.finds(t, "marked-private 2"); len(got) != 0 {
			t.Errorf("%q", got)
		}
		if list, err := peer.events.Dues(ctx, time.Now().Unix(), 10); err != nil || len(list) != 0 {
			t.Errorf("still due: %v (%v)", list, err)
		}
		if list, err := peer.events.Dues(ctx, time.Now().Add(2*time.Hour).Unix(), 10); err != nil || len(list) != 1 || list[0].Index != found[0].Index {
			t.Errorf("due again: %v (%v)", list, err)
		}
	})
}

// TestAnOlderCopyIsErasedAgain: a backup from before the erasure brings the body back, and
// the log, which peers give back, takes it away again.
func TestAnOlderCopyIsErasedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
		ring := knows(acme, beta)
		n, peer := running(t, acme, ring), running(t, beta, ring)
		event := n.event(t, ending(1))
		flush(t, n)
		state, audit := copyDB(t, n.state), copyDB(t, n.audit)
		n.erase(t, event)
		flush(t, n)
		pull(t, n, peer)
		n.stop()
		n.state, n.audit = state, audit
		n.start(t)
		n.run(t)
		synctest.Wait()
		if got := n.finds(t, secret); len(got) != 1 {
			t.Fatalf("the older copy has %q", got)
		}
		p, err := peer.Package(context.Background(), acme.did, 2, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := n.Ingest(context.Background(), p); err != nil || res.Verdict != recorder.Accepted {
			t.Fatalf("own tail: %v (%v)", res, err)
		}
		if err := n.Resume(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := n.forget(t, nothingCited); got != 1 || len(n.finds(t, secret)) != 0 {
			t.Errorf("%d went; %q", got, n.finds(t, secret))
		}
		if e := n.erase(t, event); !e.Already {
			t.Errorf("erased twice: %+v", e)
		}
		n.sound(t)
	})
}
