package recorder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// Cited reports whether an open case rests on an event or its body.
type Cited func(ev attestation.Event, id envelope.ID) bool

const (
	// forgetAgain is when an erasure is looked at again that an open case, or another event
	// that is not erased, keeps from being carried out.
	forgetAgain = time.Hour
	// maxDues is how many erasures one look takes.
	maxDues = 256
	// maxErasures is how many log.erased of one log are taken in at once.
	maxErasures = 4096
)

// Forget drops private bodies whose origin has erased them (log.erased), the own ones that
// an older copy of the data brought back included. It takes in what the logs say, durably,
// and carries out what is due: a body goes once every event that names it and counts, or may
// come to, is erased by its origin, for else any member could erase another's by naming it;
// and no open case rests on it. Public bodies stay. What cannot be carried out is tried again
// later. It returns how many went.
func (r *Recorder) Forget(ctx context.Context, cited Cited) (dropped int, err error) {
	var first error // of what goes wrong
	for _, d := range r.cfg.Events.Orgs() {
		if err := r.noteErasures(ctx, d); err != nil && first == nil {
			first = fmt.Errorf("erasures of %s: %w", d, err)
		}
	}
	now := r.cfg.Now()
	for {
		list, err := r.cfg.Events.Dues(ctx, now.Unix(), maxDues)
		if err != nil || len(list) == 0 {
			return dropped, errors.Join(first, err)
		}
		for _, x := range list {
			gone, err := r.forget(ctx, x, now, cited)
			if gone {
				dropped++
			}
			if err == nil {
				continue
			}
			if first == nil {
				first = fmt.Errorf("erasure of event %d of %s: %w", x.Index, x.Org, err)
			}
			// One that cannot be carried out keeps no other from it.
			if err := r.cfg.Events.Postpone(ctx, x, now.Add(forgetAgain).Unix()); err != nil {
				return dropped, errors.Join(first, err)
			}
		}
	}
}

// noteErasures takes in the log.erased of one log that count. Those behind one of which it is
// not known yet are looked at again by the next pass.
func (r *Recorder) noteErasures(ctx context.Context, d did.DID) error {
	p := erasures{settled: true}
	for more := true; more; {
		var err error
		if more, err = r.noteSome(ctx, d, &p); err != nil {
			return err
		}
	}
	return nil
}

// erasures is a pass over the log.erased of one log.
type erasures struct {
	upto    uint64 // all below are taken in for good
	from    uint64 // the next index to look at
	settled bool   // so far it is known of all whether they count
}

// noteSome takes in some of them, and reports whether there may be more. The log is held
// for that long: it is not cut meanwhile.
func (r *Recorder) noteSome(ctx context.Context, d did.DID, p *erasures) (more bool, err error) {
	defer r.logs.of(d)()
	was, err := r.cfg.Events.ErasedTo(ctx, d)
	if err != nil || was < p.upto {
		return false, err // it was cut since: what took the place is for the next pass
	}
	p.upto, p.from = max(p.upto, was), max(p.from, was)
	seen := 0
	var list []store.Due
	now := r.cfg.Now().Unix()
	err = r.cfg.Events.EventsOf(ctx, d, "log.erased", p.from, func(f attestation.Found) bool {
		p.from = f.Index + 1
		if p.settled = p.settled && (f.Verdict.Counts() || !mayCount(f.Verdict)); p.settled {
			p.upto = p.from
		}
		if body, ok := erasedBody(f); ok {
			list = append(list, store.Due{Org: d, Index: body, At: now})
		}
		seen++
		return seen < r.maxErasures
	})
	if err != nil || len(list) == 0 && p.upto == was {
		return seen == r.maxErasures, err
	}
	return seen == r.maxErasures, r.cfg.Events.NoteErasures(ctx, d, list, p.upto)
}

// erasedBody returns the index whose body a log.erased that counts names.
func erasedBody(f attestation.Found) (uint64, bool) {
	_, ev, err := f.Entry.Envelope()
	if err != nil || !f.Verdict.Counts() {
		return 0, false
	}
	var d attestation.LogErased
	if ev.Decode(&d) != nil || d.Cause != attestation.ErasedBody || d.Index >= f.Index {
		return 0, false
	}
	return d.Index, true
}

// forget carries out one erasure that is due, or puts it off. The log is held meanwhile, so
// that the event is the one that was erased.
func (r *Recorder) forget(ctx context.Context, x store.Due, now time.Time, cited Cited) (bool, error) {
	defer r.logs.of(x.Org)()
	if at, _, err := r.cfg.Events.Erasure(ctx, x.Org, x.Index); err != nil || at == 0 || at > now.Unix() {
		return false, err // it was cut off since
	}
	ev, id, err := r.eventAt(ctx, x.Org, x.Index)
	var beyond *attestation.Beyond
	if errors.As(err, &beyond) { // nothing is held there
		return false, r.cfg.Events.EraseBody(ctx, x, envelope.ID{}, false)
	}
	if err != nil {
		return false, err
	}
	if mayErase(ev) != nil {
		return false, r.cfg.Events.EraseBody(ctx, x, envelope.ID{}, false)
	}
	free, err := r.allErased(ctx, x.Org, ev.Body)
	if err != nil {
		return false, err
	}
	if !free || cited(ev, id) {
		return false, r.cfg.Events.Postpone(ctx, x, now.Add(forgetAgain).Unix())
	}
	// The state has own bodies, and texts of cases that no event names: what another
	// organization erases takes none of them. The state first: what is noted as done is done.
	if x.Org == r.cfg.Org {
		if err := r.cfg.State.Update(ctx, func(tx store.Tx) error { return dropObject(tx, ev.Body) }); err != nil {
			return false, err
		}
	}
	err = r.cfg.Events.EraseBody(ctx, x, ev.Body, x.Org == r.cfg.Org)
	if errors.Is(err, attestation.ErrConflict) { // an event that names it came meanwhile
		return false, r.cfg.Events.Postpone(ctx, x, now.Add(forgetAgain).Unix())
	}
	return err == nil, err
}

func (r *Recorder) eventAt(ctx context.Context, d did.DID, index uint64) (ev attestation.Event, id envelope.ID, err error) {
	l, err := r.cfg.Events.Log(ctx, d)
	if err != nil {
		return ev, id, err
	}
	err = l.Entries(ctx, index, index+1, func(_ uint64, en attestation.Entry) error {
		_, ev, _ = en.Envelope() // what is no event has no body
		id = en.ID()
		return nil
	})
	return ev, id, err
}

// allErased reports whether no event that names a body keeps it from one that erased it.
func (r *Recorder) allErased(ctx context.Context, by did.DID, body envelope.ID) (bool, error) {
	list, err := r.cfg.Events.Naming(ctx, body)
	if err != nil || len(list) >= attestation.MaxPage {
		return false, err // more than are listed: nobody knows
	}
	for _, f := range list {
		_, noted, err := r.cfg.Events.Erasure(ctx, f.Org, f.Index)
		if err != nil || !noted && (f.Verdict.Counts() || f.Org != by && mayCount(f.Verdict)) {
			return false, err
		}
	}
	return true, nil
}

// mayCount reports whether an event counts or may come to: it is pending, in doubt, or out
// by what a charter says. What is void by itself never counts.
func mayCount(v attestation.Verdict) bool {
	switch v.Reason {
	case attestation.ReasonForm, attestation.ReasonSignature, attestation.ReasonKey, attestation.ReasonOrg, attestation.ReasonRepeat:
		return v.Standing != attestation.Void
	}
	return true
}

// dropObject takes a body out of the state; an object of another kind is none.
func dropObject(tx store.Tx, id envelope.ID) error {
	kind, _, err := GetObject(tx, id)
	if errors.Is(err, attestation.ErrNotFound) || err == nil && kind != ObjectBody {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.Delete(objectKey(id))
}
