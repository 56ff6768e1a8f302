package client

import (
	"context"
	"errors"
	"slices"
	"time"

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
func (c *Client) forgetEnded(ctx context.Context) error {
	at, err := c.n.Clock.Now()
	if err != nil {
		return nil
	}
	var perms []string
	err = c.n.Entries.Loans(ctx, func(perm string) bool {
		perms = append(perms, perm)
		return len(perms) < MaxLoans
	})
	if err != nil {
		return err
	}
	if len(perms) == 0 {
		return nil
	}
	loans, err := c.Loans(ctx)
	if err != nil {
		return err
	}
	ends := map[string]time.Time{}
	for _, l := range loans {
		ends[l.ID.String()] = l.ExpiresAt
	}
	for _, text := range perms {
		perm, err := envelope.ParseID(text)
		if err != nil {
			return err
		}
		if err := c.forgetLoan(ctx, perm, ends[text], at); err != nil && !errors.Is(err, errRuns) {
			return err
		}
	}
	return nil
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
	if !final(row.State) && !final(row.Heard) && (end.IsZero() || at.Before(end)) {
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
