package recorder

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/node/store"
)

// Stats is what was counted since the Recorder was made.
type Stats struct {
	Logged   uint64            // events that came under a head, those that were held before not included
	Authored uint64            // of those and of pending ones, what passed under the key of its place
	Void     map[Voided]uint64 // events that never count
	Backlog  uint64            // events that wait for their verdict, now: on their way in, or appended and not judged
	Append   map[Stage]Times   // how long each stage took
}

// Voided is why events of a log are void. Both come from what is held here, never from a peer's text.
type Voided struct {
	Org    did.DID
	Reason attestation.Reason
}

// Stage is a part of what it takes to append to a log.
type Stage string

// The stages: of the own log up to a signed head, then of others' up to a verdict.
const (
	StageAppend   Stage = "append"   // a batch of the own log is durable
	StageReadBack Stage = "readback" // and read back
	StagePin      Stage = "pin"      // its head is pinned
	StageStore    Stage = "store"    // its events are judged, and the signed head stored
	StageJudge    Stage = "judge"    // events of another log are decoded and verified
	StageTake     Stage = "take"     // and durable with their verdicts
)

// StageBounds are the upper bounds of Times' buckets in seconds.
func StageBounds() []float64 { return slices.Clone(bounds) }

var bounds = []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 5}

// Times are durations, counted.
type Times struct {
	Count   uint64
	Seconds float64  // in all
	Buckets []uint64 // how many took at most each of StageBounds
}

type counts struct {
	logged, authored, inflight atomic.Uint64

	mu    sync.Mutex
	void  map[Voided]uint64 // guarded by mu
	times map[Stage]Times   // guarded by mu
}

// judged counts verdicts that became durable.
func (c *counts) judged(d did.DID, list []store.Judgement) {
	for _, j := range list {
		if j.Verdict.Level == attestation.Authored {
			c.authored.Add(1)
		}
		if j.Verdict.Standing == attestation.Void {
			c.mu.Lock()
			if c.void == nil {
				c.void = map[Voided]uint64{}
			}
			c.void[Voided{d, j.Verdict.Reason}]++
			c.mu.Unlock()
		}
	}
}

// time begins a stage and returns what ends it.
func (r *Recorder) time(s Stage) (end func()) {
	start := r.cfg.Now()
	return func() { r.counts.took(s, max(0, r.cfg.Now().Sub(start))) }
}

func (c *counts) took(s Stage, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.times == nil {
		c.times = map[Stage]Times{}
	}
	t := c.times[s]
	if t.Buckets == nil {
		t.Buckets = make([]uint64, len(bounds))
	}
	t.Count++
	t.Seconds += d.Seconds()
	for i, b := range bounds {
		if d.Seconds() <= b {
			t.Buckets[i]++
		}
	}
	c.times[s] = t
}

// Stats returns what was counted.
func (r *Recorder) Stats() Stats {
	out := Stats{Logged: r.counts.logged.Load(), Authored: r.counts.authored.Load(), Backlog: r.counts.inflight.Load(), Append: map[Stage]Times{}}
	for _, d := range r.cfg.Events.Orgs() {
		judged := r.cfg.Events.Judged(d)                                     // before the size, which may grow meanwhile
		out.Backlog += max(r.size(context.Background(), d), judged) - judged // a cut makes it smaller meanwhile
	}
	r.counts.mu.Lock()
	defer r.counts.mu.Unlock()
	out.Void = maps.Clone(r.counts.void)
	for s, t := range r.counts.times {
		t.Buckets = slices.Clone(t.Buckets)
		out.Append[s] = t
	}
	return out
}
