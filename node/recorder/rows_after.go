package recorder

import (
	"context"
	"errors"
	"fmt"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
)

// RowsAfter yields every own audit row of a number above after, in the order they were
// committed, until yield returns an error, which is returned. Rows that are their hash
// alone, and those still on their way (Flush), are left out.
func (r *Recorder) RowsAfter(ctx context.Context, after uint64, yield func(n uint64, row audit.Row) error) error {
	return r.cfg.Events.Rows(ctx, audit.Filter{After: after}, yield)
}

// RowByID returns one own row by its id, and its number; attestation.ErrNotFound for one
// that is not in the audit database, of which GoneRow tells whether it once was.
func (r *Recorder) RowByID(ctx context.Context, id envelope.ID) (n uint64, row audit.Row, err error) {
	if n, err = r.cfg.Events.RowNumber(ctx, id); err != nil {
		return 0, audit.Row{}, err
	}
	found := false
	err = r.RowsAfter(ctx, n-1, func(at uint64, x audit.Row) error {
		row, found = x, at == n
		return errRow
	})
	if err != nil && !errors.Is(err, errRow) {
		return 0, audit.Row{}, err
	}
	if !found {
		return 0, audit.Row{}, fmt.Errorf("row %s: %w", id, attestation.ErrNotFound)
	}
	return n, row, nil
}

// errRow ends the walk of RowByID at its first row.
var errRow = errors.New("one row is enough")
