package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/memory"
	"trustnode/node/store"
)

// errRuns says that a loan has not ended: what was learnt under it stays.
var errRuns = errors.New("the loan has not ended")

// forgetEnded forgets what own agents learnt under loans that have ended, and says
// loan.deleted when the last of it is gone (04 section 1). Without trusted time nothing ends.
// A loan that cannot be looked at holds up no other.
func (c *Client) forgetEnded(ctx context.Context) error {
	at, err := c.n.Clock.Now()
	if err != nil {
		return nil
	}
	var perms []string // taken first: the walk is one view of the store, and forgetting writes
	err = c.n.Entries.Loans(ctx, func(perm string) bool {
		perms = append(perms, perm)
		return true
	})
	for _, text := range perms {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		perm, perr := envelope.ParseID(text)
		if perr == nil {
			perr = c.forgetIfEnded(ctx, perm, at)
		}
		if perr != nil && !errors.Is(perr, errRuns) {
			err = errors.Join(err, perr)
		}
	}
	return err
}

// forgetIfEnded looks at one loan before anything is searched or written.
func (c *Client) forgetIfEnded(ctx context.Context, perm envelope.ID, at time.Time) error {
	row, _, err := store.GetRow[loanRow](viewOf(ctx, c), idKey(keyLoan, perm))
	if err != nil {
		return err
	}
	end, err := c.endOf(ctx, perm)
	if err != nil {
		return err
	}
	if !row.over(end, at) {
		return errRuns
	}
	return c.forgetLoan(ctx, perm, end, at)
}

// over says whether a loan, which ends by itself at end, is known to have ended; a zero end
// is not known.
func (r loanRow) over(end, at time.Time) bool {
	return final(r.State) || final(r.Heard) || !end.IsZero() && !at.Before(end)
}

// endOf is when a loan ends by itself, by its own bytes or the lender's loan.issued; zero
// where neither is here.
func (c *Client) endOf(ctx context.Context, perm envelope.ID) (time.Time, error) {
	l, err := c.filled(ctx, Loan{ID: perm})
	if err != nil || !l.ExpiresAt.IsZero() {
		return l.ExpiresAt, err
	}
	for f, err := range c.n.Rec.Facts(ctx, attestation.Query{Type: "loan.issued", Subject: perm.String()}) {
		var d attestation.LoanIssued
		if err != nil {
			return time.Time{}, err
		}
		if f.Event.Body().Decode(&d) != nil || d.Permission != perm {
			continue
		}
		if ok, err := c.ours(ctx, d, f); err != nil || ok {
			return d.ExpiresAt.Time(), err
		}
	}
	return time.Time{}, nil
}

// forgetLoan forgets all that was learnt under one loan, which ends by itself at end; zero
// where that is not known.
func (c *Client) forgetLoan(ctx context.Context, perm envelope.ID, end, at time.Time) error {
	for {
		some, err := c.n.Entries.OfLoan(ctx, perm.String(), lending.MaxForgotten)
		if err != nil || len(some) == 0 {
			return err
		}
		for in, ids := range some {
			_, err := c.n.Entries.Forget(ctx, in, memory.Selector{IDs: ids}, func(tx store.Tx, gone []memory.Entry) error {
				return c.forgotten(ctx, tx, perm, end, at, in, gone)
			})
			if err != nil {
				return err
			}
		}
	}
}

// forgotten decides that the loan has ended, and writes the row of what goes; of the last
// of it, the event.
func (c *Client) forgotten(ctx context.Context, tx store.Tx, perm envelope.ID, end, at time.Time, in memory.Place, gone []memory.Entry) error {
	row, _, err := store.GetRow[loanRow](tx, idKey(keyLoan, perm))
	if err != nil {
		return err
	}
	if !row.over(end, at) {
		return errRuns
	}
	body, _, err := lending.MarshalRow(lending.ForgetRow{
		At: envelope.TimeOf(at), By: c.n.Org.String(), Cause: lending.ForgetLoan, Entries: ids(gone), Op: lending.OpForget, Perm: perm,
		Place: in.String(), Salt: lending.NewSalt(),
	})
	if err != nil {
		return err
	}
	if _, err := c.n.Rec.Row(tx, audit.Row{Kind: lending.OpForget, Body: body, Keys: []string{perm.String()}}); err != nil {
		return err
	}
	left, err := c.n.Entries.LearntUnder(tx, perm.String())
	if err != nil || left > 0 || row.Borrower.IsZero() || !row.Deleted.IsZero() {
		return err
	}
	row.Deleted = envelope.TimeOf(at)
	return c.say(tx, perm, row, c.issued(ctx, perm, row.LenderOrg))
}

// ids lists entries for a row.
func ids(es []memory.Entry) []string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = e.ID
	}
	slices.Sort(out)
	return out
}
