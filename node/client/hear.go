package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/notice"
	"trustnode/node/store"
)

// hear ends loans here that nobody read meanwhile: one whose lender's log says that it is
// over, and one whose time is up by the own clock. What is cached goes, loan.end_seen is
// said, not verified, the operator gets a notice and OnEnded is told; what was learnt under it
// is forgotten. It decides over no read: the next one asks the lender all the same, whose
// answer decides (04 section 8).
func (c *Client) hear(ctx context.Context) error {
	at, err := c.n.Clock.Now()
	if err != nil {
		return err
	}
	return c.each(ctx, keyLoan, func(id envelope.ID) error {
		row, ok, err := store.GetRow[loanRow](viewOf(ctx, c), idKey(keyLoan, id))
		if err != nil || !ok || !row.open() {
			return err
		}
		state, err := c.told(ctx, id, row, at)
		if err != nil || state == "" {
			return err
		}
		return c.heard(ctx, id, row, state, at)
	})
}

// open says whether no end of the loan is known here.
func (r loanRow) open() bool { return r.EndedBy.IsZero() && r.Heard == "" }

// told is the state that ended a loan in the lender's own words in its log, or by the
// clock; "" while none did.
func (c *Client) told(ctx context.Context, id envelope.ID, row loanRow, at time.Time) (lending.PermState, error) {
	for _, subject := range []string{id.String(), row.Borrower.String(), c.n.Org.String()} {
		for f, err := range c.n.Rec.Facts(ctx, attestation.Query{Org: row.LenderOrg, Subject: subject}) {
			if err != nil {
				return "", err
			}
			if s := ends(f.Event.Body(), row); s != "" {
				return s, nil
			}
		}
	}
	l, err := c.filled(ctx, Loan{ID: id, State: lending.Valid})
	if err != nil || l.ExpiresAt.IsZero() || at.Before(l.ExpiresAt) {
		return "", err
	}
	return lending.Expired, nil
}

// ends is the state that an event of the lender's log puts a loan in. The revocation of a
// borrower ends what its signer lent.
func ends(e attestation.Event, row loanRow) lending.PermState {
	var d attestation.LoanEnded
	switch {
	case e.Type != "loan.revoked" && e.Type != "loan.ended", e.Actor != row.Lender, e.Decode(&d) != nil:
		return ""
	case e.Type == "loan.revoked":
		return lending.Revoked
	case final(lending.PermState(d.Cause)):
		return lending.PermState(d.Cause)
	}
	return lending.Revoked
}

func (c *Client) heard(ctx context.Context, id envelope.ID, row loanRow, state lending.PermState, at time.Time) error {
	c.cache.wipe(id)
	issued := c.issued(ctx, id, row.LenderOrg)
	first := false
	err := c.n.DB.Update(ctx, func(tx store.Tx) error {
		now, _, err := store.GetRow[loanRow](tx, idKey(keyLoan, id))
		if first = now.open(); err != nil || !first {
			return err
		}
		now.Heard, now.HeardAt = state, envelope.TimeOf(at)
		return errors.Join(c.say(tx, id, now, issued), putEnded(tx, id, now, state, at))
	})
	if err == nil && first {
		c.cfg.OnEnded(Ended{Perm: id, State: state, At: at})
	}
	return err
}

// putEnded writes the notice that a loan has ended, in the transaction in which that was
// learnt (00 section 9). One that ran out or was used up is no warning.
func putEnded(tx store.Tx, id envelope.ID, row loanRow, state lending.PermState, at time.Time) error {
	level := notice.Info
	if state == lending.Revoked {
		level = notice.Warn
	}
	return notice.Put(tx, notice.Notice{At: envelope.TimeOf(at), Detail: fmt.Sprintf("loan ended: the loan by %s to %s is %s", row.Lender, row.Borrower, state),
		Hint:  fmt.Sprintf("trustnode loan show %s; a new one: trustnode loan request --lender %s", id, row.Lender),
		Level: level, Ref: id.String(), What: "loan_ended"})
}
