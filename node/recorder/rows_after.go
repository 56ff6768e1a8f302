package recorder

import (
	"context"

	"trustnode/attestation/audit"
)

// RowsAfter yields every own audit row of a number above after, in the order they were
// committed, until yield returns an error, which is returned. Rows that are their hash
// alone, and those still on their way (Flush), are left out.
func (r *Recorder) RowsAfter(ctx context.Context, after uint64, yield func(n uint64, row audit.Row) error) error {
	return r.cfg.Events.Rows(ctx, audit.Filter{After: after}, yield)
}
