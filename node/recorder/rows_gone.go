package recorder

import (
	"context"
	"errors"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
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
	by, err := r.erasures(ctx, r.cfg.Org, attestation.ErasedRow)
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

// GoneRow tells of one own row by its id; false where it is held, or never was here.
func (r *Recorder) GoneRow(ctx context.Context, id envelope.ID) (GoneRow, bool, error) {
	n, err := r.cfg.Events.RowNumber(ctx, id)
	if errors.Is(err, attestation.ErrNotFound) {
		return GoneRow{}, false, nil
	}
	if err != nil {
		return GoneRow{}, false, err
	}
	if gone, err := r.cfg.Events.RowGone(ctx, n); err != nil || !gone {
		return GoneRow{}, false, err
	}
	first := n // from the first under its audit.rows on, so that each is told as among the others
	if c, err := r.cfg.Events.Binding(ctx, n); err == nil {
		first = c.First
	}
	list, err := r.GoneRows(ctx, first, n, int(n-first)+1)
	if err != nil || len(list) == 0 {
		return GoneRow{}, false, err
	}
	return list[len(list)-1], true, nil
}

// RowGone reports whether an own row is its hash alone: false where it is held, waits for the
// log, or never was here. GoneRow says also why.
func (r *Recorder) RowGone(ctx context.Context, id envelope.ID) (bool, error) {
	n, err := r.cfg.Events.RowNumber(ctx, id)
	if err != nil {
		return false, ignoreAbsent(err)
	}
	gone, err := r.cfg.Events.RowGone(ctx, n)
	return gone, ignoreAbsent(err)
}

func ignoreAbsent(err error) error {
	if errors.Is(err, attestation.ErrNotFound) {
		return nil
	}
	return err
}

// ErasedBody tells which log.erased, of which log, took a body away; false where none did, or
// where the body is held all the same.
func (r *Recorder) ErasedBody(ctx context.Context, id envelope.ID) (by did.DID, at uint64, ok bool, err error) {
	if _, err := r.Body(ctx, id); !errors.Is(err, attestation.ErrNotFound) {
		return did.DID{}, 0, false, err
	}
	named, err := r.cfg.Events.Naming(ctx, id)
	if err != nil {
		return did.DID{}, 0, false, err
	}
	for _, f := range named {
		list, err := r.erasures(ctx, f.Org, attestation.ErasedBody)
		if err != nil {
			return did.DID{}, 0, false, err
		}
		if at := list[f.Index]; len(at) > 0 {
			return f.Org, at[0], true, nil
		}
	}
	return did.DID{}, 0, false, nil
}

// erasures lists the log.erased of one cause in a log by the index that they name: of the
// event whose body it was, or of what binds the row.
func (r *Recorder) erasures(ctx context.Context, d did.DID, cause string) (map[uint64][]uint64, error) {
	out := map[uint64][]uint64{}
	err := r.cfg.Events.EventsOf(ctx, d, "log.erased", 0, func(f attestation.Found) bool {
		_, ev, err := f.Entry.Envelope()
		var x attestation.LogErased
		if err == nil && ev.Decode(&x) == nil && x.Cause == cause {
			out[x.Index] = append(out[x.Index], f.Index)
		}
		return true
	})
	return out, err
}
