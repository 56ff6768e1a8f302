package recorder

import (
	"context"
	"errors"
	"slices"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/node/store"
)

// WaitingRows returns the rows that a key finds and that are committed and not yet in the
// audit database, in the order they were committed. Some may be there already when
// WaitingRows returns: whoever wants each once asks here first, then RowsOf, and compares
// ids.
func (r *Recorder) WaitingRows(ctx context.Context, key string) ([]audit.Row, error) {
	mark, err := r.cfg.Events.Mark(ctx)
	if err != nil {
		return nil, err
	}
	var out []audit.Row
	var bad error
	err = r.cfg.State.View(ctx, func(s store.Reader) error {
		return s.Scan(keyItem, itemKey(mark), func(k, v []byte) bool {
			var it item
			if it, bad = decodeItem(itemNumber(k), v); bad != nil {
				return false
			}
			if it.kind == itemRow && slices.Contains(it.row.Keys, key) {
				out = append(out, it.row)
			}
			return true
		})
	})
	return out, errors.Join(err, bad)
}

// BoundAt returns the index of the audit.rows event that puts the row with this number
// into the own log, and false while none does.
func (r *Recorder) BoundAt(ctx context.Context, n uint64) (uint64, bool, error) {
	c, err := r.cfg.Events.CoverOf(ctx, n)
	if errors.Is(err, attestation.ErrNotFound) {
		return 0, false, nil
	}
	return c.Index, err == nil, err
}

// LastTime returns the time of the newest decision that drafted anything; zero before the
// first. Trusted time never shows less.
func (r *Recorder) LastTime(ctx context.Context) (at time.Time, err error) {
	err = r.cfg.State.View(ctx, func(s store.Reader) error {
		_, last, err := lastItem(s)
		if err == nil && !last.IsZero() {
			at = last.Time()
		}
		return err
	})
	return at, err
}

// Waiting counts the decisions that are durable and not yet in the own log.
func (r *Recorder) Waiting(ctx context.Context) (uint64, error) {
	last, err := r.last()
	if err != nil {
		return 0, err
	}
	mark, err := r.cfg.Events.Mark(ctx)
	if err != nil || mark >= last {
		return 0, err
	}
	return last - mark, nil
}
