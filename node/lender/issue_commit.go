package lender

import (
	"cmp"
	"context"
	"errors"

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

// matchesBody is the private body of loan.issued.
type matchesBody struct {
	Matches uint64       `json:"matches"`
	Salt    lending.Salt `json:"salt"`
}

// commit signs the permission and writes the loan, all of it or nothing.
func (i *issuing) commit(ctx context.Context) (Loan, error) {
	e, err := i.seal(ctx)
	if err != nil {
		return Loan{}, err
	}
	compact, err := e.Compact()
	if err != nil {
		return Loan{}, err
	}
	perm, err := envelope.Open[lending.Permission](ctx, e, anyTime(i.lender))
	if err != nil {
		return Loan{}, err
	}
	body, err := envelope.Marshal(matchesBody{uint64(i.stats.Matches), lending.NewSalt()})
	if err != nil {
		return Loan{}, err
	}
	k := &known{perm: perm, compact: compact, place: i.place}
	if err := i.store(ctx, k, body); err != nil {
		return Loan{}, err
	}
	i.l.remember(k)
	out := k.loan()
	out.Left, out.State, out.Words = i.p.MaxReads, lending.Valid, i.words()
	return out, nil
}

// seal signs the body, unless a person did.
func (i *issuing) seal(ctx context.Context) (envelope.Envelope, error) {
	if i.signed != nil {
		return *i.signed, nil
	}
	key, err := i.l.signer(ctx, i.lender)
	if err != nil {
		return envelope.Envelope{}, err
	}
	return envelope.Seal(ctx, i.p, key)
}

// store is the one transaction. A permission that is replaced ends as by Revoke: durable,
// then its releases under way are drained.
func (i *issuing) store(ctx context.Context, k *known, body []byte) error {
	if err := i.signEnd(ctx); err != nil {
		return err
	}
	update := func(ctx context.Context) error {
		return i.l.n.DB.Update(ctx, func(tx store.Tx) error {
			if err := i.again(tx); err != nil {
				return err
			}
			if _, err := tx.Get(idKey(keyPerm, k.perm.ID())); !errors.Is(err, store.ErrNotFound) { // signed elsewhere, and sent twice
				return cmp.Or[error](err, fault.New(fault.Conflict, "issued", "permission %s is issued already", k.perm.ID()).WithHint("trustnode loan show %s", k.perm.ID()))
			}
			if err := i.answered(tx, k.perm.ID()); err != nil {
				return err
			}
			if err := i.retire(tx); err != nil {
				return err
			}
			return i.write(tx, k, body)
		})
	}
	if i.old == nil {
		return update(ctx)
	}
	old := i.old.k
	g := i.l.hold(old, i.l.aboveEnding(ctx, old))
	defer i.l.drop(old.perm.ID(), g)
	if err := update(store.Urgent(ctx)); err != nil {
		return err
	}
	i.l.finish(ctx, old, g)
	return nil
}

// finish is what follows a revocation that is durable: releases under way are drained, and
// the log is told.
func (l *Lender) finish(ctx context.Context, k *known, g *gate) {
	drain(drainTime, append(l.gatesUnder(k.perm.ID()), g)...)
	if err := l.end(ctx, k, "revoked"); err != nil {
		l.n.Log.WarnContext(ctx, "the end of a loan is not in the log yet", "loan", k.perm.ID().String(), "error", err)
	}
}

// again looks, inside the transaction, whether both agents still are what they were.
func (i *issuing) again(tx store.Tx) error {
	for _, was := range []self.AgentRow{i.lender, i.borrower} {
		now, err := self.Agent(tx, was.Agent)
		if err != nil {
			return err
		}
		if now.Object != was.Object || now.Revoked != was.Revoked || now.Project != was.Project {
			return fault.New(fault.Conflict, "agent", "agent %s changed meanwhile", was.Name).WithHint("try again")
		}
	}
	return revokedBorrower(tx, i.borrower.Agent, i.borrower.Org)
}

func (i *issuing) write(tx store.Tx, k *known, body []byte) error {
	id, org := k.perm.ID(), i.borrower.Org
	event, err := i.l.n.Rec.Event(tx, attestation.Draft{
		Type: "loan.issued", Subject: id.String(), Refs: []envelope.ID{id}, Actor: i.p.Lender, Body: body,
		Data: attestation.LoanIssued{Borrower: i.p.Borrower, ExpiresAt: i.p.ExpiresAt, Hygiene: i.hygiene, Lender: i.p.Lender,
			MaxReads: i.p.MaxReads, Patterns: i.p.Patterns, Permission: id},
	})
	if err != nil {
		return err
	}
	k.issued = issuedRow{BorrowerOrg: org, Event: event, Hygiene: i.hygiene, Matches: uint64(i.stats.Matches), Classes: i.census().Classes}
	if i.asked != nil {
		k.issued.Request = i.asked.id
	}
	if i.old != nil {
		k.issued.Replaces = i.old.k.perm.ID()
	}
	row, _, err := lending.MarshalRow(lending.IssueRow{
		At: envelope.TimeOf(i.at), Borrower: i.p.Borrower, By: i.p.Lender.String(), ExpiresAt: i.p.ExpiresAt, Hygiene: i.hygiene, Matches: uint64(i.stats.Matches),
		MaxReads: i.p.MaxReads, Op: lending.OpIssue, Patterns: i.p.Patterns, Perm: id, Purpose: i.p.Purpose, Salt: lending.NewSalt(), Scope: i.p.Scope,
	})
	if err != nil {
		return err
	}
	_, rowErr := i.l.n.Rec.Row(tx, audit.Row{Kind: lending.OpIssue, Body: row, For: []did.DID{org}, Keys: []string{id.String()}})
	return errors.Join(rowErr,
		tx.Set(idKey(keyPerm, id), []byte(k.compact)),
		store.PutRow(tx, idKey(keyLoan, id), lending.Loan{Place: i.place.String()}),
		store.PutRow(tx, idKey(keyIssued, id), k.issued),
		tx.Set(idKey(keyOpen, id), nil),
		i.l.n.Lib.Put(tx, library.Object{ID: id, What: "permission", Bytes: k.perm.Envelope().DSSE()}),
		i.l.n.Lib.Grant(tx, id, org),
		i.l.n.Lib.Grant(tx, envelope.IDOf(body), org),
	)
}
