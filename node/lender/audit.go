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
	if _, err := l.issued(ctx, id); err != nil {
		if out.Borrowed = l.borrowed(ctx, id); !out.Borrowed {
			return Audit{}, err
		}
	}
	l.flush(ctx)
	if out.Rows, err = l.rows(ctx, id); err != nil {
		return Audit{}, refusal(err)
	}
	out.Granted, out.GapFree = whole(out.Rows, out.Borrowed)
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

// whole counts the answers and says whether they are 1, 2, 3 and so on: those the lender granted, in the
// order of commit, or those a borrower received, in whatever order.
func whole(rows []AuditRow, borrowed bool) (n uint64, ok bool) {
	var seqs []uint64
	for _, r := range rows {
		switch b := r.Row.(type) {
		case lending.GrantedRow:
			if !borrowed {
				seqs = append(seqs, b.Seq)
			}
		case lending.ReceivedRow:
			if borrowed {
				seqs = append(seqs, b.Seq)
			}
		}
	}
	if borrowed {
		slices.Sort(seqs) // two reads at once are answered in turn, and kept as they come
	}
	ok = true
	for i, seq := range seqs {
		ok = ok && seq == uint64(i)+1
	}
	return uint64(len(seqs)), ok
}

// events lists the events about a loan, by organization and index.
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
	return out, nil
}
