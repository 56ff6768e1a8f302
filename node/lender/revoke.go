package lender

import (
	"context"
	"errors"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// endingBody is the private body of loan.revoked and loan.ended.
type endingBody struct {
	ReasonText string       `json:"reason_text,omitempty"`
	Salt       lending.Salt `json:"salt"`
	Totals     totals       `json:"totals"`
}

type totals struct {
	Reads uint64 `json:"reads"` // granted answers
}

// Revoke ends a loan at once and for good: after it returned no byte of the loan leaves.
// A second revocation changes nothing and returns the first. While the clock is not
// trusted it is dated with the last time that was. The loan's own agent signs it.
//
// The order: durable, flag, drain releases under way (aborting what is slow), return.
func (l *Lender) Revoke(ctx context.Context, idOrCompact, reason, text string) (Revoked, error) {
	id, err := resolve(idOrCompact)
	if err != nil {
		return Revoked{}, err
	}
	if len(text) > MaxReasonText || envelope.CheckText(text, true) != nil {
		return Revoked{}, fault.New(fault.Invalid, "text", "not a text of at most %d bytes", MaxReasonText).WithHint("shorten --text")
	}
	k, err := l.issued(ctx, id)
	if err != nil {
		return Revoked{}, err
	}
	at, _ := l.clock()
	v, err := l.revocation(ctx, k, reason, at)
	if err != nil {
		return Revoked{}, refusal(err)
	}
	ctx = store.Urgent(ctx) // however many reads wait, none of them is decided before it
	g := l.hold(k)
	defer l.drop(id, g)
	out, err := l.commitRevocation(ctx, k, v, text)
	if err != nil {
		return Revoked{}, refusal(err)
	}
	g.close(drainTime)
	if err := l.end(ctx, k, "revoked"); err != nil {
		l.n.Log.WarnContext(ctx, "the end of a loan is not in the log yet", "loan", id.String(), "error", err)
	}
	return out, nil
}

// revocation signs the revocation.
func (l *Lender) revocation(ctx context.Context, k *known, reason string, at time.Time) (envelope.Verified[lending.Revocation], error) {
	var none envelope.Verified[lending.Revocation]
	row, err := self.Agent(self.ViewGetter(ctx, l.n.DB), k.perm.Body().Lender)
	if err != nil {
		return none, err
	}
	key, err := l.signer(ctx, row)
	if err != nil {
		return none, err
	}
	e, err := envelope.Seal(ctx, lending.Revocation{
		At: envelope.TimeOf(at), Issuer: row.Agent, Kid: row.KID, Reason: reason, Target: k.perm.ID().String(), TargetKind: lending.TargetPermission,
	}, key)
	if err != nil {
		return none, fault.Wrap(fault.Invalid, "reason", err).WithHint("ended, misuse, key_compromise, data_subject, policy, mistake or other")
	}
	return envelope.Open[lending.Revocation](ctx, e, anyTime(row))
}

// commitRevocation writes it, unless there is one already.
func (l *Lender) commitRevocation(ctx context.Context, k *known, v envelope.Verified[lending.Revocation], text string) (out Revoked, err error) {
	err = l.n.DB.Update(ctx, func(tx store.Tx) (err error) {
		out, err = l.revokeIn(tx, k, v, text)
		return err
	})
	return out, err
}

// revokeIn is commitRevocation in a transaction.
func (l *Lender) revokeIn(tx store.Tx, k *known, v envelope.Verified[lending.Revocation], text string) (Revoked, error) {
	loan, _, err := store.GetRow[lending.Loan](tx, idKey(keyLoan, k.perm.ID()))
	if err != nil {
		return Revoked{}, err
	}
	key := revKey(lending.Target{Kind: v.Body().TargetKind, ID: v.Body().Target})
	by, ok, err := store.GetRow[lending.RevokedBy](tx, key)
	if err != nil {
		return Revoked{}, err
	}
	if !ok {
		if err := l.mayRevoke(tx, k); err != nil {
			return Revoked{}, err
		}
		by = lending.RevokedBy{ID: v.ID(), At: v.Body().At, Reason: v.Body().Reason}
		err = errors.Join(store.PutRow(tx, key, by), l.writeRevocation(tx, k, v, text, loan.Reads))
	}
	return Revoked{ID: by.ID, Loan: k.perm.ID(), At: by.At.Time(), Reads: loan.Reads}, err
}

// mayRevoke refuses a revocation by an agent that is revoked itself: its loans ended with
// it, and its signature would count for nothing.
func (l *Lender) mayRevoke(tx store.Tx, k *known) error {
	row, err := self.Agent(tx, k.perm.Body().Lender)
	if err == nil && row.Revoked {
		return fault.New(fault.Conflict, lending.ReasonLender, "agent %s is revoked, and its loans have ended with it", row.Name).
			WithHint("nothing is left to do; trustnode loan show %s says how it stands", k.perm.ID())
	}
	return err
}

func (l *Lender) writeRevocation(tx store.Tx, k *known, v envelope.Verified[lending.Revocation], text string, reads uint64) error {
	b, id, org := v.Body(), k.perm.ID(), k.issued.BorrowerOrg
	row, _, err := lending.MarshalRow(lending.RevokeRow{
		At: b.At, By: b.Issuer.String(), Op: lending.OpRevoke, Reason: b.Reason, Revocation: v.ID(), Salt: lending.NewSalt(), Target: b.Target, TargetKind: b.TargetKind,
	})
	if err != nil {
		return err
	}
	_, err = l.n.Rec.Row(tx, audit.Row{Kind: lending.OpRevoke, Body: row, For: []did.DID{org}, Keys: []string{id.String(), v.ID().String()}})
	if err != nil {
		return err
	}
	err = l.ending(tx, k, "loan.revoked", v.ID(), b.Reason, endingBody{ReasonText: text, Salt: lending.NewSalt(), Totals: totals{reads}})
	return errors.Join(err,
		l.n.Lib.Put(tx, library.Object{ID: v.ID(), What: "revocation", Bytes: v.Envelope().DSSE()}),
		l.n.Lib.Grant(tx, v.ID(), org),
	)
}

// ending drafts loan.revoked or loan.ended with its private body.
func (l *Lender) ending(tx store.Tx, k *known, t attestation.Type, ref envelope.ID, cause string, body endingBody) error {
	b, err := envelope.Marshal(body)
	if err != nil {
		return err
	}
	id := k.perm.ID().String()
	event, err := l.n.Rec.Event(tx, attestation.Draft{
		Type: t, Subject: id, Refs: []envelope.ID{ref}, Actor: k.perm.Body().Lender, Body: b,
		Data: attestation.LoanEnded{Cause: cause, Target: id, TargetKind: lending.TargetPermission},
	})
	if err != nil {
		return err
	}
	if err := l.n.Lib.Grant(tx, envelope.IDOf(b), k.issued.BorrowerOrg); err != nil || t != "loan.ended" {
		return err
	}
	return tx.Set(idKey(keyEnded, k.perm.ID()), []byte(event.String()))
}

// end drafts the one loan.ended of a loan, whatever ended it; where there is one already
// it does nothing.
func (l *Lender) end(ctx context.Context, k *known, cause string) error {
	id := k.perm.ID()
	return l.n.DB.Update(ctx, func(tx store.Tx) error {
		_, err := tx.Get(idKey(keyEnded, id))
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		loan, _, err := store.GetRow[lending.Loan](tx, idKey(keyLoan, id))
		if err != nil {
			return err
		}
		body := endingBody{Salt: lending.NewSalt(), Totals: totals{loan.Reads}}
		if err := l.ending(tx, k, "loan.ended", k.issued.Event, cause, body); err != nil {
			return err
		}
		return tx.Delete(idKey(keyOpen, id))
	})
}
