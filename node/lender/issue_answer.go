package lender

import (
	"context"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

// asking is the request that a permission answers.
type asking struct {
	id   envelope.ID
	body lending.LoanRequest
}

// fillAsked takes over what the borrower asked for. What the operator says instead has to
// be narrower, which judge sees.
func (i *issuing) fillAsked(ctx context.Context, in *IssueInput) error {
	id, err := requestID(in.Request)
	if err != nil {
		return err
	}
	row, body, err := i.l.asked(ctx, id)
	if err != nil {
		return err
	}
	if err := row.open(i.at); err != nil {
		return err
	}
	i.asked = &asking{id, body}
	borrower := body.Borrower
	if !body.Parent.IsZero() {
		borrower = body.For
		if i.parent, err = i.l.permission(ctx, body.Parent); err != nil {
			return err
		}
	}
	if err := same("lender", &in.Lender, body.Aud.String(), i.named(ctx, in.Lender)); err != nil {
		return err
	}
	if err := same("borrower", &in.Borrower, borrower.String(), i.named(ctx, in.Borrower)); err != nil {
		return err
	}
	setDefault(&in.Purpose, body.Purpose)
	setDefault(&in.Expires, body.ExpiresAt.String())
	if in.MaxReads == 0 {
		in.MaxReads = body.MaxReads
	}
	if len(in.Patterns) == 0 {
		in.Patterns = body.Patterns
	}
	return i.askedScope(in)
}

// askedScope is the scope asked for; of a sub-loan met with its parent's, written out.
func (i *issuing) askedScope(in *IssueInput) error {
	scope := i.asked.body.Scope
	if in.Scope != "" {
		var err error
		if scope, err = lending.Parse(in.Scope); err != nil {
			return fault.Wrap(fault.Invalid, "scope", err).WithHint("say what is included, e.g. tag:client:acme -tag:confidential age<90d")
		}
	}
	if i.parent == nil {
		if scope.IsZero() {
			return fault.New(fault.Invalid, "scope", "the request leaves the scope to the lender").WithHint("give --scope")
		}
		in.Scope = scope.String()
		return nil
	}
	up := i.parent.perm.Body().Scope
	if scope.IsZero() {
		in.Scope = up.String()
		return nil
	}
	both, err := up.And(scope)
	if err != nil {
		return fault.New(fault.Refused, lending.ReasonOutsideScope, "scope %s has nothing in common with that of permission %s", scope, i.parent.perm.ID()).
			WithHint("decline it: trustnode loan decline %s --reason TEXT", i.asked.id)
	}
	in.Scope = both.String()
	return nil
}

// named is the DID of an own agent that an operator named, or what was typed.
func (i *issuing) named(ctx context.Context, name string) string {
	if row, err := i.l.n.OwnAgent(self.ViewGetter(ctx, i.l.n.DB), name); err == nil {
		return row.Agent.String()
	}
	return name
}

// same sets a party that is given already, and refuses another one.
func same(what string, to *string, given, typed string) error {
	if typed != "" && typed != given {
		return fault.New(fault.Invalid, what, "the %s is %s already", what, given).WithHint("leave --%s out", what)
	}
	*to = given
	return nil
}

func setDefault(s *string, to string) {
	if *s == "" {
		*s = to
	}
}

// narrow holds the permission to the request that it answers, and to its parent.
func (i *issuing) narrow(ctx context.Context) error {
	if i.asked != nil {
		if err := lending.CheckAnswers(i.p, i.asked.body); err != nil {
			return err
		}
	}
	if i.parent == nil {
		return nil
	}
	if i.place != i.parent.place {
		return fault.New(fault.Refused, lending.ReasonParent, "agent %s works in another project than when permission %s was issued", i.lender.Name, i.parent.perm.ID()).
			WithHint("a part of a loan is of the same project: decline the request")
	}
	if err := i.l.mayHaveParts(ctx, i.parent); err != nil {
		return err
	}
	return lending.CheckChild(i.p, i.parent.perm.Body(), i.parent.perm.ID())
}

// answered notes, in the transaction of the permission, that it answers the request, which
// still waits; the parent has to be alive in that moment.
func (i *issuing) answered(tx store.Tx, perm envelope.ID) error {
	if i.parent != nil {
		if err := i.l.alive(tx, i.parent, i.at); err != nil {
			return err
		}
	}
	if i.asked == nil {
		return nil
	}
	return i.l.decideAsked(tx, i.asked.id, i.at, func(r *askRow) { r.State, r.Perm = lending.AskIssued, perm })
}

// alive refuses a permission that may not be used now, or never again.
func (l *Lender) alive(tx store.Tx, k *known, at time.Time) error {
	st, _, err := l.load(tx, k, moment{at: at, trusted: true})
	if err != nil {
		return err
	}
	if s := st.PermState(k.perm.Body(), at); s != lending.Valid && s != lending.NotYet {
		return fault.New(fault.Conflict, string(s), "permission %s is %s", k.perm.ID(), s).WithHint("trustnode loan show %s says how it stands", k.perm.ID())
	}
	return nil
}
