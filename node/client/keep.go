package client

import (
	"context"
	"errors"
	"fmt"

	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// SilenceHint is what to do when a lender did not confirm a loan.
const SilenceHint = "the lender did not confirm this loan; access has ended for now. Ask the lender, or agree availability in the pact"

// keep stores request and receipt durably before the content is handed out.
func (r *reading) keep(ctx context.Context) error {
	at, err := r.c.n.Clock.Now()
	if err != nil {
		return err
	}
	b := r.receipt.Body()
	row, _, err := lending.MarshalRow(lending.ReceivedRow{
		At: envelope.TimeOf(at), Hash: b.Hash, Op: lending.OpReceived, Perm: b.Perm, Receipt: r.receipt.ID(), Request: b.Request, Salt: lending.NewSalt(), Seq: b.Seq,
	})
	if err != nil {
		return err
	}
	issued := r.c.issued(ctx, b.Perm, r.lender.Org)
	var as self.AgentRow
	err = r.c.n.DB.Update(ctx, func(tx store.Tx) error {
		known, err := r.known(tx)
		if err != nil {
			return err
		}
		if as, err = self.Agent(tx, r.as.Agent); err != nil {
			return err
		}
		if known.First.IsZero() {
			known.First = envelope.TimeOf(at)
		}
		if b.Seq > known.Reads {
			known.Reads, known.Left = b.Seq, b.Left
		}
		pair := pairRow{At: b.At, Hash: b.Hash, Receipt: r.receipt.ID(), Request: b.Request}
		return errors.Join(
			r.putObjects(tx, r.receipt),
			store.PutRow(tx, pairKey(b.Perm, b.Seq), pair),
			r.row(tx, lending.OpReceived, row),
			r.c.say(tx, b.Perm, known, issued),
		)
	})
	if err == nil && as.Revoked {
		return mayBorrow(as, at) // what it read is on record, and handed to nobody
	}
	return err
}

// known reads the loan's row, or makes its first one.
func (r *reading) known(tx store.Tx) (loanRow, error) {
	row, ok, err := store.GetRow[loanRow](tx, idKey(keyLoan, r.perm.ID()))
	if !ok {
		p := r.perm.Body()
		row = loanRow{Borrower: p.Borrower, Left: p.MaxReads, Lender: p.Lender, LenderOrg: r.lender.Org, State: lending.Valid}
	}
	return row, err
}

// putObjects keeps the signed objects of this read.
func (r *reading) putObjects(tx store.Tx, proof ...envelope.Verified[lending.Receipt]) error {
	lib := r.c.n.Lib
	err := errors.Join(
		lib.Put(tx, library.Object{ID: r.perm.ID(), What: "permission", Bytes: r.perm.Envelope().DSSE()}),
		lib.Put(tx, library.Object{ID: r.rq.ID(), What: "readrequest", Bytes: r.rq.Envelope().DSSE()}),
	)
	for _, v := range proof {
		err = errors.Join(err, lib.Put(tx, library.Object{ID: v.ID(), What: "receipt", Bytes: v.Envelope().DSSE()}))
	}
	return err
}

func (r *reading) row(tx store.Tx, op string, body []byte) error {
	_, err := r.c.n.Rec.Row(tx, audit.Row{Kind: op, Body: body, Keys: []string{r.perm.ID().String(), r.rq.ID().String()}})
	return err
}

// keepEnd stores what proves the end and returns the refusal.
func (r *reading) keepEnd(ctx context.Context, e endError) error {
	at, err := r.c.n.Clock.Now()
	if err != nil {
		return err
	}
	b := e.receipt.Body()
	row, _, err := lending.MarshalRow(lending.EndedRow{
		At: envelope.TimeOf(at), Op: lending.OpEnded, Perm: b.Perm, Receipt: e.receipt.ID(), Request: b.Request, Salt: lending.NewSalt(), State: b.State,
	})
	if err != nil {
		return err
	}
	issued := r.c.issued(ctx, b.Perm, r.lender.Org)
	first := false
	err = r.c.n.DB.Update(ctx, func(tx store.Tx) error {
		known, err := r.known(tx)
		if err != nil {
			return err
		}
		if first = final(b.State) && known.EndedBy.IsZero(); first {
			known.EndedBy, known.EndedAt, known.State = e.receipt.ID(), envelope.TimeOf(at), b.State
			known.Reads, known.Left = b.Seq, b.Left
		}
		if first && known.Heard != b.State { // else the operator knows already
			err = putEnded(tx, b.Perm, known, b.State, at)
		}
		return errors.Join(err, r.putObjects(tx, e.receipt), r.row(tx, lending.OpEnded, row), r.c.say(tx, b.Perm, known, issued))
	})
	if err != nil {
		return err
	}
	if first {
		r.c.cfg.OnEnded(Ended{Perm: b.Perm, State: b.State, At: at, Receipt: e.receipt.ID()})
	}
	return refused(e.receipt, e.reason)
}

// keepAsked stores a request that was refused for itself: the lender has a row of it, which
// Compare holds to what was asked from here.
func (r *reading) keepAsked(ctx context.Context) error {
	return r.c.n.DB.Update(context.WithoutCancel(ctx), func(tx store.Tx) error { return r.putObjects(tx) })
}

// keepSilence leaves a row that the lender did not confirm the loan.
func (r *reading) keepSilence(ctx context.Context, cause error) error {
	at, err := r.c.n.Clock.Now()
	if err != nil {
		return err
	}
	row, _, err := lending.MarshalRow(lending.EndedRow{
		At: envelope.TimeOf(at), Op: lending.OpEnded, Perm: r.perm.ID(), Request: r.rq.ID(), Salt: lending.NewSalt(), State: lending.Revoked,
	})
	if err != nil {
		return err
	}
	// The caller may have left by now; the row is written all the same.
	err = r.c.n.DB.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
		known, err := r.known(tx)
		if err != nil {
			return err
		}
		return errors.Join(r.putObjects(tx), store.PutRow(tx, idKey(keyLoan, r.perm.ID()), known), r.row(tx, lending.OpEnded, row))
	})
	if err != nil {
		return err
	}
	d := fault.New(fault.Revoked, "unconfirmed", "the lender did not confirm this loan: %s", inWords(cause, r.lender.Org)).WithHint(SilenceHint)
	d.Perm = r.perm.ID()
	return d
}

// inWords says what went wrong on the way without the words of a socket, which the log has.
func inWords(cause error, lender did.DID) string {
	switch {
	case errors.Is(cause, federation.ErrUnreachable):
		return fmt.Sprintf("no node of %s can be reached", lender)
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(cause, context.Canceled):
		return fmt.Sprintf("%s did not answer in time", lender)
	}
	return cause.Error()
}

// final says whether a state never becomes another one.
func final(s lending.PermState) bool {
	return s == lending.Revoked || s == lending.Expired || s == lending.Exhausted
}

// refused is the refusal that a verified receipt proves.
func refused(v envelope.Verified[lending.Receipt], reason string) error {
	const renew = "ask the lender for a new permission"
	codes := map[lending.PermState]struct {
		code         fault.Code
		reason, hint string
	}{
		lending.Revoked:         {fault.Revoked, reason, renew},
		lending.Expired:         {fault.Expired, "", renew},
		lending.Exhausted:       {fault.Exhausted, "", renew},
		lending.BudgetExhausted: {fault.BudgetExhausted, "", renew},
		lending.NotYet:          {fault.Refused, lending.ReasonNotYet, "wait until it begins"},
		lending.Lapsed:          {fault.Refused, lending.ReasonLapsed, "renew the pact first"},
		lending.Stale:           {fault.Stale, reason, "the lender's node may not lend now; try again later"},
	}
	b := v.Body()
	c := codes[b.State]
	d := fault.New(c.code, c.reason, "the lender signed at %s that the permission is %s", b.At, b.State).WithHint(c.hint)
	d.Verified, d.Perm = true, b.Perm
	compact, err := v.Envelope().Compact()
	if err != nil {
		return err
	}
	d.Receipt = compact
	return d
}
