package recorder

import (
	"context"
	"errors"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/did/pins"
)

// until calls done after each progress until it reports true.
func (r *Recorder) until(ctx context.Context, done func() (bool, error)) error {
	for {
		changed := r.Changed()
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// WaitAppended waits until the own event id is durable in the own log, and
// returns its index.
func (r *Recorder) WaitAppended(ctx context.Context, id envelope.ID) (uint64, error) {
	var at uint64
	err := r.until(ctx, func() (bool, error) {
		l, err := r.cfg.Events.Log(ctx, r.cfg.Org)
		if err == nil {
			at, err = l.Find(ctx, id)
		}
		if errors.Is(err, attestation.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	})
	return at, err
}

// WaitLogged waits until the own event id lies under a signed head and is
// authored, and returns its index.
func (r *Recorder) WaitLogged(ctx context.Context, id envelope.ID) (uint64, error) {
	at, err := r.WaitAppended(ctx, id)
	if err != nil {
		return 0, err
	}
	return at, r.until(ctx, func() (bool, error) { return r.signedSize() > at, nil })
}

// signedSize returns the size of the newest own head that is signed.
func (r *Recorder) signedSize() uint64 {
	note, _, _ := r.cfg.Events.Newest(r.cfg.Org)
	n, err := attlog.ParseNote(note)
	if err != nil {
		return 0
	}
	return n.Head.Size
}

// SignedBeyondPins reports whether peers have given back a head that this organization signed
// and whose size lies above the pins: they are older than what was signed.
func (r *Recorder) SignedBeyondPins() bool {
	floor, _, _ := r.cfg.Pins.Highest(pins.KindLog, r.cfg.Org.String())
	return r.signedSize() > floor.N
}

// Flush waits until everything committed before the call is in the own log
// under a signed head, rows included. An audit.rows made only because it was
// asked for comes at most once a second. ErrRecovering while nothing is
// appended, ErrCorrupt beside it while that takes a repair.
func (r *Recorder) Flush(ctx context.Context) error {
	last, err := r.last()
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.asked++
	mine := r.asked
	r.mu.Unlock()
	r.signal()
	return r.until(ctx, func() (bool, error) {
		if err := r.closed(); err != nil {
			return false, err
		}
		mark, err := r.cfg.Events.Mark(ctx)
		if err != nil || mark < last {
			return false, err
		}
		r.mu.Lock()
		served := r.served >= mine
		r.mu.Unlock()
		return served && r.signedSize() == r.ownSize(ctx), nil
	})
}
