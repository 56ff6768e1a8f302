package recorder

import (
	"context"

	"trustnode/did"
)

// ErrStopped is what a step hook returns to stop Run as a crash would.
var ErrStopped = errStopped

// SetStep sets the hook that Run calls after each of its steps.
func (r *Recorder) SetStep(f func(step string) error) { r.testingOnlyStep = f }

// SetMaxCover makes an audit.rows cover at most so many rows.
func (r *Recorder) SetMaxCover(n uint64) { r.maxCover = n }

// SetMaxErasures makes Forget take in so many log.erased of a log at once.
func (r *Recorder) SetMaxErasures(n int) { r.maxErasures = n }

// SetRing puts another ring in place, while nothing runs.
func (r *Recorder) SetRing(ring Ring) { r.cfg.Ring = ring }

// SetPace makes what comes at once wait for its verdict from so many events on, at most so
// many of one log, and judges so many at a time. Whoever sets it judges with JudgeSome unless
// Run does.
func (r *Recorder) SetPace(bulk, step int, most uint64) {
	r.pace = pace{bulk, step, most}
	r.behind.Store(true)
}

// JudgeSome judges one step of what waits of a log.
func (r *Recorder) JudgeSome(ctx context.Context, d did.DID) (bool, error) {
	return r.judgeSome(ctx, d)
}
