package recorder

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"trustnode/attestation"
	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// historyTypes are the types that bear on keys.
var historyTypes = []attestation.Type{"log.opened", "key.rotated", "agent.issued", "agent.revoked"}

// Keys returns the key history of a log, as far as its events count here.
func (r *Recorder) Keys(ctx context.Context, d did.DID) (history.Keys, error) {
	r.mu.Lock()
	k, ok := r.keys[d]
	r.mu.Unlock()
	if ok {
		return k, nil
	}
	k, err := r.replay(ctx, d)
	if err != nil {
		return history.Keys{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if newer, ok := r.keys[d]; ok {
		return newer, nil
	}
	r.keys[d] = k
	return k, nil
}

// renewKeys reads the key history of a log again, which may have ended where a version was
// missing. It is replaced and never absent meanwhile, or a reader that began before could put
// an older one in its place. The caller holds logs.
func (r *Recorder) renewKeys(ctx context.Context, d did.DID) error {
	k, err := r.replay(ctx, d)
	if err == nil {
		r.setKeys(d, k)
	}
	return err
}

func (r *Recorder) setKeys(d did.DID, k history.Keys) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[d] = k
}

// replay folds the events of a log that count and bear on keys.
func (r *Recorder) replay(ctx context.Context, d did.DID) (history.Keys, error) {
	var all []attestation.Found
	for _, t := range historyTypes {
		q := attestation.Query{Org: d, Type: t, Limit: attestation.MaxPage, Any: true}
		for {
			page, err := r.cfg.Events.Query(ctx, q)
			if err != nil {
				return history.Keys{}, err
			}
			for _, f := range page.Found {
				if (judged{verdict: f.Verdict, typ: t}).bears() {
					all = append(all, f)
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b attestation.Found) int { return cmp.Compare(a.Index, b.Index) })
	k := history.New(d)
	for _, f := range all {
		v, err := r.openNext(ctx, k, f.Index, f.Entry)
		if err == nil {
			k, err = k.Apply(ctx, r.cfg.Ring, f.Index, v)
		}
		if err != nil {
			// A DID log that forked since takes versions away: what stands
			// above is undecided, and counts for nothing until it is settled.
			r.cfg.Log.WarnContext(ctx, "key history of a log ends early", "org", d.String(), "index", f.Index, "error", err)
			return k, nil
		}
	}
	return k, nil
}

func (r *Recorder) openNext(ctx context.Context, k history.Keys, i uint64, en attestation.Entry) (envelope.Verified[attestation.Event], error) {
	env, ev, err := en.Envelope()
	if err != nil {
		return envelope.Verified[attestation.Event]{}, err
	}
	src := k.At(i)
	if i >= k.Size() {
		if src, err = k.Next(ctx, r.cfg.Ring, i, ev); err != nil {
			return envelope.Verified[attestation.Event]{}, err
		}
	}
	return envelope.Open[attestation.Event](ctx, env, src)
}

// judged is what was found about one event.
type judged struct {
	verdict attestation.Verdict
	event   envelope.Verified[attestation.Event] // set when the signature holds
	typ     attestation.Type
}

func pending(why attestation.Reason) judged {
	return judged{verdict: attestation.Verdict{Level: attestation.Logged, Standing: attestation.Pending, Reason: why}}
}

func void(why attestation.Reason) judged {
	return judged{verdict: attestation.Verdict{Level: attestation.Logged, Standing: attestation.Void, Reason: why}}
}

// blocks reports whether nothing after it can be judged yet.
func (j judged) blocks() bool {
	return j.verdict.Standing == attestation.Pending && j.verdict.Reason == attestation.ReasonRotation
}

// bears reports whether it moves the key history. What puts a version in force
// does so even while its own key waits to be seen retired, or is in doubt: else
// the rotation that says so could never be reached.
func (j judged) bears() bool {
	if j.verdict.Counts() {
		return slices.Contains(historyTypes, j.typ)
	}
	opens := j.typ == "log.opened" || j.typ == "key.rotated"
	// Which key signed what has to be told of a contested branch too, and past a cutoff. No
	// agent is issued there; one that is contested and says that an agent is over is believed.
	hidden := shaded(j.verdict) && (opens || j.verdict.Standing == attestation.Contested && j.typ == "agent.revoked")
	return j.verdict == disputed && slices.Contains(historyTypes, j.typ) || opens && j.verdict.Reason == attestation.ReasonRemoved || hidden
}

func (j judged) at(i uint64, body envelope.ID) store.Judgement {
	return store.Judgement{Index: i, Verdict: j.verdict, Body: body}
}

// judgeOne judges the event at index i of l under the history k. An error is
// one of this node, never of the event.
func (r *Recorder) judgeOne(ctx context.Context, l attestation.Log, k history.Keys, i uint64, en attestation.Entry) (judged, error) {
	_, ev, err := en.Envelope()
	if err != nil {
		return void(attestation.ReasonForm), nil
	}
	if ev.Org != k.Org() {
		return void(attestation.ReasonOrg), nil
	}
	first, err := l.Find(ctx, en.ID())
	if err != nil {
		return judged{}, err
	}
	if first < i {
		return void(attestation.ReasonRepeat), nil
	}
	if (i == 0) != (ev.Type == "log.opened") {
		return void(attestation.ReasonForm), nil
	}
	v, err := r.openNext(ctx, k, i, en)
	if err != nil {
		return r.refused(ctx, k, ev, err)
	}
	return r.accepted(ctx, k, i, v), nil
}

// accepted judges an event whose signature holds.
func (r *Recorder) accepted(ctx context.Context, k history.Keys, i uint64, v envelope.Verified[attestation.Event]) judged {
	ev := v.Body()
	if attestation.CheckKnown(ev) != nil {
		return void(attestation.ReasonForm)
	}
	if !k.RetiredAfter(ev.Kid, i) && !r.atHead(ctx, k.Org(), v.Key().Public) && !r.closes(ctx, ev) {
		j := pending(attestation.ReasonRemoved)
		j.event, j.typ = v, ev.Type
		return j
	}
	verdict := attestation.Verdict{Level: attestation.Authored, Standing: attestation.Valid}
	for _, t := range r.taintsOf(k) {
		if i > t.From && i < t.Until && t.Covers(ev.Actor) && i >= r.taintFrom(ctx, k.Org(), t) {
			verdict = disputed
		}
	}
	return judged{verdict: verdict, event: v, typ: ev.Type}
}

// refused says what the reason for which an event did not open makes of it.
func (r *Recorder) refused(ctx context.Context, k history.Keys, ev attestation.Event, err error) (judged, error) {
	var form *envelope.FormError
	switch {
	case errors.Is(err, envelope.ErrSignature):
		return void(attestation.ReasonSignature), nil
	case errors.Is(err, envelope.ErrRetired):
		return void(attestation.ReasonKey), nil
	case errors.Is(err, history.ErrUnknownVersion), errors.Is(err, envelope.ErrPending):
		return pending(attestation.ReasonRotation), nil
	case errors.Is(err, history.ErrRotation), errors.Is(err, history.ErrPlace), errors.As(err, &form):
		return void(attestation.ReasonForm), nil
	case errors.Is(err, envelope.ErrUnknownKey):
		if r.listed(ctx, k.Org(), ev.Kid) {
			return void(attestation.ReasonKey), nil
		}
		return pending(attestation.ReasonUnknown), nil
	}
	return judged{}, err
}

// listed reports whether any known version of d lists kid.
func (r *Recorder) listed(ctx context.Context, d did.DID, kid string) bool {
	known, _ := r.cfg.Ring.Known(ctx, d)
	return slices.ContainsFunc(known, func(v string) bool {
		keys, err := r.cfg.Ring.Keys(ctx, d, v)
		_, ok := keys[kid]
		return err == nil && ok
	})
}

// atHead reports whether the newest known version of d lists a key.
func (r *Recorder) atHead(ctx context.Context, d did.DID, pub did.PublicKey) bool {
	known, _ := r.cfg.Ring.Known(ctx, d)
	if len(known) == 0 {
		return false
	}
	keys, err := r.cfg.Ring.Keys(ctx, d, known[len(known)-1])
	return err == nil && slices.Contains(slices.Collect(maps.Values(keys)), pub)
}

// closes reports whether an event announces the version that ended its organization's DID.
// A key of the version before signs it, and nothing else any more.
func (r *Recorder) closes(ctx context.Context, ev attestation.Event) bool {
	var d attestation.KeyRotated
	if ev.Type != "key.rotated" || ev.Decode(&d) != nil {
		return false
	}
	known, _ := r.cfg.Ring.Known(ctx, ev.Org)
	return len(known) > 0 && d.DidVersion == known[len(known)-1]
}

// HeadKeys returns the keys that may sign the next head of a log, from memory; none where
// the organization's keys are not known here. Of an organization that ended its DID they
// are the last ones: they sign the head that covers its last event.
func (r *Recorder) HeadKeys(d did.DID) []did.PublicKey { return r.headKeys(context.Background(), d) }

func (r *Recorder) headKeys(ctx context.Context, d did.DID) []did.PublicKey {
	known, _ := r.cfg.Ring.Known(ctx, d)
	if len(known) == 0 {
		return nil
	}
	keys, err := r.cfg.Ring.Keys(ctx, d, known[len(known)-1])
	if err == nil && len(keys) == 0 && len(known) > 1 {
		keys, err = r.cfg.Ring.Keys(ctx, d, known[len(known)-2])
	}
	if err != nil {
		return nil
	}
	return slices.Collect(maps.Values(keys))
}

// judge judges what of a log was not judged yet, in order. The caller holds
// logs, and settles the result.
func (r *Recorder) judge(ctx context.Context, d did.DID) (store.Settled, history.Keys, error) {
	k, err := r.Keys(ctx, d)
	if err != nil {
		return store.Settled{}, k, err
	}
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return store.Settled{}, k, err
	}
	blocked, err := r.blocked(ctx, d)
	if err != nil {
		return store.Settled{}, k, err
	}
	shade, err := r.shading(ctx, d)
	if err != nil {
		return store.Settled{}, k, err
	}
	h, _ := l.Head()
	out := store.Settled{Upto: h.Size}
	err = l.Entries(ctx, r.cfg.Events.Judged(d), h.Size, func(i uint64, en attestation.Entry) error {
		j := pending(attestation.ReasonRotation)
		if !blocked {
			if j, err = r.judgeOne(ctx, l, k, i, en); err != nil {
				return err
			}
			blocked = j.blocks()
			j.verdict = shade.of(i, j.verdict)
		}
		if j.bears() {
			if k, err = r.apply(ctx, k, i, j, &out); err != nil {
				return err
			}
		}
		out.Judged = append(out.Judged, j.at(i, r.bodyOf(d, j)))
		return nil
	})
	return out, k, err
}

// apply moves the key history, and taints what a compromise taints.
func (r *Recorder) apply(ctx context.Context, k history.Keys, i uint64, j judged, out *store.Settled) (history.Keys, error) {
	next, err := k.Apply(ctx, r.cfg.Ring, i, j.event)
	if err != nil {
		return k, err
	}
	for _, t := range r.taintsOf(next)[len(r.taintsOf(k)):] {
		more, err := r.tainted(ctx, k, t)
		if err != nil {
			return k, err
		}
		for _, m := range more {
			m.setIn(out)
		}
	}
	return next, nil
}

// bodyOf returns the body to be fetched for an event; none for the own log.
func (r *Recorder) bodyOf(d did.DID, j judged) envelope.ID {
	if !j.verdict.Counts() || d == r.cfg.Org {
		return envelope.ID{}
	}
	return j.event.Body().Body
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

// settle makes verdicts durable and looks again at what waited for a rotation.
// A note is stored last: who sees it sees the verdicts that go with it.
func (r *Recorder) settle(ctx context.Context, d did.DID, s store.Settled, k history.Keys) error {
	old, err := r.Keys(ctx, d)
	if err != nil {
		return err
	}
	last := store.Settled{Note: s.Note, Seen: s.Seen}
	rotated := old.Version(old.Size()) != k.Version(k.Size())
	if rotated {
		s.Note, s.Seen = nil, nil
	}
	r.setKeys(d, k) // before the verdicts that need it to be opened
	if err := r.cfg.Events.Settle(ctx, d, s); err != nil {
		r.dropKeys(d)
		return err
	}
	if !rotated {
		return nil
	}
	if err := r.rejudge(ctx, d); err != nil || last.Note == nil {
		return err
	}
	return r.cfg.Events.Settle(ctx, d, last)
}

func (r *Recorder) dropKeys(d did.DID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.keys, d)
}

// judgeAll judges what of a log is not judged; after a start, and on arrival.
func (r *Recorder) judgeAll(ctx context.Context, d did.DID) error {
	r.logs.Lock()
	defer r.logs.Unlock()
	if r.size(ctx, d) == r.cfg.Events.Judged(d) {
		return nil
	}
	s, k, err := r.judge(ctx, d)
	if err != nil {
		return err
	}
	return r.settle(ctx, d, s, k)
}
