package recorder

import (
	"context"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// judging is the judging of some entries of one log, in order. What lies below them is held
// and judged; they may be held or not. An error is one of this node, never of an event.
type judging struct {
	r       *Recorder
	keys    history.Keys // as far as it has come
	first   uint64       // index of the first of claims
	claims  []claim
	heads   []did.PublicKey // that the newest known version lists
	blocked bool            // nothing that follows can be judged yet
	shade   shading         // what forks and charters make of the verdicts
	out     store.Settled   // of the claims, in order
	doubts  doubts          // about what was judged before, which come first
}

// judge judges entries of a log from an index on, up to which it is judged. The caller holds
// the log, and makes the result durable.
func (r *Recorder) judge(ctx context.Context, d did.DID, first uint64, claims []claim) (*judging, error) {
	k, err := r.Keys(ctx, d)
	if err != nil {
		return nil, err
	}
	j := r.judgingOf(ctx, k, first, claims)
	if j.blocked, err = r.blocked(ctx, d); err != nil {
		return nil, err
	}
	if j.shade, err = r.shading(ctx, d); err != nil {
		return nil, err
	}
	if err := j.findRepeats(ctx); err != nil {
		return nil, err
	}
	j.out.Upto = first + uint64(len(claims))
	if d != r.cfg.Org {
		defer r.time(StageJudge)()
	}
	return j, j.run(ctx)
}

func (r *Recorder) judgingOf(ctx context.Context, k history.Keys, first uint64, claims []claim) *judging {
	return &judging{r: r, keys: k, first: first, claims: claims, heads: r.listedAtHead(ctx, k.Org())}
}

func (j *judging) index(i int) uint64 { return j.first + uint64(i) }

// findRepeats marks the claims whose id stands at a lower index of the log.
func (j *judging) findRepeats(ctx context.Context) error {
	ids := make([]envelope.ID, len(j.claims))
	for i := range j.claims {
		ids[i] = j.claims[i].id
	}
	at, err := j.r.cfg.Events.Indexes(ctx, j.keys.Org(), ids)
	if err != nil {
		return err
	}
	here := make(map[envelope.ID]bool, len(ids))
	for i, id := range ids {
		held, ok := at[id]
		j.claims[i].repeat = here[id] || ok && held < j.index(i)
		here[id] = true
	}
	return nil
}

// run judges all claims. Only a claim that puts a version in force changes under which key
// those after it stand, so the signatures between two such are checked on all cores.
func (j *judging) run(ctx context.Context) error {
	for at := 0; at < len(j.claims); at++ {
		end := at
		for end < len(j.claims) && !j.claims[end].opens() {
			end++
		}
		if !j.blocked {
			onAllCores(end-at, func(i int) { j.open(ctx, at+i) })
		}
		for ; at < end; at++ {
			if err := j.take(ctx, at); err != nil {
				return err
			}
		}
		if at == len(j.claims) {
			break
		}
		j.claims[at].openNext(ctx, j.r.cfg.Ring, j.keys, j.index(at))
		if err := j.take(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// openFirst verifies claims on all cores, up to one that may change the keys.
func (j *judging) openFirst(ctx context.Context) {
	end := 0
	for end < len(j.claims) && !j.claims[end].opens() {
		end++
	}
	onAllCores(end, func(i int) { j.open(ctx, i) })
}

func (j *judging) open(ctx context.Context, i int) {
	if _, known := j.early(i); !known && !j.claims[i].tried {
		j.claims[i].open(ctx, j.keys.At(j.index(i)))
	}
}

// take puts down the verdict on one claim, and what follows from it.
func (j *judging) take(ctx context.Context, i int) (err error) {
	v := pending(attestation.ReasonRotation)
	if !j.blocked {
		if v, err = j.verdict(ctx, i); err != nil {
			return err
		}
		j.blocked = v.blocks()
		v.verdict = j.shade.of(j.index(i), v.verdict)
	}
	if v.bears() {
		var tainted []uint64
		if j.keys, tainted, err = j.r.apply(ctx, j.keys, j.index(i), v, j); err != nil {
			return err
		}
		j.doubt(tainted)
	}
	j.out.Judged = append(j.out.Judged, v.at(j.index(i), j.r.bodyOf(j.keys.Org(), v)))
	return nil
}

// early is the verdict on a claim that needs no signature; false where one is needed.
func (j *judging) early(i int) (judged, bool) {
	c := &j.claims[i]
	switch {
	case !c.form:
		return void(attestation.ReasonForm), true
	case c.event.Org != j.keys.Org():
		return void(attestation.ReasonOrg), true
	case c.repeat:
		return void(attestation.ReasonRepeat), true
	case (j.index(i) == 0) != (c.event.Type == "log.opened"):
		return void(attestation.ReasonForm), true
	}
	return judged{}, false
}

// verdict judges a claim that was opened where it had to be.
func (j *judging) verdict(ctx context.Context, i int) (judged, error) {
	if v, known := j.early(i); known {
		return v, nil
	}
	c := &j.claims[i]
	if c.err != nil {
		return j.r.refused(ctx, j.keys, c.event, c.err)
	}
	return j.accepted(ctx, j.index(i), c), nil
}

// accepted judges an event whose signature holds.
func (j *judging) accepted(ctx context.Context, i uint64, c *claim) judged {
	k, ev := j.keys, c.event
	if !c.known {
		return void(attestation.ReasonForm)
	}
	if !k.RetiredAfter(ev.Kid, i) && !slices.Contains(j.heads, c.opened.Key().Public) && !j.r.closes(ctx, ev) {
		v := pending(attestation.ReasonRemoved)
		v.event, v.typ = c.opened, ev.Type
		return v
	}
	verdict := attestation.Verdict{Level: attestation.Authored, Standing: attestation.Valid}
	for _, t := range j.r.taintsOf(k) {
		if i > t.From && i < t.Until && t.Covers(ev.Actor) && i >= j.r.taintFrom(ctx, k.Org(), t) {
			verdict = disputed
		}
	}
	return judged{verdict: verdict, event: c.opened, typ: ev.Type}
}

// judgeAt judges one held event anew, under the history k.
func (r *Recorder) judgeAt(ctx context.Context, l attestation.Log, k history.Keys, i uint64) (judged, error) {
	claims, err := heldClaims(ctx, l, i, i+1)
	if err != nil {
		return judged{}, err
	}
	j := r.judgingOf(ctx, k, i, claims)
	if err := j.findRepeats(ctx); err != nil {
		return judged{}, err
	}
	if _, known := j.early(0); !known {
		claims[0].openNext(ctx, r.cfg.Ring, k, i)
	}
	return j.verdict(ctx, 0)
}

func heldClaims(ctx context.Context, l attestation.Log, from, to uint64) ([]claim, error) {
	return heldClaimsKnown(ctx, l, from, to, opened{})
}

// heldClaimsKnown reads entries back, and takes over those that are as they were when they were verified.
func heldClaimsKnown(ctx context.Context, l attestation.Log, from, to uint64, known opened) ([]claim, error) {
	entries := make([]attestation.Entry, 0, to-from)
	err := l.Entries(ctx, from, to, func(_ uint64, en attestation.Entry) error {
		entries = append(entries, en)
		return nil
	})
	out := make([]claim, len(entries))
	onAllCores(len(out), func(i int) {
		if c, ok := known.at(from+uint64(i), entries[i]); ok {
			out[i] = c
		} else {
			out[i].read(entries[i])
		}
	})
	return out, err
}

// apply moves the key history, and returns what a compromise taints. What is judged with it
// is not held yet, or at least not settled.
func (r *Recorder) apply(ctx context.Context, k history.Keys, i uint64, v judged, with *judging) (next history.Keys, tainted []uint64, err error) {
	if next, err = k.Apply(ctx, r.cfg.Ring, i, v.event); err != nil {
		return k, nil, err
	}
	for _, t := range r.counting(k.Org(), next.Taints()[len(k.Taints()):]) {
		more, err := r.tainted(ctx, k, t, with)
		if err != nil {
			return k, nil, err
		}
		tainted = append(tainted, more...)
	}
	return next, tainted, nil
}

// bodyOf returns the body to be fetched for an event; none for the own log.
func (r *Recorder) bodyOf(d did.DID, v judged) envelope.ID {
	if !v.verdict.Counts() || d == r.cfg.Org {
		return envelope.ID{}
	}
	return v.event.Body().Body
}

// blocked reports whether an event of the log waits for a version not known here: then
// nothing after it can be judged. All behind such an event waits with it, so that the last
// one tells.
func (r *Recorder) blocked(ctx context.Context, d did.DID) (bool, error) {
	n := r.cfg.Events.Judged(d)
	if n == 0 {
		return false, nil
	}
	v, err := r.cfg.Events.Verdict(ctx, d, n-1)
	return judged{verdict: v}.blocks(), err
}

// appendJudged appends entries with their verdicts, and looks again at what waited for a
// rotation among them.
func (r *Recorder) appendJudged(ctx context.Context, b attestation.Batch, j *judging) error {
	rotated, err := r.becomes(ctx, b.Org, j)
	if err != nil {
		return err
	}
	if err := r.settleDoubts(ctx, b.Org, j.doubts); err != nil {
		return err
	}
	end := r.time(StageTake)
	if err := r.cfg.Events.AppendJudged(ctx, b, eventsOf(j.claims), j.out); err != nil {
		return err
	}
	end()
	r.counts.logged.Add(uint64(len(b.Entries)))
	r.counts.judged(b.Org, j.out.Judged)
	if rotated {
		return r.rejudge(ctx, b.Org)
	}
	return nil
}

// settle makes the verdicts on what is held durable, and looks again at what waited for a
// rotation. A note is stored last: who sees it sees the verdicts that go with it.
func (r *Recorder) settle(ctx context.Context, d did.DID, note []byte, j *judging) error {
	rotated, err := r.becomes(ctx, d, j)
	if err != nil {
		return err
	}
	if !rotated {
		j.out.Note = note
	}
	if err := r.settleDoubts(ctx, d, j.doubts); err != nil {
		return err
	}
	if err := r.cfg.Events.Settle(ctx, d, j.out); err != nil {
		return err
	}
	r.counts.judged(d, j.out.Judged)
	if !rotated {
		return nil
	}
	if err := r.rejudge(ctx, d); err != nil || note == nil {
		return err
	}
	return r.cfg.Events.Settle(ctx, d, store.Settled{Note: note})
}

// becomes makes the key history the one after j, right before the verdicts that need it can
// be seen, and reports whether another version is in force by then.
func (r *Recorder) becomes(ctx context.Context, d did.DID, j *judging) (rotated bool, err error) {
	old, err := r.Keys(ctx, d)
	k := j.keys
	j.out.Then = func() { r.setKeys(d, k) }
	return old.Version(old.Size()) != k.Version(k.Size()), err
}

// judgeHeld judges what of a log is held and not judged, and stores a note with the last of
// it, if there is one. known are entries of it that were verified before. The caller holds
// the log.
func (r *Recorder) judgeHeld(ctx context.Context, d did.DID, note []byte, known opened) error {
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return err
	}
	h, _ := l.Head()
	for {
		from := r.cfg.Events.Judged(d)
		to := min(h.Size, from+attestation.MaxBatch)
		if known.moves != r.movesOf(d) {
			known = opened{}
		}
		claims, err := heldClaimsKnown(ctx, l, from, to, known)
		if err != nil {
			return err
		}
		j, err := r.judgeStored(ctx, l, d, from, claims)
		if err != nil {
			return err
		}
		if to < h.Size {
			err = r.settle(ctx, d, nil, j)
		} else {
			err = r.settle(ctx, d, note, j)
		}
		if err != nil || to == h.Size {
			return err
		}
	}
}

// judgeStored judges claims that were read back from a log, at an index on. What does not
// stand must still be what was stored: a bit that the disk turned would make an event void
// for good. *store.Misfit is the error for that. The caller holds the log.
func (r *Recorder) judgeStored(ctx context.Context, l attestation.Log, d did.DID, first uint64, claims []claim) (*judging, error) {
	j, err := r.judge(ctx, d, first, claims)
	if err != nil {
		return nil, err
	}
	for i, v := range j.out.Judged {
		if v.Verdict.Standing != attestation.Void {
			continue
		}
		h, err := l.ReadHashes([]int64{tlog.StoredHashIndex(0, int64(j.index(i)))})
		if err != nil {
			return nil, err
		}
		if h[0] != claims[i].entry.Hash() {
			return nil, &store.Misfit{Org: d, Index: j.index(i)}
		}
	}
	return j, nil
}

// judgeAll judges what of a log is not judged, after a start.
func (r *Recorder) judgeAll(ctx context.Context, d did.DID) error {
	defer r.logs.of(d)()
	if r.size(ctx, d) == r.cfg.Events.Judged(d) {
		return nil
	}
	return r.judgeHeld(ctx, d, nil, opened{})
}
