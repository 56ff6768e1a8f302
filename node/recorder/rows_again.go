package recorder

import (
	"context"
	"errors"
	"slices"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// maxRowsDue is how many rows are erased again at once; of more it is only noted that they
// are to be.
const maxRowsDue = 1000

// eraseRowsAgain looks, once peers gave back what the own log lacked, for rows that it says
// to be erased and that an older copy of the data brought back. A log.erased names what binds
// a row, not the row, which would tell peers more than they may know. So where all rows left
// under it are to go, they go; else it is noted how many, and the operator names them again.
// Rows whose audit.rows came after the copy are not here to be erased.
func (r *Recorder) eraseRowsAgain(ctx context.Context) error {
	// Erasures first, rows after: an erasure and what it takes are one update, so that no row
	// counts as held whose erasure was not seen.
	by, err := r.erasures(ctx, r.cfg.Org, attestation.ErasedRow)
	if err != nil {
		return err
	}
	for index, said := range by {
		first, size, err := r.rowsBoundAt(ctx, index)
		if err != nil {
			return err
		}
		left, gone, err := r.cfg.Events.RowsUnder(ctx, first, size, maxRowsDue+1)
		if err != nil {
			return err
		}
		due := min(uint64(len(said))-min(uint64(len(said)), gone), uint64(len(left)))
		switch {
		case due == 0:
			continue
		case due == uint64(len(left)) && due <= maxRowsDue:
			err = r.cfg.Events.DropRows(ctx, left)
			r.cfg.Log.InfoContext(ctx, "rows were erased again that an older copy of the data brought back", "index", index, "rows", due)
		default:
			err = r.cfg.Events.NoteRowsDue(ctx, store.RowsDue{Index: index, Count: due, First: first, Size: size})
			r.cfg.Log.WarnContext(ctx, "rows that were erased are back with an older copy of the data, and the log does not say which: trustnode doctor", "index", index, "rows", due, "of", len(left))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rowsBoundAt returns the run of rows that the own event at an index binds, an audit.rows or
// a log.gap; size 0 where that is not known here.
func (r *Recorder) rowsBoundAt(ctx context.Context, index uint64) (first, size uint64, err error) {
	ev, _, err := r.eventAt(ctx, r.cfg.Org, index)
	if beyond := (*attestation.Beyond)(nil); errors.As(err, &beyond) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	switch ev.Type {
	case "log.gap":
		var g attestation.LogGap
		if ev.Decode(&g) == nil && g.Cause == attestation.GapRows && g.From > 0 && g.To >= g.From {
			return g.From, g.To - g.From + 1, nil
		}
	case "audit.rows":
		b, err := r.Body(ctx, ev.Body)
		if errors.Is(err, attestation.ErrNotFound) {
			return 0, 0, nil
		}
		if err != nil {
			return 0, 0, err
		}
		if rows, err := audit.ParseRows(b); err == nil {
			return rows.First, rows.Size, nil
		}
	}
	return 0, 0, nil
}

// eraseAgain carries out for one row what the log said before of an unnamed one among its
// neighbours; false where nothing of that kind is open.
func (r *Recorder) eraseAgain(ctx context.Context, n uint64) (bool, error) {
	c, err := r.cfg.Events.Binding(ctx, n)
	if errors.Is(err, attestation.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return r.cfg.Events.DropRowDue(ctx, n, c.Index)
}

// RowsDue is what the operator has to name again: under one event of the own log, Count of
// the Rows that are left were erased and came back.
type RowsDue struct {
	Index uint64
	Count uint64
	Rows  []envelope.ID // at most max
}

// RowsDue lists rows that were erased, came back with an older copy of the data, and are not
// told from their neighbours; of each run at most max.
func (r *Recorder) RowsDue(ctx context.Context, max int) ([]RowsDue, error) {
	list, err := r.cfg.Events.RowsDue(ctx)
	if err != nil {
		return nil, err
	}
	var out []RowsDue
	for _, d := range list {
		x := RowsDue{Index: d.Index, Count: d.Count}
		left, _, err := r.cfg.Events.RowsUnder(ctx, d.First, d.Size, max)
		if err != nil {
			return nil, err
		}
		if len(left) == 0 {
			continue // their age took them meanwhile
		}
		err = r.cfg.Events.Rows(ctx, audit.Filter{After: left[0] - 1}, func(n uint64, row audit.Row) error {
			if slices.Contains(left, n) {
				x.Rows = append(x.Rows, audit.ID(row))
			}
			if n >= left[len(left)-1] {
				return errFull
			}
			return nil
		})
		if err != nil && !errors.Is(err, errFull) {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}
