package lender

import (
	"context"
	"errors"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/store"
)

// Relearn takes from the own log what this directory has forgotten, before the node lends
// again: a directory that was put back from a copy has its log again from the others, and
// its decisions only here. Every revocation in the log holds. Where rows were lost, nobody
// knows how often the loans of that time were read, so what was open then is used up.
func (l *Lender) Relearn(ctx context.Context) error {
	if err := l.relearnRevocations(ctx); err != nil {
		return err
	}
	lost, err := l.lostRows(ctx)
	if err != nil || !lost {
		return err
	}
	ids, err := l.scanIDs(ctx, keyOpen, MaxLoans)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := l.useUp(ctx, id); err != nil {
			return err
		}
	}
	if len(ids) > 0 {
		l.n.Log.WarnContext(ctx, "rows were lost with an older copy of the data: the loans that were open are used up; issue them anew", "loans", len(ids))
	}
	return nil
}

func (l *Lender) relearnRevocations(ctx context.Context) error {
	for f, err := range l.n.Rec.Facts(ctx, attestation.Query{Org: l.n.Org, Type: "loan.revoked"}) {
		if err != nil {
			return err
		}
		if err := l.relearnRevocation(ctx, f.Event.Body()); err != nil {
			return err
		}
	}
	return nil
}

// relearnRevocation writes one revocation that the state lacks. Its own log is the
// organization's word that it was signed.
func (l *Lender) relearnRevocation(ctx context.Context, e attestation.Event) error {
	var d attestation.LoanEnded
	if err := e.Decode(&d); err != nil || len(e.Refs) == 0 {
		return err
	}
	key := revKey(lending.Target{Kind: d.TargetKind, ID: d.Target})
	return l.n.DB.Update(ctx, func(tx store.Tx) error {
		_, held, err := store.GetRow[lending.RevokedBy](tx, key)
		if err != nil || held {
			return err
		}
		return store.PutRow(tx, key, lending.RevokedBy{ID: e.Refs[0], At: e.At, Reason: "other"})
	})
}

// lostRows says whether the newest audit.rows of the own log binds rows that are not here.
// The rows before it are then not all here either, or are those of another time.
func (l *Lender) lostRows(ctx context.Context) (bool, error) {
	log, err := l.n.Rec.Log(ctx, l.n.Org)
	if errors.Is(err, attestation.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	head, _ := log.Head()
	for i := head.Size; i > 0; i-- {
		body, index, found, err := rowsAt(ctx, log, i-1)
		if err != nil {
			return false, err
		}
		if found {
			return l.missing(ctx, body, index)
		}
	}
	return false, nil
}

// rowsAt reads whether an entry is an audit.rows, and the id of its body.
func rowsAt(ctx context.Context, log attestation.Log, index uint64) (body envelope.ID, at uint64, found bool, err error) {
	err = log.Entries(ctx, index, index+1, func(i uint64, en attestation.Entry) error {
		_, ev, err := en.Envelope()
		body, at, found = ev.Body, i, err == nil && ev.Type == "audit.rows"
		return err
	})
	return body, at, found, err
}

// missing says whether the rows under one audit.rows are not those of this directory.
func (l *Lender) missing(ctx context.Context, body envelope.ID, index uint64) (bool, error) {
	b, err := l.n.Rec.Body(ctx, body)
	if errors.Is(err, attestation.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	rows, err := audit.ParseRows(b)
	if err != nil {
		return false, err
	}
	bound, ok, err := l.n.Rec.BoundAt(ctx, rows.First)
	return !ok || bound != index, err
}

// useUp counts every read of a loan as given.
func (l *Lender) useUp(ctx context.Context, id envelope.ID) error {
	k, err := l.permission(ctx, id)
	if err != nil {
		return err
	}
	return l.n.DB.Update(ctx, func(tx store.Tx) error {
		loan, ok, err := store.GetRow[lending.Loan](tx, idKey(keyLoan, id))
		if err != nil || !ok {
			return err
		}
		loan.Reads = max(loan.Reads, k.perm.Body().MaxReads)
		return store.PutRow(tx, idKey(keyLoan, id), loan)
	})
}
