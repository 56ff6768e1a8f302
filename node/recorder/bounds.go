package recorder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"trustnode/attestation"
	"trustnode/attestation/history"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/node/store"
)

// Bounds is what the charter in force says of one organization's log. The zero value bounds
// nothing.
type Bounds struct {
	Cut  *Cut
	Gaps []Gap
}

// Cut ends a log: the events below Size under Root stand, the rest never do. Those above
// TaintFrom are in doubt, as of a key's compromise.
type Cut struct {
	attestation.Head
	TaintFrom *uint64
}

// Gap is a run of indexes, To excluded, that never count.
type Gap struct{ From, To uint64 }

// none is the index that no event has.
const none = math.MaxUint64

// shading is what forks and charters make of the events of one log that would count: a
// function of what is held and known now, whatever came first.
type shading struct {
	forked uint64        // contested from here on
	cut    uint64        // void from here on
	gaps   []Gap         // void in between
	taint  history.Taint // what the charter's taint covers
	doubt  uint64        // of those, disputed from here on
	lost   bool          // the branch that is held is not the one that the charter names
	ended  bool          // it is, and what else was signed is settled
}

// of returns what is made of a verdict that rests on signature, key and taints alone. What
// does not count by itself keeps its own reason: it would not be told otherwise, and what is
// pending is judged when its key is known.
func (s shading) of(i uint64, v attestation.Verdict) attestation.Verdict {
	if v != vouched && v != disputed {
		return v
	}
	set := func(to attestation.Standing, why attestation.Reason) attestation.Verdict {
		return attestation.Verdict{Level: v.Level, Standing: to, Reason: why}
	}
	if i >= s.cut {
		return set(attestation.Void, attestation.ReasonCutoff)
	}
	for _, g := range s.gaps {
		if i >= g.From && i < g.To {
			return set(attestation.Void, attestation.ReasonGap)
		}
	}
	switch {
	case i >= s.forked:
		return set(attestation.Contested, attestation.ReasonFork)
	case i >= s.doubt && i < s.taint.Until:
		return disputed
	}
	return v
}

// low is the first index that anything is made of.
func (s shading) low() uint64 {
	low := min(s.forked, s.cut, s.doubt)
	for _, g := range s.gaps {
		low = min(low, g.From)
	}
	return low
}

// shaded reports whether a verdict is one that shading made of another.
func shaded(v attestation.Verdict) bool {
	return v.Standing == attestation.Contested || v.Standing == attestation.Void && v.Level == attestation.Authored
}

// shading computes what holds for a log now. The caller holds the log.
func (r *Recorder) shading(ctx context.Context, d did.DID) (shading, error) {
	s := shading{forked: none, cut: none, doubt: none}
	p, err := r.parting(ctx, d)
	if err != nil {
		return s, err
	}
	if p.known {
		s.forked = p.at
	}
	b := r.boundsOf(d)
	if s.gaps = b.Gaps; b.Cut == nil {
		return s, nil
	}
	s.cut = b.Cut.Size
	if held := r.size(ctx, d); held >= b.Cut.Size {
		if s.ended, err = r.agrees(ctx, d, b.Cut.Head); err != nil {
			return s, err
		}
		s.lost = !s.ended
	}
	switch {
	case s.ended:
		s.forked = none // what is held below the cutoff is the branch that stands
	case s.lost && p.known: // and up to where it parts it stands all the same
		s.cut = min(s.cut, p.at)
	case s.lost: // it is not known yet where: no event is void for good that may stand
		s.forked = 0
	}
	if b.Cut.TaintFrom != nil {
		s.taint = history.Taint{From: *b.Cut.TaintFrom, Until: b.Cut.Size}
		s.doubt = r.taintFrom(ctx, d, s.taint)
	}
	return s, nil
}

// boundsOf is what the charter says of a log.
func (r *Recorder) boundsOf(d did.DID) Bounds {
	if r.cfg.Bounds == nil {
		return Bounds{}
	}
	return r.cfg.Bounds(d)
}

// agrees reports whether the log that is held had that head. A tree that is damaged here says
// nothing about a head: the error is store.ErrCorrupt.
func (r *Recorder) agrees(ctx context.Context, d did.DID, h attestation.Head) (bool, error) {
	if h.Size == 0 {
		root, err := attlog.NewRange(0).Root()
		return h.Root == root, err
	}
	at, err := r.rootAt(ctx, d, h.Size)
	if err != nil || at == h {
		return err == nil, err
	}
	return false, r.sound(ctx, d, h.Size)
}

// sound returns store.ErrCorrupt where the tree of a log, taken apart at a size that is held,
// does not give the root under which its entries came. Without it a damaged disk here would
// read as a fork of whoever signed.
func (r *Recorder) sound(ctx context.Context, d did.DID, size uint64) error {
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return err
	}
	head, _ := l.Head()
	left, err := attlog.ReadRange(0, size, l)
	if err != nil {
		return err
	}
	right, err := attlog.ReadRange(size, head.Size, l)
	if err != nil {
		return err
	}
	if err := left.Join(right); err != nil {
		return err
	}
	if root, err := left.Root(); err != nil || root != head.Root {
		return fmt.Errorf("%w: %s: what is kept of its tree at %d does not give the root of %d (%v)", store.ErrCorrupt, d, size, head.Size, err)
	}
	return nil
}

// taintsOf are the taints that the events of a log announce and that count: none that is
// announced past a cutoff, for whoever was ended there could else take back what stands.
func (r *Recorder) taintsOf(k history.Keys) []history.Taint {
	return r.counting(k.Org(), k.Taints())
}

// counting are those of some taints of a log that are announced below a cutoff.
func (r *Recorder) counting(d did.DID, list []history.Taint) []history.Taint {
	if len(list) == 0 {
		return nil
	}
	cut := r.boundsOf(d).Cut
	if cut == nil {
		return list
	}
	var out []history.Taint
	for _, t := range list {
		if t.Until < cut.Size {
			out = append(out, t)
		}
	}
	return out
}

// Rebound applies what the charter in force says of logs. Whoever takes a charter calls it.
func (r *Recorder) Rebound(ctx context.Context) error {
	var errs []error
	for _, d := range r.cfg.Events.Orgs() {
		release := r.logs.of(d)
		errs = append(errs, r.reweigh(ctx, d))
		release()
	}
	r.progress()
	return errors.Join(errs...)
}

// weighed is how many verdicts are made durable at once.
const weighed = 4096

// reweigh brings the verdicts of a log in line with what forks and charters make of them
// now. It may be cut short, and is done again at every start. The caller holds the log.
func (r *Recorder) reweigh(ctx context.Context, d did.DID) error {
	s, err := r.shading(ctx, d)
	if err != nil {
		return err
	}
	r.settled(d, s)
	stored := map[uint64]attestation.Verdict{}
	err = r.cfg.Events.Standings(ctx, d, func(i uint64, v attestation.Verdict) bool {
		stored[i] = v
		return true
	})
	if err != nil {
		return err
	}
	w := &weighing{r: r, d: d, s: s}
	for i := s.low(); i < r.cfg.Events.Judged(d); i++ {
		if _, ok := stored[i]; ok {
			continue
		}
		if err := w.put(ctx, i, vouched, s.of(i, vouched)); err != nil {
			return err
		}
	}
	for i, v := range stored {
		if !shaded(v) && v != disputed {
			continue
		}
		if err := w.anew(ctx, i, v); err != nil {
			return err
		}
	}
	if err := w.flush(ctx); err != nil || !w.moved {
		return err
	}
	return r.renewKeys(ctx, d)
}

// weighing collects what changes in one log.
type weighing struct {
	r     *Recorder
	d     did.DID
	s     shading
	out   store.Settled
	moved bool
}

func (w *weighing) put(ctx context.Context, i uint64, was, now attestation.Verdict) error {
	if was == now {
		return nil
	}
	j := store.Judgement{Index: i, Verdict: now}
	if now.Counts() {
		var err error
		if j.Body, err = w.r.namedBody(ctx, w.d, i); err != nil {
			return err
		}
	}
	w.out.Judged = append(w.out.Judged, j)
	if len(w.out.Judged) < weighed {
		return nil
	}
	return w.flush(ctx)
}

func (w *weighing) flush(ctx context.Context) error {
	if len(w.out.Judged) == 0 {
		return nil
	}
	w.moved = true
	err := w.r.cfg.Events.Settle(ctx, w.d, w.out)
	w.out = store.Settled{}
	return err
}

// anew judges an event again from its bytes: what was made of its verdict hid it.
func (w *weighing) anew(ctx context.Context, i uint64, was attestation.Verdict) error {
	l, err := w.r.cfg.Events.Log(ctx, w.d)
	if err != nil {
		return err
	}
	k, err := w.r.Keys(ctx, w.d)
	if err != nil {
		return err
	}
	j, err := w.r.judgeAt(ctx, l, k, i)
	if err != nil {
		return err
	}
	if j.verdict.Level < was.Level {
		return nil // a key of it is not known here any more; a level never falls
	}
	return w.put(ctx, i, was, w.s.of(i, j.verdict))
}

// shade is shading of one event whose verdict was just found.
func (r *Recorder) shade(ctx context.Context, d did.DID, i uint64, v attestation.Verdict) (attestation.Verdict, error) {
	if !r.isShaded(d) {
		return v, nil
	}
	s, err := r.shading(ctx, d)
	return s.of(i, v), err
}

// isShaded reports whether anything may be made of a log's verdicts.
func (r *Recorder) isShaded(d did.DID) bool {
	b := r.boundsOf(d)
	return r.hasParted(d) || b.Cut != nil || len(b.Gaps) > 0
}

// settled remembers what was last made of a log.
func (r *Recorder) settled(d did.DID, s shading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.weighed[d] = s
}

// grown is reweigh where what is made of a log may have changed with its size or notes. The
// caller holds the log.
func (r *Recorder) grown(ctx context.Context, d did.DID) error {
	if !r.isShaded(d) {
		return nil
	}
	now, err := r.shading(ctx, d)
	if err != nil {
		return err
	}
	r.mu.Lock()
	was, ok := r.weighed[d]
	r.mu.Unlock()
	if ok && was.equal(now) {
		return nil
	}
	return r.reweigh(ctx, d)
}

func (s shading) equal(o shading) bool {
	return s.forked == o.forked && s.cut == o.cut && s.taint == o.taint && s.doubt == o.doubt && s.lost == o.lost && s.ended == o.ended && slices.Equal(s.gaps, o.gaps)
}
