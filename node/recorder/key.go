package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// muted is a kid under which nothing is drafted, and why: the state lies behind the own DID
// log, or the key of its newest entry is not here.
type muted struct {
	kid string
	why error
}

var errUnannounced error = attestation.NewFault("the own log does not announce the newest entry of the own DID log yet", "unavailable", "recovering", "the node does it as soon as it may sign; try again")

// mute lets nothing be drafted under the current kid while no key signs for the organization,
// or where that kid is neither the signer's nor one that the newest entry lists: the log came
// to know a rotation that this state did not.
func (r *Recorder) mute(ctx context.Context) error {
	var kid string
	err := r.cfg.State.View(ctx, func(s store.Reader) error {
		b, err := s.Get(keyCurrent)
		kid = string(b)
		return err
	})
	if err != nil {
		return err
	}
	_, signer, why := r.cfg.Signer(ctx)
	if pub, err := did.DecodeKey(kid); why == nil && kid != signer && err == nil && !slices.Contains(r.headKeys(ctx, r.cfg.Org), pub) {
		why = errUnannounced
	}
	if why == nil {
		kid = ""
	}
	r.setMuted(muted{kid, why})
	return nil
}

// current is the kid of what is drafted now.
func (r *Recorder) current(tx store.Tx) (string, error) {
	b, err := tx.Get(keyCurrent)
	if err != nil {
		return "", fmt.Errorf("key/current: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.muted.why != nil && r.muted.kid == string(b) {
		return "", r.muted.why
	}
	return string(b), nil
}

// adopt goes on under the newest key where the own log came back from peers with a rotation
// that this state did not know. What waits and was never logged is drafted anew under it: the
// log has retired the key it names. The caller holds turns.
func (r *Recorder) adopt(ctx context.Context) error {
	_, kid, err := r.cfg.Signer(ctx)
	if err != nil {
		return r.mute(ctx) // before a rotation brings a key
	}
	in, err := r.inForce(ctx, kid)
	if err != nil {
		return err
	}
	return r.cfg.State.Update(ctx, func(tx store.Tx) error {
		now, err := tx.Get(keyCurrent)
		switch {
		case err != nil:
			return err
		case string(now) == kid:
			r.setMuted(muted{})
			return nil
		case !in:
			r.setMuted(muted{string(now), errUnannounced}) // until its key.rotated is drafted
			return nil
		}
		mark, err := r.cfg.Events.Mark(ctx)
		if err != nil {
			return err
		}
		last, _, err := lastItem(tx)
		r.seq.read = nil
		for n := mark + 1; n <= last && err == nil; n++ {
			err = r.redraft(ctx, tx, n, kid)
		}
		return errors.Join(err, tx.Set(keyCurrent, []byte(kid)))
	})
}

func (r *Recorder) setMuted(m muted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.muted = m
}

// inForce reports whether the own log lets a key sign at its end.
func (r *Recorder) inForce(ctx context.Context, kid string) (bool, error) {
	pub, err := did.DecodeKey(kid)
	if err != nil {
		return false, err
	}
	k, err := r.Keys(ctx, r.cfg.Org)
	return slices.Contains(k.InForce(r.ownSize(ctx)), pub), err
}

// redraft puts another kid into an event that waits, unless the log has it.
func (r *Recorder) redraft(ctx context.Context, tx store.Tx, n uint64, kid string) error {
	b, err := tx.Get(itemKey(n))
	if errors.Is(err, store.ErrNotFound) {
		return nil // lost: it becomes a log.gap
	}
	if err != nil {
		return err
	}
	it, err := decodeItem(n, b)
	if err != nil || it.kind != itemEvent {
		return err
	}
	if held, err := newPlan(r, 0).held(ctx, envelope.IDOf(it.body)); err != nil || held {
		return err
	}
	ev, err := envelope.Decode[attestation.Event](envelope.Envelope{Type: attestation.TypeEvent, Body: it.body})
	if err != nil {
		return err
	}
	ev.Kid = kid
	body, err := encodeEvent(ev)
	if err != nil {
		return err
	}
	return tx.Set(itemKey(n), encodeItem(it.at, itemEvent, body))
}
