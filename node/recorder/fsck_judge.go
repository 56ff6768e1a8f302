package recorder

import (
	"cmp"
	"context"
	"slices"

	"trustnode/attestation"
	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/node/store"
)

// judgedAtOnce is how many events are judged anew side by side.
const judgedAtOnce = 4096

// Rejudged counts what InspectVerdicts looked at.
type Rejudged struct {
	Events    uint64 // judged anew
	Undecided uint64 // of these, authored when they came, by a key that its DID lists no more
}

// rejudging judges everything held from its bytes, and compares.
type rejudging struct {
	r        *Recorder
	found    func(store.Fault)
	progress func(done, total uint64)
	total    uint64
	n        Rejudged
}

// InspectVerdicts judges every event held from its bytes, the DID logs, the evidence of forks
// and the charter, as if it came now, and compares level and standing with those stored (03,
// section 13; I-8). Nothing that is stored of a verdict enters. It changes nothing and needs
// no private key. Of cfg it reads Org, State, Events, Pins, Ring, Member, Quorum and Bounds;
// the index of ids has to be sound. progress is told of events, and may be nil. An error is
// one of reading; what is wrong is told to found.
func InspectVerdicts(ctx context.Context, cfg Config, found func(store.Fault), progress func(done, total uint64)) (Rejudged, error) {
	r := Reading(cfg)
	if r.cfg.Member == nil {
		r.cfg.Member = func(did.DID) bool { return false }
	}
	r.parted = map[did.DID]bool{}
	if err := r.recallForks(ctx); err != nil {
		return Rejudged{}, err
	}
	v := &rejudging{r: r, found: found, progress: progress}
	for _, d := range cfg.Events.Orgs() {
		v.total += cfg.Events.Judged(d)
	}
	for _, d := range cfg.Events.Orgs() {
		if err := v.log(ctx, d); err != nil {
			return v.n, err
		}
	}
	return v.n, nil
}

// log judges one log. Its whole key history is known first, so that each event is judged once
// whatever was announced above it.
func (v *rejudging) log(ctx context.Context, d did.DID) error {
	l, err := v.r.cfg.Events.Log(ctx, d)
	if err != nil {
		return err
	}
	shade, err := v.r.shading(ctx, d)
	if err != nil {
		return err
	}
	k, err := v.history(ctx, d, shade)
	if err != nil {
		return err
	}
	blocked := false
	for from, to := uint64(0), v.r.cfg.Events.Judged(d); from < to; from += judgedAtOnce {
		claims, err := heldClaims(ctx, l, from, min(to, from+judgedAtOnce))
		if err != nil {
			return err
		}
		j := v.r.judgingOf(ctx, k, from, claims)
		if err := j.findRepeats(ctx); err != nil {
			return err
		}
		onAllCores(len(claims), func(i int) {
			if _, known := j.early(i); !known {
				claims[i].openNext(ctx, v.r.cfg.Ring, k, j.index(i))
			}
		})
		for i := range claims {
			got := pending(attestation.ReasonRotation)
			if !blocked {
				if got, err = j.verdict(ctx, i); err != nil {
					return err
				}
				blocked = got.blocks()
			}
			if err := v.compare(ctx, d, j.index(i), shade.of(j.index(i), got.verdict)); err != nil {
				return err
			}
		}
		if v.n.Events += uint64(len(claims)); v.progress != nil {
			v.progress(v.n.Events, v.total)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// compare compares the verdict on one event with the one that is stored. Why something is
// pending changes with what else is, and decides nothing. A level never falls: what was
// authored stays so where the DID lists its key no more, and no event held says since when.
func (v *rejudging) compare(ctx context.Context, d did.DID, i uint64, now attestation.Verdict) error {
	was, err := v.r.cfg.Events.Verdict(ctx, d, i)
	if err != nil || was == now {
		return err
	}
	if was.Standing == attestation.Pending && now.Standing == attestation.Pending && was.Level == now.Level {
		return nil
	}
	if was.Level == attestation.Authored && now.Standing == attestation.Pending && now.Level == attestation.Logged {
		v.n.Undecided++
		return nil
	}
	v.found(store.Fault{Log: d.String(), At: true, Index: i, What: "it is stored as " + verdictWords(was) + ", and its bytes and key say " + verdictWords(now)})
	return nil
}

func verdictWords(v attestation.Verdict) string {
	out := v.Level.String() + ", " + v.Standing.String()
	if v.Reason != "" {
		out += " (" + string(v.Reason) + ")"
	}
	return out
}

// history folds the events that bear on keys, each judged from its bytes: first those that
// put a version in force, for whether a key counts may hang on a rotation above; then all.
func (v *rejudging) history(ctx context.Context, d did.DID, s shading) (history.Keys, error) {
	all, err := v.r.bearing(ctx, d)
	if err != nil {
		return history.Keys{}, err
	}
	rotations := slices.DeleteFunc(slices.Clone(all), func(f attestation.Found) bool {
		var c claim
		c.read(f.Entry)
		return !c.opens()
	})
	k, err := v.fold(ctx, rotations, history.New(d), s)
	if err != nil {
		return k, err
	}
	return v.fold(ctx, all, k, s)
}

// fold applies events in order to an empty history. Whether a key is retired later is asked
// of known.
func (v *rejudging) fold(ctx context.Context, list []attestation.Found, known history.Keys, s shading) (history.Keys, error) {
	k := history.New(known.Org())
	for _, f := range list {
		j := v.r.judgingOf(ctx, known, f.Index, claimsOf([]attestation.Entry{f.Entry}))
		if err := j.findRepeats(ctx); err != nil {
			return k, err
		}
		c := &j.claims[0]
		if _, is := j.early(0); is {
			continue
		}
		c.openNext(ctx, v.r.cfg.Ring, k, f.Index)
		got, err := j.verdict(ctx, 0)
		if err != nil {
			return k, err
		}
		if got.blocks() {
			return k, nil
		}
		if got.verdict = s.of(f.Index, got.verdict); !got.bears() {
			continue
		}
		if k, err = k.Apply(ctx, v.r.cfg.Ring, f.Index, got.event); err != nil {
			return k, nil // as a live node: it ends there, and what is above is undecided
		}
	}
	return k, nil
}

// bearing returns the events of a log, whatever became of them, whose type bears on keys.
func (r *Recorder) bearing(ctx context.Context, d did.DID) (all []attestation.Found, err error) {
	for _, t := range historyTypes {
		err := r.cfg.Events.EventsOf(ctx, d, t, 0, func(f attestation.Found) bool {
			all = append(all, f)
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b attestation.Found) int { return cmp.Compare(a.Index, b.Index) })
	return all, nil
}
