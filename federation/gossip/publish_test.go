package gossip

import (
	"testing"
	"time"
)

// TestAnAllowanceKeepsAnySecond: whoever always has something to send sends a few at once, and
// in no second as many as a signer may.
func TestAnAllowanceKeepsAnySecond(t *testing.T) {
	for _, each := range []int{1, 2, 4} {
		var a allowance
		var sent []time.Time
		now := time.Unix(1_800_000_000, 0)
		for range 300 {
			for range each {
				sent = append(sent, now)
			}
			if wait := a.spend(each, now); wait > 0 {
				now = now.Add(wait)
			}
		}
		if each == 1 && !sent[publishBurst-1].Equal(sent[0]) {
			t.Errorf("%v between the first of a burst", sent[publishBurst-1].Sub(sent[0]))
		}
		for i, begin := range sent {
			n := 0
			for _, at := range sent[i:] {
				if at.Sub(begin) < time.Second {
					n++
				}
			}
			if n >= perSecond {
				t.Fatalf("%d messages within a second, %d at a time", n, each)
			}
		}
		if rate := float64(len(sent)) / now.Sub(sent[0]).Seconds(); rate < 38 {
			t.Errorf("%.1f messages a second, %d at a time", rate, each)
		}
	}
}
