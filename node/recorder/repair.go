package recorder

import (
	"context"
	"errors"
	"fmt"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/store"
)

// Corruption says that a log is not as it was written; nothing is appended to the own one or
// signed until it is repaired. It is ErrCorrupt, and ErrRecovering to who only asks whether the log
// takes anything.
type Corruption struct{ Why string }

// Error implements error.
func (c *Corruption) Error() string { return ErrCorrupt.Error() + ": " + c.Why }

// Is reports whether target is ErrCorrupt or ErrRecovering.
func (c *Corruption) Is(target error) bool { return target == ErrCorrupt || target == ErrRecovering }

// FaultCode returns unavailable.
func (c *Corruption) FaultCode() string { return "unavailable" }

// FaultReason returns corrupt.
func (c *Corruption) FaultReason() string { return "corrupt" }

// FaultHint names what is damaged and both ways out.
func (c *Corruption) FaultHint() string {
	return c.Why + ": trustnode fsck --repair, or restore a backup"
}

// closed returns why the own log takes nothing, nil while it does.
func (r *Recorder) closed() error {
	switch s, why := r.State(); s {
	case Open:
		return nil
	case Corrupt:
		return &Corruption{why}
	}
	return ErrRecovering
}

// misfit says what is damaged, in words for people.
func misfit(err error) string {
	var at *store.Misfit
	if errors.As(err, &at) {
		return fmt.Sprintf("%d does not hash to the pinned tree", at.Index)
	}
	return err.Error()
}

// Repair makes every log held here what its signed root says: the own one the pinned root,
// each other the newest head that is kept. Damaged entries come from peers, by fetch, and
// count only by their hash. It returns what was written; errors of single logs are joined.
// An own log that was Corrupt and is whole again is Open, or Recovering where it was that
// before, without a restart.
func (r *Recorder) Repair(ctx context.Context, fetch store.Refetch) ([]store.Repaired, error) {
	var out []store.Repaired
	var bad []error
	for _, d := range r.cfg.Events.Orgs() {
		anchor, ok, err := r.anchor(d)
		if err != nil || !ok {
			bad = append(bad, err)
			continue
		}
		done, err := r.cfg.Events.Repair(ctx, d, anchor, fetch)
		if len(done.Entries) > 0 || done.Tiles > 0 || done.Head {
			out = append(out, done)
			r.cfg.Log.WarnContext(ctx, "a log was repaired", "org", d.String(), "entries", len(done.Entries), "tiles", done.Tiles)
			if d != r.cfg.Org { // of the own log see recheck
				bad = append(bad, r.Recheck(ctx, d))
			}
		}
		if errors.Is(err, store.ErrCorrupt) {
			err = &Corruption{misfit(err)}
		}
		bad = append(bad, err)
	}
	bad = append(bad, r.recheck(ctx))
	return out, errors.Join(bad...)
}

// anchor is a head of a log that is signed, and whose size is held.
func (r *Recorder) anchor(d did.DID) (attestation.Head, bool, error) {
	if d == r.cfg.Org {
		if pin, root, ok := r.cfg.Pins.Highest(pins.KindLog, d.String()); ok && pin.N > 0 {
			id, err := envelope.ParseID(root)
			return attestation.Head{Size: pin.N, Root: id}, true, err
		}
	}
	newest, _, _ := r.cfg.Events.Newest(d)
	n, err := attlog.ParseNote(newest)
	if err != nil || n.Head.Size == 0 {
		return attestation.Head{}, false, nil // no head of it is signed yet
	}
	return n.Head, true, nil
}

// recheck has a Corrupt log looked at as after a start, and left if it is whole.
func (r *Recorder) recheck(ctx context.Context) error {
	r.turns.Lock()
	defer r.turns.Unlock()
	if s, _ := r.State(); s != Corrupt {
		return nil
	}
	r.mu.Lock()
	was := r.why
	r.state, r.why = Open, ""
	if r.paused != "" {
		r.state, r.why = Recovering, r.paused
	}
	r.mu.Unlock()
	err := r.check(ctx)
	if s, why := r.State(); err == nil && s == Corrupt {
		return &Corruption{why}
	}
	for _, step := range []func() error{
		func() error { return r.reread(ctx) },
		func() error { return r.judgeAll(ctx, r.cfg.Org) },
		func() error { return r.Recheck(ctx, r.cfg.Org) },
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		r.enter(Corrupt, was)
	}
	r.signal()
	r.progress()
	return err
}
