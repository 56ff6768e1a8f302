package recorder

import (
	"context"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/node/store"
)

// Recheck looks again at the pending events of a log: its organization's DID
// log, or a missing version, has arrived.
func (r *Recorder) Recheck(ctx context.Context, d did.DID) error {
	release := r.logs.of(d)
	err := r.renewKeys(ctx, d)
	if err == nil {
		err = r.rejudge(ctx, d)
	}
	if err == nil {
		err = r.reweigh(ctx, d)
	}
	release()
	r.progress()
	return err
}

// rejudge judges pending events anew until nothing moves any more.
func (r *Recorder) rejudge(ctx context.Context, d did.DID) error {
	for {
		changed, err := r.rejudgeOnce(ctx, d)
		if err != nil || !changed {
			return err
		}
	}
}

func (r *Recorder) rejudgeOnce(ctx context.Context, d did.DID) (bool, error) {
	waiting, err := r.pendingOf(ctx, d)
	if err != nil || len(waiting) == 0 {
		return false, err
	}
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return false, err
	}
	k, err := r.replay(ctx, d)
	if err != nil {
		return false, err
	}
	var out store.Settled
	var tainted doubts
	for _, w := range waiting {
		j, err := r.judgeAt(ctx, l, k, w.Index)
		if err != nil {
			return false, err
		}
		if j.blocks() {
			break
		}
		if j.verdict, err = r.shade(ctx, d, w.Index, j.verdict); err != nil {
			return false, err
		}
		if j.verdict == w.Verdict {
			continue
		}
		if len(out.Judged) == store.MaxSettled {
			break // the rest in the next round
		}
		out.Judged = append(out.Judged, j.at(w.Index, r.bodyOf(d, j)))
		if j.bears() {
			if w.Index >= k.Size() {
				if _, tainted, err = r.apply(ctx, k, w.Index, j, nil); err != nil {
					return false, err
				}
			}
			break // the history moves: begin again from it
		}
	}
	if len(out.Judged) == 0 {
		return false, nil
	}
	if err := r.settleDoubts(ctx, d, tainted.without(&out)); err != nil {
		return false, err
	}
	if err := r.cfg.Events.Settle(ctx, d, out); err != nil {
		return false, err
	}
	r.counts.judged(d, out.Judged)
	if k, err = r.replay(ctx, d); err == nil {
		r.setKeys(d, k)
	}
	return true, err
}

func (r *Recorder) pendingOf(ctx context.Context, d did.DID) ([]store.Judgement, error) {
	var out []store.Judgement
	err := r.cfg.Events.Standings(ctx, d, func(i uint64, v attestation.Verdict) bool {
		if v.Standing == attestation.Pending {
			out = append(out, store.Judgement{Index: i, Verdict: v})
		}
		return true
	})
	return out, err
}
