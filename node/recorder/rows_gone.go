package recorder

import (
	"context"
	"errors"

	"trustnode/attestation"
)

// GoneRow is an own row that is its hash alone.
type GoneRow struct {
	N      uint64 // number of the row
	Erased bool   // by the log.erased At; else it is past its age
	At     uint64 // index in the own log
}

// GoneRows tells of the own rows numbered from from to to that are their hash alone, at most
// max of them. Where several under one audit.rows are gone, which of them a log.erased meant
// is not kept: those of lower number are said to be erased.
func (r *Recorder) GoneRows(ctx context.Context, from, to uint64, max int) ([]GoneRow, error) {
	list, err := r.cfg.Events.GoneRows(ctx, from, to, max)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	by, err := r.rowErasures(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]GoneRow, 0, len(list))
	for _, n := range list {
		g := GoneRow{N: n}
		c, err := r.cfg.Events.Binding(ctx, n)
		if err != nil && !errors.Is(err, attestation.ErrNotFound) {
			return nil, err
		}
		if at := by[c.Index]; err == nil && len(at) > 0 {
			g.Erased, g.At, by[c.Index] = true, at[0], at[1:]
		}
		out = append(out, g)
	}
	return out, nil
}

// rowErasures lists the log.erased of rows in the own log by the index of what binds the row.
func (r *Recorder) rowErasures(ctx context.Context) (map[uint64][]uint64, error) {
	out := map[uint64][]uint64{}
	err := r.cfg.Events.EventsOf(ctx, r.cfg.Org, "log.erased", 0, func(f attestation.Found) bool {
		_, ev, err := f.Entry.Envelope()
		var d attestation.LogErased
		if err == nil && ev.Decode(&d) == nil && d.Cause == attestation.ErasedRow {
			out[d.Index] = append(out[d.Index], f.Index)
		}
		return true
	})
	return out, err
}
