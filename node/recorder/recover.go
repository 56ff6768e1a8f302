package recorder

import (
	"context"
	"errors"
	"fmt"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/store"
)

// errFull ends the filling of a package.
var errFull = errors.New("package is full")

// confirm brings outbox and log together again after a recovery.
func (r *Recorder) confirm(ctx context.Context) error {
	size := r.ownSize(ctx)
	if floor, root, ok := r.cfg.Pins.Highest(pins.KindLog, r.cfg.Org.String()); ok {
		if size < floor.N {
			return fmt.Errorf("%w: %d events, pins name %d", ErrUnconfirmed, size, floor.N)
		}
		at, err := r.rootAt(ctx, r.cfg.Org, floor.N)
		if err != nil {
			return err
		}
		if at.Root.String() != root {
			return fmt.Errorf("%w: root at %d", ErrUnconfirmed, floor.N)
		}
	}
	if err := r.lastOwn(ctx); err != nil {
		return err
	}
	if err := r.pinSigned(ctx); err != nil {
		return err
	}
	if err := r.eraseRowsAgain(ctx); err != nil {
		return err
	}
	return r.meet(ctx)
}

// pinSigned pins the own head that peers gave back, which a process before this one, or the
// node before a restore, has signed: the floor is never below what is known to be signed.
func (r *Recorder) pinSigned(ctx context.Context) error {
	size := r.signedSize()
	floor, _, _ := r.cfg.Pins.Highest(pins.KindLog, r.cfg.Org.String())
	if size <= floor.N {
		return nil
	}
	head, err := r.rootAt(ctx, r.cfg.Org, size)
	if err != nil {
		return err
	}
	return r.cfg.Pins.Put(ctx, pins.Slot{Kind: pins.KindLog, Key: r.cfg.Org.String(), N: size}, head.Root.String())
}

// meet makes the mark reach the outbox.
func (r *Recorder) meet(ctx context.Context) error {
	mark, err := r.cfg.Events.Mark(ctx)
	if err != nil {
		return err
	}
	low, _, err := r.bounds(ctx)
	if err != nil {
		return err
	}
	if mark+1 < low {
		if err := r.gap(ctx, mark+1, low-1); err != nil {
			return err
		}
	}
	return r.missRows(ctx)
}

// missRows records that rows are lost: peers gave back own audit.rows whose rows only the
// lost disk had. The first of them covers also what waited here to be covered, since it
// covered all that waited; so no audit.rows ever covers that again, and numbers go on above
// all that the lost ones may have given: covers never overlap. Where the key that would sign
// it is lost too, it is said after the rotation that puts another in its place; rows that are
// numbered until then count as lost.
func (r *Recorder) missRows(ctx context.Context) error {
	last, err := r.cfg.Events.Covered(ctx)
	if err != nil {
		return err
	}
	from, lost := uint64(0), uint64(0)
	if last.Size > 0 {
		from = last.Index + 1
	}
	err = r.cfg.Events.EventsOf(ctx, r.cfg.Org, "audit.rows", from, func(attestation.Found) bool { lost++; return true })
	if err != nil || lost == 0 {
		return err
	}
	if _, err := r.signer(ctx, r.seq.lastKid); err != nil {
		r.cfg.Log.WarnContext(ctx, "rows were lost with an older copy of the data, and no key here can say so yet", "audit_rows", lost, "error", err)
		r.seq.lost, r.seq.waiting = true, nil
		return nil
	}
	rows, covered := r.cfg.Events.RowCounts()
	to := max(rows, covered+lost*maxCover)
	p := newPlan(r, r.ownSize(ctx))
	p.batch.Lost = &attestation.Cover{Index: p.batch.From, First: covered + 1, Size: to - covered}
	if err := r.appendGap(ctx, p, attestation.LogGap{Cause: attestation.GapRows, From: covered + 1, To: to}); err != nil {
		return err
	}
	r.seq.lost, r.seq.waiting = false, nil
	r.cfg.Log.WarnContext(ctx, "rows were lost with an older copy of the data", "audit_rows", lost)
	return nil
}

// maxRaise is how many items an older state database may bring along: a
// backup is taken with the outbox drained, so they are few.
const maxRaise = 8000

// raise moves what the outbox of an older state database holds above the mark,
// in order, so that none of its numbers was ever another item's. It runs
// before anything is drafted, and leaves the log Recovering.
func (r *Recorder) raise(ctx context.Context) error {
	mark, err := r.cfg.Events.Mark(ctx)
	if err != nil {
		return err
	}
	low, high, err := r.bounds(ctx)
	if err != nil || mark <= high {
		return err
	}
	if high+1-low > maxRaise {
		return fmt.Errorf("%w: %d outbox items below the mark", ErrUnconfirmed, high+1-low)
	}
	why := fmt.Sprintf("the log took in %d, the outbox ends at %d", mark, high)
	return r.cfg.State.Update(ctx, func(tx store.Tx) error {
		_, at, err := lastItem(tx)
		if err != nil {
			return err
		}
		if at.IsZero() {
			at = envelope.TimeOf(r.cfg.Now())
		}
		for n := low; n <= high; n++ {
			if err := moveItem(tx, n, mark+1+n-low); err != nil {
				return err
			}
		}
		if err := setLast(tx, mark+high+1-low, at); err != nil {
			return err
		}
		return tx.Set(keyRecovering, []byte(why))
	})
}

func moveItem(tx store.Tx, from, to uint64) error {
	b, err := tx.Get(itemKey(from))
	if err != nil {
		return err
	}
	if err := tx.Set(itemKey(to), b); err != nil {
		return err
	}
	return tx.Delete(itemKey(from))
}

// gap records that outbox numbers are lost and moves the mark over them.
func (r *Recorder) gap(ctx context.Context, from, to uint64) error {
	if r.seq.lastKid == "" {
		return fmt.Errorf("%w: the own log is empty and %d items are lost", ErrUnconfirmed, to-from+1)
	}
	p := newPlan(r, r.ownSize(ctx))
	p.batch.Mark = to
	if err := r.appendGap(ctx, p, attestation.LogGap{Cause: attestation.GapOutbox, From: from, To: to}); err != nil {
		return err
	}
	r.seq.dropped = to
	return nil
}

// appendGap appends a log.gap, with what else its batch has.
func (r *Recorder) appendGap(ctx context.Context, p *plan, d attestation.LogGap) error {
	made, err := r.made(r.seq.lastAt, r.seq.lastKid, "log.gap", d, envelope.ID{})
	if err != nil {
		return err
	}
	if err := p.sign(ctx, made, r.seq.lastKid); err != nil {
		return err
	}
	return r.cfg.Events.Append(ctx, p.batch)
}
