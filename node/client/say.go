package client

import (
	"bytes"
	"cmp"
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
	if row.unheard() {
		row.HeardSaid, err = c.n.Rec.Event(tx, attestation.Draft{
			Type: "loan.end_seen", Subject: perm.String(), Refs: []envelope.ID{issued}, Actor: row.Borrower,
			Data: attestation.LoanEndSeen{Permission: perm, SeenAt: row.HeardAt},
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

// Run ends loans here that are over and says in the log what could not be said at once,
// every few seconds until ctx ends, and returns its error.
func (c *Client) Run(ctx context.Context) error {
	t := time.NewTicker(sayEvery)
	defer t.Stop()
	hear := time.NewTicker(hearEvery)
	defer hear.Stop()
	forget := time.NewTicker(forgetEvery)
	defer forget.Stop()
	c.listen(ctx)
	c.forget(ctx)
	for {
		if err := c.sayPending(ctx); err != nil && ctx.Err() == nil {
			c.n.Log.WarnContext(ctx, "something about a borrowed loan is not in the log yet", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		case <-hear.C:
			c.listen(ctx)
		case <-forget.C:
			c.forget(ctx)
		}
	}
}

// forget is forgetEnded, whose failure is tried again.
func (c *Client) forget(ctx context.Context) {
	if err := c.forgetEnded(ctx); err != nil && ctx.Err() == nil {
		c.n.Log.WarnContext(ctx, "what was learnt under an ended loan is not all forgotten yet", "error", err)
	}
}

// listen is hear, whose failure is tried again.
func (c *Client) listen(ctx context.Context) {
	if err := c.hear(ctx); err != nil && ctx.Err() == nil {
		c.n.Log.WarnContext(ctx, "it was not looked whether borrowed loans are over", "error", err)
	}
}

func (c *Client) sayPending(ctx context.Context) error {
	return c.each(ctx, keyPending, func(id envelope.ID) error {
		row, ok, err := store.GetRow[loanRow](viewOf(ctx, c), idKey(keyLoan, id))
		if err != nil || !ok {
			return err
		}
		issued := c.issued(ctx, id, row.LenderOrg)
		if issued.IsZero() {
			return nil
		}
		return c.n.DB.Update(ctx, func(tx store.Tx) error {
			now, _, err := store.GetRow[loanRow](tx, idKey(keyLoan, id))
			if err != nil {
				return err
			}
			return c.say(tx, id, now, issued)
		})
	})
}

// each calls do with each id that follows a prefix, in pieces of MaxLoans, so that do may
// write. What do returns holds up no other id.
func (c *Client) each(ctx context.Context, prefix string, do func(envelope.ID) error) error {
	var errs []error
	var after []byte
	for {
		ids, err := c.scanIDs(ctx, prefix, after)
		for _, id := range ids {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := do(id); err != nil && len(errs) < maxErrors {
				errs = append(errs, err)
			}
		}
		if err != nil || len(ids) < c.piece() {
			return errors.Join(append(errs, err)...)
		}
		after = idKey(prefix, ids[len(ids)-1])
	}
}

// piece is the most ids of one scan.
func (c *Client) piece() int { return cmp.Or(c.testingOnlyPiece, MaxLoans) }

// scanIDs lists the ids that follow a prefix, behind the key after, at most piece.
func (c *Client) scanIDs(ctx context.Context, prefix string, after []byte) ([]envelope.ID, error) {
	var out []envelope.ID
	var bad error
	err := c.n.DB.View(ctx, func(r store.Reader) error {
		out, bad = nil, nil
		return r.Scan([]byte(prefix), after, func(k, _ []byte) bool {
			var id envelope.ID
			if id, bad = envelope.ParseID(string(bytes.TrimPrefix(k, []byte(prefix)))); bad == nil {
				out = append(out, id)
			}
			return bad == nil && len(out) < c.piece()
		})
	})
	return out, errors.Join(err, bad)
}
