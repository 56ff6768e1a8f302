package gossip

import (
	"context"
	"testing"
	"time"

	"trustnode/federation"
)

// oneByOne says n events at a home that tells its node nothing, and returns each as a message
// of its own, under a head of its own.
func oneByOne(t *testing.T, h *home, n int) (msgs [][]byte) {
	t.Helper()
	h.mu.Lock()
	node := h.node
	h.node = nil
	h.mu.Unlock()
	for range n {
		from := h.size(h.me)
		h.say(false, some(1)...)
		msgs = append(msgs, packed(t, h, from, from+1, as))
	}
	h.mu.Lock()
	h.node = node
	h.mu.Unlock()
	return msgs
}

// TestWhatIsOverTheLimitIsPulled: more messages in a second than a signer may send are not
// taken, but what they tell of is not forgotten until the sync of the next minute (C-1, C-2).
func TestWhatIsOverTheLimitIsPulled(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start(0, 1)
		w.wait(5 * time.Second)
		for _, msg := range oneByOne(t, w.hs[1], perSecond+10) {
			w.node(0).Judge(context.Background(), w.hs[1].peer, federation.TopicEvents, msg)
		}
		w.wait(500 * time.Millisecond)
		w.alike()
	})
}

// TestAGapIsPulledUntilItIsClosed: who showed a head may not have what is under it, or no
// longer; others do.
func TestAGapIsPulledUntilItIsClosed(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.start(0, 1, 2)
		w.wait(5 * time.Second)
		msgs := oneByOne(t, w.hs[1], 3)
		w.node(0).Judge(context.Background(), w.hs[2].peer, federation.TopicEvents, msgs[2])
		w.wait(500 * time.Millisecond)
		if got := w.hs[0].size(w.hs[1].me); got != 0 {
			t.Fatalf("%d entries are held of what nobody has shown", got)
		}
		w.wait(2 * time.Second)
		if got := w.hs[0].size(w.hs[1].me); got != 3 {
			t.Errorf("%d entries are held two seconds later", got)
		}
		w.wait(2 * time.Second)
		n := w.node(0)
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.gaps) != 0 {
			t.Errorf("%d gaps are open", len(n.gaps))
		}
	})
}
