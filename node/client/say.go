package client

import (
	"bytes"
	"context"
	"errors"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// issued returns the lender's event loan.issued of a permission, or the zero ID while it
// is not held here.
func (c *Client) issued(ctx context.Context, perm envelope.ID, org did.DID) envelope.ID {
	for f, err := range c.n.Rec.Facts(ctx, attestation.Query{Org: org, Type: "loan.issued", Subject: perm.String()}) {
		if err == nil {
			return f.Event.ID()
		}
		c.n.Log.WarnContext(ctx, "the event of a loan cannot be read", "loan", perm.String(), "error", err)
	}
	return envelope.ID{}
}

// say drafts what is unsaid of a loan, each event once, and writes its row. Both events
// rest on the lender's loan.issued: while that is not held, Run says them later.
func (c *Client) say(tx store.Tx, perm envelope.ID, row loanRow, issued envelope.ID) error {
	if !issued.IsZero() {
		if err := c.draft(tx, perm, &row, issued); err != nil {
			return err
		}
	}
	key := idKey(keyPending, perm)
	if row.unsaid() {
		return errors.Join(store.PutRow(tx, idKey(keyLoan, perm), row), tx.Set(key, nil))
	}
	return errors.Join(store.PutRow(tx, idKey(keyLoan, perm), row), tx.Delete(key))
}

func (c *Client) draft(tx store.Tx, perm envelope.ID, row *loanRow, issued envelope.ID) (err error) {
	if !row.First.IsZero() && row.Taken.IsZero() {
		row.Taken, err = c.n.Rec.Event(tx, attestation.Draft{
			Type: "loan.taken", Subject: perm.String(), Refs: []envelope.ID{issued}, Actor: row.Borrower, Data: attestation.LoanTaken{Permission: perm},
		})
		if err != nil {
			return err
		}
	}
	if !row.EndedBy.IsZero() && row.EndEvent.IsZero() {
		row.EndEvent, err = c.n.Rec.Event(tx, attestation.Draft{
			Type: "loan.end_seen", Subject: perm.String(), Refs: []envelope.ID{issued}, Actor: row.Borrower,
			Data: attestation.LoanEndSeen{Permission: perm, SeenAt: row.EndedAt, Verified: true},
		})
		if err != nil {
			return err
		}
	}
	if !row.Deleted.IsZero() && row.DelEvent.IsZero() {
		row.DelEvent, err = c.n.Rec.Event(tx, attestation.Draft{
			Type: "loan.deleted", Subject: perm.String(), Refs: []envelope.ID{issued}, Actor: row.Borrower,
			Data: attestation.LoanDeleted{DeletedAt: row.Deleted, Permission: perm, Verified: !row.EndedBy.IsZero()},
		})
	}
	return err
}

// Run says in the log what could not be said at once, until ctx ends, and returns its
// error.
func (c *Client) Run(ctx context.Context) error {
	t := time.NewTicker(sayEvery)
	defer t.Stop()
	for {
		if err := c.sayPending(ctx); err != nil && ctx.Err() == nil {
			c.n.Log.WarnContext(ctx, "something about a borrowed loan is not in the log yet", "error", err)
		}
		if err := c.forgetEnded(ctx); err != nil && ctx.Err() == nil {
			c.n.Log.WarnContext(ctx, "what was learnt under an ended loan is not all forgotten yet", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

func (c *Client) sayPending(ctx context.Context) error {
	ids, err := c.scanIDs(ctx, keyPending)
	if err != nil {
		return err
	}
	for _, id := range ids {
		row, ok, err := store.GetRow[loanRow](viewOf(ctx, c), idKey(keyLoan, id))
		if err != nil || !ok {
			return err
		}
		issued := c.issued(ctx, id, row.LenderOrg)
		if issued.IsZero() {
			continue
		}
		err = c.n.DB.Update(ctx, func(tx store.Tx) error {
			now, _, err := store.GetRow[loanRow](tx, idKey(keyLoan, id))
			if err != nil {
				return err
			}
			return c.say(tx, id, now, issued)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scanIDs lists at most MaxLoans ids that follow a prefix.
func (c *Client) scanIDs(ctx context.Context, prefix string) ([]envelope.ID, error) {
	var out []envelope.ID
	var bad error
	err := c.n.DB.View(ctx, func(r store.Reader) error {
		out, bad = nil, nil
		return r.Scan([]byte(prefix), nil, func(k, _ []byte) bool {
			var id envelope.ID
			if id, bad = envelope.ParseID(string(bytes.TrimPrefix(k, []byte(prefix)))); bad == nil {
				out = append(out, id)
			}
			return bad == nil && len(out) < MaxLoans
		})
	})
	return out, errors.Join(err, bad)
}
