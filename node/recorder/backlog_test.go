package recorder_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/pins"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// stuck is pins whose disk is full.
type stuck struct{ pins.Pins }

func (stuck) Put(context.Context, pins.Slot, string) error { return errors.New("no space left") }

func TestALogThatDoesNotDrainRefusesNewWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := newNode(t, p, knows(p))
		good := n.pins
		n.pins = stuck{good}
		n.start(t)
		n.run(t)
		draft := func(d attestation.Draft) error {
			return n.state.Update(context.Background(), func(tx store.Tx) error {
				_, err := n.Event(tx, d)
				return err
			})
		}
		row := func(kind string) error {
			return n.state.Update(context.Background(), func(tx store.Tx) error {
				_, err := n.Row(tx, audit.Row{Kind: kind, Body: []byte(`{"salt":"s"}`)})
				return err
			})
		}
		if err := draft(plain(1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		if err := draft(plain(2)); err != nil {
			t.Errorf("refused after 9 s: %v", err)
		}
		time.Sleep(2 * time.Second)
		if err := draft(plain(3)); !errors.Is(err, attestation.ErrBacklog) {
			t.Errorf("after 11 s: %v", err)
		}
		if err := row("read"); !errors.Is(err, attestation.ErrBacklog) {
			t.Errorf("a read after 11 s: %v", err)
		}
		if err := errors.Join(draft(barrier(4)), row("revoke")); err != nil {
			t.Errorf("a revocation is refused: %v", err)
		}
		if len(n.news.told()) != 0 {
			t.Error("a head left before its pin")
		}
		n.stop()
		n.pins = good
		n.start(t)
		n.run(t)
		flush(t, n)
		if err := draft(plain(5)); err != nil {
			t.Errorf("after the disk came back: %v", err)
		}
	})
}

func TestABacklogRefusesNewWorkAndNoRevocation(t *testing.T) {
	if testing.Short() {
		t.Skip("drafts 100,000 rows")
	}
	p := newParty("acme", 0x11)
	n := newNode(t, p, knows(p))
	n.start(t)
	add := func(k int, d ...attestation.Draft) error {
		return n.state.Update(context.Background(), func(tx store.Tx) error {
			for i := range k {
				if _, err := n.Row(tx, audit.Row{Kind: "read", Body: []byte(`{"salt":"s"}`), Keys: []string{string(rune('a' + i%26))}}); err != nil {
					return err
				}
			}
			for _, one := range d {
				if _, err := n.Event(tx, one); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for range 20 {
		if err := add(5000); err != nil {
			t.Fatal(err)
		}
	}
	if err := add(1); !errors.Is(err, attestation.ErrBacklog) {
		t.Errorf("row 100,001: %v", err)
	}
	if err := add(0, barrier(1)); err != nil {
		t.Errorf("a revocation is refused: %v", err)
	}
	n.Pause("a test")
	if err := add(1); err != nil {
		t.Errorf("while recovering: %v", err)
	}
}

// TestPinnedButUnsignedHeadIsSignedAtStart: the pin names a root the log
// holds; the process died before it signed.
func TestPinnedButUnsignedHeadIsSignedAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := newNode(t, p, knows(p))
		n.start(t)
		n.SetStep(func(step string) error {
			if step == "pinned" {
				return recorder.ErrStopped
			}
			return nil
		})
		n.run(t)
		time.Sleep(time.Second)
		if err := n.stop(); !errors.Is(err, recorder.ErrStopped) {
			t.Fatal(err)
		}
		n.start(t)
		n.run(t)
		time.Sleep(2 * time.Second)
		h, err := n.Head(context.Background(), p.did)
		if err != nil || h.Note == nil || parseNote(t, h.Note).Head.Size != 1 {
			t.Errorf("head %+v (%v)", h, err)
		}
	})
}
