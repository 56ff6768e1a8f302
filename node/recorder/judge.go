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
// an older one in its place. The caller holds the log.
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
	r.moves[d]++
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
		var c claim
		c.read(f.Entry)
		c.openNext(ctx, r.cfg.Ring, k, f.Index)
		err := c.err
		if err == nil {
			k, err = k.Apply(ctx, r.cfg.Ring, f.Index, c.opened)
		}
		if err != nil {
			// A DID log that forked since takes versions away: what stands
			// above is undecided, and counts for nothing until it is settled.
			r.cfg.Log.WarnContext(ctx, "key history of a log ends early", "org", d.String(), "index", f.Index, "error", err)
			r.setShort(d, true)
			return k, nil
		}
	}
	r.setShort(d, false)
	return k, nil
}

func (r *Recorder) setShort(d did.DID, short bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !short {
		delete(r.short, d)
		return
	}
	if r.short == nil {
		r.short = map[did.DID]bool{}
	}
	r.short[d] = true
}

// Short reports whether the key history of a log ends before its last event that bears on it: what lies above cannot be
// read here, or not be decided, and that it is not in the history says nothing.
func (r *Recorder) Short(d did.DID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.short[d]
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

// listedAtHead returns the keys that the newest known version of d lists.
func (r *Recorder) listedAtHead(ctx context.Context, d did.DID) []did.PublicKey {
	known, _ := r.cfg.Ring.Known(ctx, d)
	if len(known) == 0 {
		return nil
	}
	keys, err := r.cfg.Ring.Keys(ctx, d, known[len(known)-1])
	if err != nil {
		return nil
	}
	return slices.Collect(maps.Values(keys))
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
