package lender

import (
	"context"
	"math"

	"trustnode/federation/lending"
	"trustnode/node/recorder"
)

// GoneRead is a granted read whose row is its hash alone.
type GoneRead struct {
	Seq uint64
	recorder.GoneRow
}

// granted counts the answers of a loan that was lent, of which rows are held, and finds for
// each that has none the row that is gone. A row that is gone does not say whose it was: one
// counts for a read where it stands between the rows of the reads before and after. ok is
// false where a read has neither.
func (l *Lender) granted(ctx context.Context, reads uint64, rows []AuditRow) (n uint64, gone []GoneRead, ok bool, err error) {
	next, from := uint64(1), uint64(1) // seq that follows, number of the first row that may be its
	explain := func(seq, to uint64) error {
		most := min(seq-next, MaxAuditGone)
		list, err := l.n.Rec.GoneRows(ctx, from, to, int(most))
		for i, g := range list {
			gone = append(gone, GoneRead{next + uint64(i), g})
		}
		ok = ok && uint64(len(list)) == seq-next
		return err
	}
	ok = true
	for _, r := range rows {
		b, is := r.Row.(lending.GrantedRow)
		if !is {
			continue
		}
		if b.Seq < next {
			ok = false // twice, or out of order
			continue
		}
		to := uint64(math.MaxUint64)
		if r.N > 0 {
			to = r.N - 1
		}
		if b.Seq > next {
			if err := explain(b.Seq, to); err != nil {
				return 0, nil, false, err
			}
		}
		next, from = b.Seq+1, max(from, r.N+1)
	}
	if reads >= next {
		if err := explain(reads+1, math.MaxUint64); err != nil {
			return 0, nil, false, err
		}
	}
	return max(reads, next-1), gone, ok, nil
}
