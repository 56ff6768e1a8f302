package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/node/fault"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// damage flips a bit of an entry of the own log.
func (n *node) damage(t *testing.T, index byte) {
	t.Helper()
	err := n.audit.Update(context.Background(), func(tx store.Tx) error {
		k := []byte("en/\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00" + string([]byte{index}))
		b, err := tx.Get(k)
		if err != nil {
			return err
		}
		b[len(b)/2] ^= 4
		return tx.Set(k, b)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// peerHas gives entries as a peer has them; nil is a peer that is not there.
func peerHas(peer *node) store.Refetch {
	return func(ctx context.Context, d did.DID, from, to uint64, fits func([]attestation.Entry) bool) error {
		if peer == nil {
			return errors.New("nobody is there")
		}
		l, err := peer.Log(ctx, d)
		if err != nil {
			return err
		}
		var list []attestation.Entry
		err = l.Entries(ctx, from, to, func(_ uint64, en attestation.Entry) error { list = append(list, en); return nil })
		if err == nil && !fits(list) {
			err = errors.New("nothing fits")
		}
		return err
	}
}

// TestACorruptLogIsLeftByRepair: damaged while the node was down, the log takes and signs
// nothing, says which index it is and both ways out, and goes on without a restart once a
// peer gave the entry: as Recovering where it waited for peers anyway.
func TestACorruptLogIsLeftByRepair(t *testing.T) {
	for _, paused := range []bool{false, true} {
		for _, index := range []byte{2, 4} { // one in between, and the newest
			t.Run(fmt.Sprint("paused ", paused, ", index ", index), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { corruptAndRepair(t, index, paused) })
			})
		}
	}
}

func corruptAndRepair(t *testing.T, index byte, paused bool) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	ring, ctx := knows(acme, beta), context.Background()
	n, peer := running(t, acme, ring), running(t, beta, ring)
	for i := range 4 {
		n.event(t, plain(i))
	}
	flush(t, n)
	want := fmt.Sprint(n.entries(t, acme.did))
	pull(t, n, peer)
	n.stop()
	n.damage(t, index)
	n.start(t)
	n.run(t)
	late := n.event(t, plain(9))
	time.Sleep(2 * time.Second)
	if paused {
		n.Pause("waits for peers")
	}
	var d *fault.Denied
	err := n.Flush(ctx)
	if s, _ := n.State(); s != recorder.Corrupt || !errors.Is(err, recorder.ErrCorrupt) || !errors.Is(err, recorder.ErrRecovering) {
		t.Fatalf("the log is %s: %v", s, err)
	}
	if d = fault.From(err); d.Code != fault.Unavailable || d.Reason != "corrupt" || d.Hint != fmt.Sprintf("%d does not hash to the pinned tree: trustnode fsck --repair, or restore a backup", index) {
		t.Errorf("%+v", d)
	}
	told := len(n.news.told())
	if _, err := n.Repair(ctx, peerHas(nil)); !errors.Is(err, recorder.ErrCorrupt) || !strings.Contains(err.Error(), fmt.Sprintf("%d does not hash", index)) {
		t.Errorf("repaired by nobody: %v", err)
	}
	if s, _ := n.State(); s != recorder.Corrupt || len(n.news.told()) != told {
		t.Errorf("the log is %s", s)
	}
	done, err := n.Repair(ctx, peerHas(peer))
	if err != nil || len(done) != 1 || fmt.Sprint(done[0].Entries) != fmt.Sprintf("[%d]", index) {
		t.Fatalf("%+v %v", done, err)
	}
	if paused {
		if s, why := n.State(); s != recorder.Recovering || why != "waits for peers" {
			t.Errorf("the log is %s: %s", s, why)
		}
		if err := n.Resume(ctx); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, n)
	got := n.entries(t, acme.did)
	if fmt.Sprint(got[:5]) != want || len(got) != 6 || got[5].ID() != late {
		t.Errorf("%d entries after the repair", len(got))
	}
	for i, s := range n.standings(t, acme.did) {
		if s != "valid" {
			t.Errorf("own event %d is %s", i, s)
		}
	}
	if res := pull(t, n, peer); res.Verdict != recorder.Accepted {
		t.Errorf("the peer does not take what follows: %v", res)
	}
	signed(t, n)
	n.sound(t)
}

// TestADamagedTreeAccusesNobody: the tree of another's log is damaged here. Its true heads,
// entries and cosign requests are then no evidence against it and no fault of who sends
// them; its notes stay, and a repair goes by them.
func TestADamagedTreeAccusesNobody(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	l, k, ctx := long(t, acme, 8), acme.keys[0], context.Background()
	n := listener(t, knows(acme, beta), beta)
	if _, err := n.Ingest(ctx, l.pack(t, k, 0, 6, 6)); err != nil {
		t.Fatal(err)
	}
	err := n.audit.Update(ctx, func(tx store.Tx) error {
		tile := []byte("ti/\x00\x00\x00\x01\x00" + strings.Repeat("\x00", 8))
		b, err := tx.Get(tile)
		if err != nil {
			return err
		}
		b[40] ^= 1
		return tx.Set(tile, b)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name           string
		from, to, size int
	}{
		{"the head that is held", 0, 0, 6},
		{"an older head", 0, 0, 4},
		{"a head above, and entries from before", 3, 7, 8},
	} {
		res, err := n.Ingest(ctx, l.pack(t, k, c.from, c.to, c.size))
		if res.Verdict == recorder.Forked || res.Verdict == recorder.Rejected {
			t.Errorf("%s: %s (%v)", c.name, res.Verdict, err)
		}
	}
	if kept, err := n.events.Evidence(ctx, acme.did); err != nil || len(kept) > 0 {
		t.Errorf("%d notes are evidence (%v)", len(kept), err)
	}
	if _, err := n.Repair(ctx, peerHas(nil)); err != nil {
		t.Fatal(err)
	}
	if res, err := n.Ingest(ctx, l.pack(t, k, 3, 8, 8)); err != nil || res.Verdict != recorder.Accepted && res.Verdict != recorder.Behind && res.Verdict != recorder.Held {
		t.Errorf("after the repair: %s (%v)", res.Verdict, err)
	}
}
