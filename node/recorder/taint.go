package recorder

import (
	"context"
	"slices"

	"trustnode/attestation"
	"trustnode/attestation/history"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

var (
	disputed = attestation.Verdict{Level: attestation.Authored, Standing: attestation.Disputed, Reason: attestation.ReasonTaint}
	vouched  = attestation.Verdict{Level: attestation.Authored, Standing: attestation.Valid}
)

// taintFrom returns the first index a compromise puts in doubt: above its range's begin,
// and under no head that was cosigned before its announcement, by this organization or by
// a quorum of others. Such a head is one of a size that does not cover the announcement:
// a witness cosigns no smaller head after a larger one.
func (r *Recorder) taintFrom(ctx context.Context, d did.DID, t history.Taint) uint64 {
	from := t.From + 1
	err := r.cfg.Events.Notes(ctx, d, from, t.Until, func(b []byte) bool {
		if n, err := attlog.ParseNote(b); err == nil && r.vouches(n) {
			from = n.Head.Size
		}
		return true
	})
	if err != nil {
		return t.From + 1 // in doubt all the more
	}
	return from
}

// vouches reports whether a stored note, whose lines were verified when it was stored,
// has the cosignature of this organization or those of a quorum: of distinct organizations
// that are active, and not of the origin.
func (r *Recorder) vouches(n attlog.Note) bool {
	by := map[did.DID]bool{}
	for _, l := range n.Lines {
		if w, ok := l.Witness(); ok && w != n.Org && (w == r.cfg.Org || r.cfg.Member(w)) {
			by[w] = true
		}
	}
	return by[r.cfg.Org] || r.cfg.Quorum != nil && len(by) >= max(1, r.cfg.Quorum())
}

// untaint takes doubt back that a note of a size has come to answer: it was cosigned
// before the compromise was announced. The caller holds the log.
func (r *Recorder) untaint(ctx context.Context, d did.DID, size uint64) error {
	k, err := r.Keys(ctx, d)
	if err != nil {
		return err
	}
	var out store.Settled
	for _, t := range r.taintsOf(k) {
		if size <= t.From+1 || size > t.Until {
			continue
		}
		for i := t.From + 1; i < min(r.taintFrom(ctx, d, t), t.Until); i++ {
			v, err := r.cfg.Events.Verdict(ctx, d, i)
			if err != nil {
				return err
			}
			if v != disputed || r.doubted(ctx, k, t, i) {
				continue
			}
			body, err := r.namedBody(ctx, d, i)
			if err != nil {
				return err
			}
			now, err := r.shade(ctx, d, i, vouched)
			if err != nil {
				return err
			}
			out.Judged = append(out.Judged, store.Judgement{Index: i, Verdict: now, Body: body})
		}
	}
	for part := range slices.Chunk(out.Judged, store.MaxSettled) {
		if err := r.cfg.Events.Settle(ctx, d, store.Settled{Judged: part}); err != nil {
			return err
		}
	}
	return nil
}

// namedBody is the body that an event names and that is wanted here; none for the own log.
func (r *Recorder) namedBody(ctx context.Context, d did.DID, i uint64) (id envelope.ID, err error) {
	if d == r.cfg.Org {
		return id, nil
	}
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return id, err
	}
	err = l.Entries(ctx, i, i+1, func(_ uint64, en attestation.Entry) error {
		_, ev, err := en.Envelope()
		id = ev.Body
		return err
	})
	return id, err
}

// doubted reports whether another taint than t covers an index.
func (r *Recorder) doubted(ctx context.Context, k history.Keys, t history.Taint, i uint64) bool {
	for _, o := range r.taintsOf(k) {
		if o != t && i > o.From && i < o.Until && i >= r.taintFrom(ctx, k.Org(), o) {
			return true
		}
	}
	return false
}

// doubts are indexes of held events that a compromise puts in doubt.
type doubts []uint64

// doubt puts tainted events in doubt that counted: those that are judged with it at their
// place, those of before by themselves.
func (j *judging) doubt(tainted []uint64) {
	for _, i := range tainted {
		if i < j.first {
			j.doubts = append(j.doubts, i)
		} else if v := &j.out.Judged[i-j.first]; v.Verdict.Counts() {
			*v = store.Judgement{Index: i, Verdict: disputed}
		}
	}
}

// without are the doubts about other events than those that out settles, which are put in
// doubt there.
func (l doubts) without(out *store.Settled) doubts {
	at := map[uint64]int{}
	for n, v := range out.Judged {
		at[v.Index] = n
	}
	var rest doubts
	for _, i := range l {
		if n, ok := at[i]; !ok {
			rest = append(rest, i)
		} else if out.Judged[n].Verdict.Counts() {
			out.Judged[n] = store.Judgement{Index: i, Verdict: disputed}
		}
	}
	return rest
}

// settleDoubts makes doubts durable before the event that raises them, for a compromise may
// taint more than one update writes. Where that one then does not come, they are taken back
// when the log is next weighed, but for those under a key that its DID has retired. The
// caller holds the log.
func (r *Recorder) settleDoubts(ctx context.Context, d did.DID, list doubts) error {
	for part := range slices.Chunk(list, store.MaxSettled) {
		var out store.Settled
		for _, i := range part {
			out.Judged = append(out.Judged, store.Judgement{Index: i, Verdict: disputed})
		}
		if err := r.cfg.Events.Settle(ctx, d, out); err != nil {
			return err
		}
		r.counts.judged(d, out.Judged)
	}
	return nil
}

// tainted returns what a compromise puts in doubt: the events in its range
// that no head vouches for. Those that are just being judged are with; nil for none.
func (r *Recorder) tainted(ctx context.Context, k history.Keys, t history.Taint, with *judging) ([]uint64, error) {
	judgedTo := r.cfg.Events.Judged(k.Org())
	covered, err := r.covered(ctx, k.Org(), t, with)
	if err != nil {
		return nil, err
	}
	var out []uint64
	for _, i := range covered {
		if i < judgedTo {
			v, err := r.cfg.Events.Verdict(ctx, k.Org(), i)
			if err != nil {
				return nil, err
			}
			if !v.Counts() {
				continue
			}
		}
		out = append(out, i)
	}
	return out, nil
}

// covered lists the indexes of a taint: all in its range, or those an agent acted at.
func (r *Recorder) covered(ctx context.Context, d did.DID, t history.Taint, with *judging) (out []uint64, err error) {
	from := r.taintFrom(ctx, d, t)
	if t.Agent.IsZero() {
		for i := from; i < t.Until; i++ {
			out = append(out, i)
		}
		return out, nil
	}
	if from >= t.Until {
		return nil, nil
	}
	until := t.Until
	if with != nil {
		until = min(until, with.first)
	}
	if from < until {
		l, err := r.cfg.Events.Log(ctx, d)
		if err != nil {
			return nil, err
		}
		err = l.Entries(ctx, from, until, func(i uint64, en attestation.Entry) error {
			if _, ev, err := en.Envelope(); err == nil && t.Covers(ev.Actor) {
				out = append(out, i)
			}
			return nil // what is no event has no actor; it is void already
		})
		if err != nil {
			return nil, err
		}
	}
	for i := max(from, until); i < t.Until; i++ {
		if c := &with.claims[i-with.first]; c.form && t.Covers(c.event.Actor) {
			out = append(out, i)
		}
	}
	return out, nil
}
