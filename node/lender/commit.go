package lender

import (
	"context"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// errBacklog says that the log does not take what is decided.
var errBacklog = attestation.ErrBacklog

// commit writes a decision: counter, nonce, row with its request, receipt, violation.
func (r *reading) commit(ctx context.Context, tx store.Tx, out *outcome, key signer, m moment) error {
	n := out.next
	if n.Verdict == lending.Granted {
		if err := r.count(ctx, tx, n); err != nil {
			return err
		}
	}
	if err := r.row(tx, n); err != nil {
		return err
	}
	if n.Verdict == lending.Denied && n.Denial.Violation() != "" {
		if err := r.l.breach(tx, r.k, r.rq, n.Denial.Violation(), m.at); err != nil {
			return err
		}
	}
	if n.Receipt == nil {
		return nil
	}
	var err error
	out.receipt, err = r.receipt(ctx, tx, n, key)
	return err
}

// count writes what only a granted answer changes.
func (r *reading) count(ctx context.Context, tx store.Tx, n lending.Next) error {
	rq := r.rq.Body()
	if err := r.l.countParents(ctx, tx, r.k, n.Parents); err != nil {
		return err
	}
	if err := store.PutRow(tx, idKey(keyLoan, rq.Perm), n.Loan); err != nil {
		return err
	}
	if err := putNonce(tx, nonceKey(rq.Borrower, rq.Nonce), *n.Nonce); err != nil {
		return err
	}
	return tx.Set(idKey(keySide, n.RowID), n.Side)
}

// row drafts the audit row and keeps the signed request beside it.
func (r *reading) row(tx store.Tx, n lending.Next) error {
	return r.l.row(tx, r.rq, r.asker, n)
}

func (l *Lender) row(tx store.Tx, rq envelope.Verified[lending.ReadRequest], asker self.AgentRow, n lending.Next) error {
	op := rq.Body().Op
	if n.Verdict == lending.Replayed {
		op = lending.OpReplay
	}
	row := audit.Row{Kind: op, Body: n.Row, Keys: []string{rq.Body().Perm.String(), rq.ID().String()}}
	row.For = append(row.For, asker.Org)
	if _, err := l.n.Rec.Row(tx, row); err != nil {
		return err
	}
	if err := l.n.Lib.Put(tx, library.Object{ID: rq.ID(), What: "readrequest", Bytes: rq.Envelope().DSSE()}); err != nil {
		return err
	}
	return l.n.Lib.Grant(tx, rq.ID(), asker.Org)
}

// receipt seals the receipt and keeps it for the borrower. One that was given before is
// given again as it was.
func (r *reading) receipt(ctx context.Context, tx store.Tx, n lending.Next, key signer) (string, error) {
	if n.Verdict != lending.Granted && n.Receipt.Granted() {
		return r.given(tx, *n.Receipt)
	}
	e, err := envelope.Seal(ctx, *n.Receipt, key)
	if err != nil {
		return "", err
	}
	if err := r.l.n.Lib.Put(tx, library.Object{ID: e.ID(), What: "receipt", Bytes: e.DSSE()}); err != nil {
		return "", err
	}
	if err := r.l.n.Lib.Grant(tx, e.ID(), r.asker.Org); err != nil {
		return "", err
	}
	return e.Compact()
}

func (r *reading) given(tx store.Tx, body lending.Receipt) (string, error) {
	b, err := envelope.Marshal(body)
	if err != nil {
		return "", err
	}
	o, err := r.l.n.Lib.Read(tx, envelope.IDOf(b))
	if err != nil {
		return "", err
	}
	e, err := envelope.ParseDSSE(o.Bytes, maxObject)
	if err != nil {
		return "", err
	}
	return e.Compact()
}

// refuse decides a denial that fell elsewhere, with its row.
func (r *reading) refuse(ctx context.Context, den *lending.Denial) error {
	m := r.moment()
	n, err := lending.Refuse(r.rq, den, r.k.perm.Body().Scope, m.at, m.rowSalt)
	if err != nil {
		return err
	}
	return r.write(ctx, n)
}

// stranger decides over a request for a permission that is not the caller's.
func (r *reading) stranger(ctx context.Context) error {
	m := r.moment()
	aud, err := self.Agent(self.ViewGetter(ctx, r.l.n.DB), r.rq.Body().Aud)
	ours := err == nil && aud.Org == r.l.n.Org
	n, err := lending.Stranger(r.rq, ours, m.trusted, m.at, m.rowSalt)
	if err != nil {
		return err
	}
	return r.write(ctx, n)
}

// write commits a denial and returns it.
func (r *reading) write(ctx context.Context, n lending.Next) error {
	if err := r.l.n.DB.Update(ctx, func(tx store.Tx) error { return r.row(tx, n) }); err != nil {
		return err
	}
	return denied(n.Denial, "")
}
