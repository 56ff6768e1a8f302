package httpapi

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestAStreamOfAStrangerEnds: its place is given to others in time, and the operator's stays.
func TestAStreamOfAStrangerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for public, want := range map[bool]error{true: context.DeadlineExceeded, false: nil} {
			w := &watch{s: &server{}, public: public, changed: make(chan struct{})}
			ctx, cancel := w.lifetime(t.Context())
			beat := time.NewTicker(Heartbeat)
			begun := time.Now()
			for w.wait(ctx, beat.C) && time.Since(begun) < time.Hour {
			}
			if ctx.Err() != want || want != nil && time.Since(begun) != publicWatchLife {
				t.Errorf("public %v: %v after %s", public, ctx.Err(), time.Since(begun))
			}
			beat.Stop()
			cancel()
		}
	})
}
