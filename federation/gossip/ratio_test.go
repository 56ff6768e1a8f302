package gossip

import (
	"testing"
	"time"

	"trustnode/scripts/benchtest"
)

// spent is the processor time that f takes.
func spent(f func()) time.Duration {
	start := benchtest.CPU()
	f()
	return benchtest.CPU() - start
}

// TestRatiosOfGossip are the ratio checks of 03, section 18, in events for each second of
// processor time, so that a busy machine changes nothing: batches at least 5 times one event
// per message, and catch-up at least 3 times live gossip, where events come one at a time.
// Making and signing the events counts where they are gossiped.
func TestRatiosOfGossip(t *testing.T) {
	if testing.Short() || benchtest.Race {
		t.Skip("takes processor time, and means nothing under the race detector")
	}
	const events, missed = 120, 1000
	batched, caught := 0.0, 0.0
	for try := 0; try < 5 && (batched < 5 || caught < 3); try++ {
		inWorld(t, 2, func(w *world) {
			w.start(0, 1)
			w.wait(2 * time.Second)
			one := spent(func() {
				for range events {
					w.hs[0].say(false, some(1)...)
					w.wait(publishApart)
				}
			}) / events
			many := spent(func() {
				w.hs[0].say(false, some(events)...)
				w.wait(publishApart)
			}) / events
			w.alike()
			w.kill(1)
			w.hs[0].say(false, some(missed)...)
			again := spent(func() {
				w.start(1)
				w.wait(2 * time.Second)
			}) / missed
			w.alike()
			t.Logf("an event alone %v, in a batch %v, caught up %v", one, many, again)
			batched = max(batched, float64(one)/float64(many))
			caught = max(caught, float64(one)/float64(again))
		})
	}
	if batched < 5 {
		t.Errorf("a batch carries %.1f times the events of single messages, want 5", batched)
	}
	if caught < 3 {
		t.Errorf("catch-up carries %.1f times the events of live gossip, want 3", caught)
	}
}
