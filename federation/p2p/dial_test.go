package p2p

import (
	"testing"
	"time"
)

// TestAPeerThatWasLinkedIsDialledEverySecond: after a cut all are linked again within two
// seconds of its end, however long it was; a peer that is gone costs ever less.
func TestAPeerThatWasLinkedIsDialledEverySecond(t *testing.T) {
	for _, c := range []struct {
		name       string
		back, gone time.Duration
		want       time.Duration
	}{
		{"just lost", dialMin, 0, time.Second},
		{"lost half a minute ago", dialMin, 30 * time.Second, time.Second},
		{"lost nearly ten minutes ago", dialMin, eagerFor - 1, time.Second},
		{"lost ten minutes ago", dialMin, eagerFor, 2 * time.Second},
		{"lost an hour ago", 16 * time.Second, time.Hour, dialMax},
		{"never linked", 8 * time.Second, time.Since(time.Time{}), 16 * time.Second},
	} {
		if got := longer(c.back, c.gone); got != c.want {
			t.Errorf("%s: %s after %s, want %s", c.name, got, c.back, c.want)
		}
	}
}
