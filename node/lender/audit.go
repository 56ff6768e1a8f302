package lender

import (
	"context"
	"errors"
	"slices"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
)

// Audit gives all that happened under a permission, lent or borrowed: this node's rows, also
// those not yet in the log, and the events of both sides.
func (l *Lender) Audit(ctx context.Context, idOrCompact string) (Audit, error) {
	id, err := resolve(idOrCompact)
	if err != nil {
		return Audit{}, err
	}
	out := Audit{ID: id}
	k, err := l.issued(ctx, id)
	if err != nil {
		if out.Borrowed = l.borrowed(ctx, id); !out.Borrowed {
			return Audit{}, err
		}
	}
	l.flush(ctx)
	var loan Loan
	if !out.Borrowed { // before the rows, so that a read meanwhile is not missed among them
		if loan, err = l.look(ctx, k); err != nil {
			return Audit{}, err
		}
	}
	if out.Rows, err = l.rows(ctx, id); err != nil {
		return Audit{}, refusal(err)
	}
	if out.Borrowed {
		out.Granted, out.GapFree = received(out.Rows)
	} else if out.Granted, out.Gone, out.GapFree, err = l.granted(ctx, loan.Reads-loan.Under, out.Rows); err != nil {
		return Audit{}, refusal(err)
	}
	out.Under = loan.Under
	if out.Events, err = l.events(ctx, id); err != nil {
		return Audit{}, refusal(err)
	}
	return out, nil
}

// flush gives the log a while to take what is committed. What it did not take is shown
// as waiting.
func (l *Lender) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	if err := l.n.Rec.Flush(ctx); err != nil {
		l.n.Log.DebugContext(ctx, "the log does not take what is committed", "error", err)
	}
}

// rows lists the rows of a loan in the order of commit. What waits is asked for first:
// a row that moves meanwhile is then seen at least once.
func (l *Lender) rows(ctx context.Context, perm envelope.ID) ([]AuditRow, error) {
	waiting, err := l.n.Rec.WaitingRows(ctx, perm.String())
	if err != nil {
		return nil, err
	}
	var out []AuditRow
	seen := map[envelope.ID]bool{}
	err = l.n.Rec.RowsOf(ctx, perm.String(), func(n uint64, row audit.Row) error {
		r, err := auditRow(row)
		if err != nil {
			return err
		}
		r.N = n
		if r.Index, r.Bound, err = l.n.Rec.BoundAt(ctx, n); err != nil {
			return err
		}
		seen[r.ID] = true
		out = append(out, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, row := range waiting {
		r, err := auditRow(row)
		if err != nil {
			return nil, err
		}
		if !seen[r.ID] {
			out = append(out, r)
		}
	}
	return out, nil
}

func auditRow(row audit.Row) (AuditRow, error) {
	body, err := lending.ParseRow(row.Body)
	if err != nil {
		return AuditRow{}, fault.Wrap(fault.Internal, "row", err)
	}
	return AuditRow{ID: audit.ID(row), Row: body, Body: row.Body}, nil
}

// received counts the answers a borrower received, in whatever order, and says whether they are
// 1, 2, 3 and so on.
func received(rows []AuditRow) (n uint64, ok bool) {
	var seqs []uint64
	for _, r := range rows {
		if b, is := r.Row.(lending.ReceivedRow); is {
			seqs = append(seqs, b.Seq)
		}
	}
	slices.Sort(seqs) // two reads at once are answered in turn, and kept as they come
	ok = true
	for i, seq := range seqs {
		ok = ok && seq == uint64(i)+1
	}
	return uint64(len(seqs)), ok
}

// events lists the events about a loan by their times, those of one log in its order.
func (l *Lender) events(ctx context.Context, perm envelope.ID) ([]AuditEvent, error) {
	var out []AuditEvent
	for f, err := range l.n.Rec.Facts(ctx, attestation.Query{Subject: perm.String()}) {
		if errors.Is(err, attestation.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		e := f.Event.Body()
		out = append(out, AuditEvent{ID: f.Event.ID(), Org: e.Org, Index: f.Index, Type: string(e.Type), At: e.At.Time(), Subject: e.Subject})
	}
	slices.SortStableFunc(out, func(a, b AuditEvent) int { return a.At.Compare(b.At) }) // at never falls within a log
	return out, nil
}
