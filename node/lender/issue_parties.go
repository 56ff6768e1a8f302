package lender

import (
	"context"
	"errors"

	"trustnode/did"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// parties finds both agents, live and capable.
func (i *issuing) parties(ctx context.Context, in IssueInput) error {
	get := self.ViewGetter(ctx, i.l.n.DB)
	var err error
	if i.lender, err = i.l.agent(get, in.Lender); err != nil {
		return err
	}
	if err := i.lender.May("lend", i.at); err != nil {
		return fault.Wrap(fault.Refused, lending.ReasonLender, err).WithHint("add an agent with --can lend")
	}
	if i.place, err = place(i.lender); err != nil {
		return err
	}
	if i.lender.Kind == human { // else no read of it could be answered
		if _, err := i.l.receiptsKey(ctx, i.lender); err != nil {
			return err
		}
	}
	if i.borrower, err = i.l.borrower(ctx, in.Borrower); err != nil {
		return err
	}
	if err := i.borrower.May("borrow", i.at); err != nil {
		if forked := i.l.issuedAbove(ctx, i.borrower.Agent); forked != nil {
			return forked
		}
		return fault.Wrap(fault.Refused, lending.ReasonBorrower, err).WithHint("the borrower's organization has to issue an agent object with capability borrow")
	}
	i.stand = i.l.standing(i.borrower.Org, i.at)
	return nil
}

// newLoan refuses a new loan to an agent of an organization, for what the federation says
// of that or of this node.
func (s standing) newLoan(org did.DID) error {
	switch {
	case s.forked != nil:
		return s.forked
	case s.ended != nil:
		return s.ended
	case !s.mayIssue():
		return fault.New(fault.Refused, s.word, "in state %s this node issues no such loan", s.word).
			WithHint("trustnode fed status shows what is missing; trustnode status --wait fresh waits for it")
	case !s.member:
		return fault.New(fault.Refused, lending.ReasonNotMember, "the borrower's organization %s is no active member", org).
			WithHint("join a federation with it first")
	}
	return nil
}

// issuedAbove refuses an agent whose agent.issued is contested; nil for any other.
func (l *Lender) issuedAbove(ctx context.Context, d did.DID) error {
	org, contested, err := l.n.Rec.ContestedBy(ctx, "agent.issued", d)
	if err != nil || !contested {
		return nil // refused all the same, in other words
	}
	return fault.New(fault.Forked, "log", "agent %s was issued by %s above where its log forked", d, org).
		WithHint("it counts once a charter names the branch that it is on: trustnode event list --org %s --any", org)
}

// borrower finds the borrowing agent. One that is not known here is asked of all members
// once.
func (l *Lender) borrower(ctx context.Context, text string) (self.AgentRow, error) {
	get := self.ViewGetter(ctx, l.n.DB)
	d, err := did.Parse(text)
	if err != nil {
		return l.agent(get, text)
	}
	row, err := self.Agent(get, d)
	if !errors.Is(err, self.ErrNoAgent) {
		return row, err
	}
	if l.n.Peers.Sync(ctx) == nil {
		if row, err = self.AwaitAgent(ctx, l.n.DB, d, arriveTime); !errors.Is(err, self.ErrNoAgent) {
			return row, err
		}
	}
	if forked := l.issuedAbove(ctx, d); forked != nil {
		return row, forked
	}
	return row, fault.New(fault.NotFound, "agent", "no member has shown an agent %.100q", text).
		WithHint("check the DID; the borrower's node has to run, trustnode status shows which are linked")
}
