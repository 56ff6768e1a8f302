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
	Reads uint64 `json:"reads"` // granted answers, without those under parts
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
	if err := checkReasonText(text); err != nil {
		return Revoked{}, err
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
	g := l.hold(k, l.aboveEnding(ctx, k))
	defer l.drop(id, g)
	out, err := l.commitRevocation(ctx, k, v, text)
	if err != nil {
		return Revoked{}, l.notRevoked(ctx, id.String(), err)
	}
	l.finish(ctx, k, g)
	return out, nil
}

// revocation signs the revocation of a loan.
func (l *Lender) revocation(ctx context.Context, k *known, reason string, at time.Time) (envelope.Verified[lending.Revocation], error) {
	row, err := self.Agent(self.ViewGetter(ctx, l.n.DB), k.perm.Body().Lender)
	if err != nil {
		return envelope.Verified[lending.Revocation]{}, err
	}
	return l.sealRevocation(ctx, row, lending.Target{Kind: lending.TargetPermission, ID: k.perm.ID().String()}, reason, at)
}

// sealRevocation signs a revocation as an own agent.
func (l *Lender) sealRevocation(ctx context.Context, by self.AgentRow, t lending.Target, reason string, at time.Time) (envelope.Verified[lending.Revocation], error) {
	var none envelope.Verified[lending.Revocation]
	key, err := l.signer(ctx, by)
	if err != nil {
		return none, err
	}
	e, err := envelope.Seal(ctx, lending.Revocation{
		At: envelope.TimeOf(at), Issuer: by.Agent, Kid: by.KID, Reason: reason, Target: t.ID, TargetKind: t.Kind,
	}, key)
	if err != nil {
		return none, fault.Wrap(fault.Invalid, "reason", err).WithHint("ended, misuse, key_compromise, data_subject, policy, mistake or other")
	}
	return envelope.Open[lending.Revocation](ctx, e, anyTime(by))
}

// checkReasonText refuses a text that cannot go with a revocation.
func checkReasonText(text string) error {
	if len(text) > MaxReasonText || envelope.CheckText(text, true) != nil {
		return fault.New(fault.Invalid, "text", "not a text of at most %d bytes", MaxReasonText).WithHint("shorten --text")
	}
	return nil
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
		err = errors.Join(store.PutRow(tx, key, by), l.writeRevocation(tx, k, v, text, loan.Own()))
	}
	return Revoked{ID: by.ID, Loan: k.perm.ID(), At: by.At.Time(), Reads: loan.Own()}, err
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

// notRevoked is the refusal of a revocation that is not durable: nothing has ended by it,
// and that is said loudly.
func (l *Lender) notRevoked(ctx context.Context, target string, err error) error {
	d := fault.From(err)
	if d.Code.Status() >= 500 {
		l.n.Log.ErrorContext(ctx, "a revocation was NOT written: what it was to end goes on", "target", target, "error", err)
	}
	return refusal(err)
}

func (l *Lender) writeRevocation(tx store.Tx, k *known, v envelope.Verified[lending.Revocation], text string, reads uint64) error {
	return l.putRevocation(tx, v, k.issued.BorrowerOrg, k.perm.ID().String(), endingBody{ReasonText: text, Salt: lending.NewSalt(), Totals: totals{reads}})
}

// putRevocation writes what tells of a revocation: its row, found by key, its event, and the
// object, which the borrower's organization may ask for.
func (l *Lender) putRevocation(tx store.Tx, v envelope.Verified[lending.Revocation], org did.DID, key string, body endingBody) error {
	b := v.Body()
	row, _, err := lending.MarshalRow(lending.RevokeRow{
		At: b.At, By: b.Issuer.String(), Op: lending.OpRevoke, Reason: b.Reason, Revocation: v.ID(), Salt: lending.NewSalt(), Target: b.Target, TargetKind: b.TargetKind,
	})
	if err != nil {
		return err
	}
	_, err = l.n.Rec.Row(tx, audit.Row{Kind: lending.OpRevoke, Body: row, For: []did.DID{org}, Keys: []string{key, v.ID().String()}})
	if err != nil {
		return err
	}
	_, err = l.ending(tx, attestation.Draft{
		Type: "loan.revoked", Subject: b.Target, Refs: []envelope.ID{v.ID()}, Actor: b.Issuer,
		Data: attestation.LoanEnded{Cause: b.Reason, Target: b.Target, TargetKind: b.TargetKind},
	}, body, org)
	return errors.Join(err,
		l.n.Lib.Put(tx, library.Object{ID: v.ID(), What: "revocation", Bytes: v.Envelope().DSSE()}),
		l.n.Lib.Grant(tx, v.ID(), org),
	)
}

// ending drafts loan.revoked or loan.ended with its private body, which org may read.
func (l *Lender) ending(tx store.Tx, d attestation.Draft, body endingBody, org did.DID) (envelope.ID, error) {
	b, err := envelope.Marshal(body)
	if err != nil {
		return envelope.ID{}, err
	}
	d.Body = b
	event, err := l.n.Rec.Event(tx, d)
	if err != nil {
		return envelope.ID{}, err
	}
	return event, l.n.Lib.Grant(tx, envelope.IDOf(b), org)
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
		body := endingBody{Salt: lending.NewSalt(), Totals: totals{loan.Own()}}
		event, err := l.ending(tx, attestation.Draft{
			Type: "loan.ended", Subject: id.String(), Refs: []envelope.ID{k.issued.Event}, Actor: k.perm.Body().Lender,
			Data: attestation.LoanEnded{Cause: cause, Target: id.String(), TargetKind: lending.TargetPermission},
		}, body, k.issued.BorrowerOrg)
		if err != nil {
			return err
		}
		return errors.Join(tx.Set(idKey(keyEnded, id), []byte(event.String())), tx.Delete(idKey(keyOpen, id)))
	})
}
