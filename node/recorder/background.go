package recorder

import (
	"context"
	"time"

	"trustnode/attestation"
	"trustnode/did"
)

// What comes in bulk is logged first and judged in the background, in log order (03, section
// 8). Up to where a log is judged is durable with the verdicts, so that a crash between the two
// leaves nothing to repair: the next process goes on from there. What bears on keys is never
// left unjudged, so what is in force at the end of a log is always known.

// pace is how much is judged in the background, and when.
type pace struct {
	bulk int    // events that come at once and need not be judged as they come
	step int    // events that are judged at once
	most uint64 // events of one log that wait
}

// mayWait reports whether entries of a log may be appended before they are judged. The caller
// holds the log.
func (r *Recorder) mayWait(d did.DID, held uint64, fresh []claim) bool {
	waiting := held - r.cfg.Events.Judged(d)
	if d == r.cfg.Org || !r.behind.Load() || waiting == 0 && len(fresh) < r.pace.bulk {
		return false
	}
	for i := range fresh {
		if attestation.IsAuthoredFirst(fresh[i].event.Type) {
			return false
		}
	}
	return true
}

// makeRoom judges of a log what is more than may wait together with n events. The caller
// holds the log.
func (r *Recorder) makeRoom(ctx context.Context, d did.DID, held uint64, n int) error {
	for held-r.cfg.Events.Judged(d)+uint64(n) > r.pace.most {
		l, err := r.cfg.Events.Log(ctx, d)
		if err != nil {
			return err
		}
		from := r.cfg.Events.Judged(d)
		claims, err := heldClaims(ctx, l, from, min(held, from+uint64(r.pace.step)))
		if err != nil {
			return err
		}
		if err := r.judgeOn(ctx, l, d, from, claims); err != nil {
			return err
		}
	}
	return nil
}

// judgeOn judges claims read back from a log, from where it is judged on, durably. The caller
// holds the log.
func (r *Recorder) judgeOn(ctx context.Context, l attestation.Log, d did.DID, from uint64, claims []claim) error {
	j, err := r.judgeStored(ctx, l, d, from, claims)
	if err != nil {
		return err
	}
	return r.settle(ctx, d, nil, j)
}

// judgeLoop judges what waits, some of each log in turn, until ctx ends.
func (r *Recorder) judgeLoop(ctx context.Context) {
	r.behind.Store(true)
	defer r.behind.Store(false)
	failing := map[did.DID]bool{}
	for ctx.Err() == nil {
		more := false
		for _, d := range r.cfg.Events.Orgs() {
			some, err := r.judgeSome(ctx, d)
			if err != nil && ctx.Err() == nil && !failing[d] {
				r.cfg.Log.ErrorContext(ctx, "events of a log cannot be judged; it is tried again", "org", d.String(), "error", err)
			}
			failing[d] = err != nil
			if more = more || some; some {
				r.yield(ctx)
			}
		}
		if more {
			continue
		}
		wait := time.NewTimer(idleEvery)
		select {
		case <-ctx.Done():
		case <-r.unjudged:
		case <-wait.C: // for what failed
		}
		wait.Stop()
	}
}

// yield lets what is pouring in go first for a moment: what a peer holds is safe once it is
// here too, and is not lost by being judged later.
func (r *Recorder) yield(ctx context.Context) {
	for waited := time.Duration(0); waited < maxYield && ctx.Err() == nil; waited += yieldEvery {
		if r.cfg.Now().UnixNano()-r.poured.Load() > int64(quietAfter) {
			return
		}
		time.Sleep(yieldEvery)
	}
}

// judgeSome judges one step of what waits of a log, and reports whether it did. Signatures are
// verified while nobody holds the log; should its keys or its branch change meanwhile, that
// counts for nothing.
func (r *Recorder) judgeSome(ctx context.Context, d did.DID) (bool, error) {
	if d == r.cfg.Org || r.cfg.Events.Judged(d) >= r.size(ctx, d) {
		return false, nil
	}
	moves := r.movesOf(d)
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return false, err
	}
	h, _ := l.Head()
	from := r.cfg.Events.Judged(d)
	if from >= h.Size {
		return false, nil
	}
	claims, err := heldClaims(ctx, l, from, min(h.Size, from+uint64(r.pace.step)))
	if err != nil {
		return false, err
	}
	if err := r.openEarly(ctx, d, from, claims); err != nil {
		return false, err
	}
	news, err := r.judgeOpened(ctx, d, from, claims, moves)
	if err != nil || news == nil {
		return err == nil, err
	}
	r.progress()
	r.cfg.OnHead(*news) // bodies that are named are asked for now
	return true, nil
}

// openEarly verifies claims of one log under the keys that it is now known to have.
func (r *Recorder) openEarly(ctx context.Context, d did.DID, first uint64, claims []claim) error {
	if wait, err := r.blocked(ctx, d); err != nil || wait {
		return err
	}
	k, err := r.Keys(ctx, d)
	if err != nil {
		return err
	}
	defer r.time(StageJudge)()
	r.judgingOf(ctx, k, first, claims).openFirst(ctx)
	return nil
}

// judgeOpened makes the verdicts on claims durable; nil where the log has moved on since they
// were read.
func (r *Recorder) judgeOpened(ctx context.Context, d did.DID, from uint64, claims []claim, moves uint64) (*HeadNews, error) {
	defer r.logs.of(d)()
	if r.movesOf(d) != moves {
		return nil, nil
	}
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return nil, err
	}
	if err := r.judgeOn(ctx, l, d, from, claims); err != nil {
		return nil, err
	}
	note, _, _ := r.cfg.Events.Newest(d)
	return &HeadNews{Org: d, Size: from + uint64(len(claims)), Note: note}, nil
}

// movesOf counts how often a log was judged on, or its keys or its branch changed.
func (r *Recorder) movesOf(d did.DID) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.moves[d]
}

// waitsToBeJudged says that something of a log waits for its verdict.
func (r *Recorder) waitsToBeJudged() {
	r.poured.Store(r.cfg.Now().UnixNano())
	select {
	case r.unjudged <- struct{}{}:
	default:
	}
}
