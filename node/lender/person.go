package lender

import (
	"context"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
)

// human is the kind of an agent object of a person, whose key the node never has (01).
const human = "human"

// signedLife is how old a permission may be that a person signed elsewhere, and how far
// ahead: long enough to type a passphrase.
const signedLife = 10 * time.Minute

// errPerson refuses to sign as a person: only the person's own key does.
func errPerson(row self.AgentRow) error {
	return fault.New(fault.Refused, "person", "%s is a person, whose own key signs", row.Name).
		WithHint("on the machine that has the key: the same command by trustnode, which asks for the person's passphrase")
}

// receiptsKey is the key that signs receipts for what a person lent: of an own agent with
// capability receipts. Whether it may still do so shows in the transaction.
func (l *Lender) receiptsKey(ctx context.Context, person self.AgentRow) (signer, error) {
	all, err := l.n.Agents(ctx)
	if err != nil {
		return signer{}, err
	}
	at, _ := l.clock()
	for _, a := range all {
		if a.Org != l.n.Org || a.Kind == human || a.May("receipts", at) != nil {
			continue
		}
		s, err := l.signer(ctx, a)
		if fault.Of(err) == fault.Unavailable { // its key is held elsewhere
			continue
		}
		if err == nil {
			l.keepSigner(person.Agent, s)
		}
		return s, err
	}
	return signer{}, fault.New(fault.Unavailable, "no_receipts", "no agent of this node signs receipts for what %s lends", person.Name).
		WithHint("the lender's operator adds one: trustnode agent add NAME --can receipts")
}

// statusKey is the key that signs a receipt of op status.
func (l *Lender) statusKey(ctx context.Context, lender self.AgentRow) (signer, error) {
	if lender.Kind == human {
		return l.receiptsKey(ctx, lender)
	}
	return l.signer(ctx, lender)
}

// signs says whether a key may sign the receipt of this decision: it is the lender's, or of
// a person's loan that of an agent with capability receipts, which is named in st then.
func (l *Lender) signs(g library.Getter, st *lending.State, lender self.AgentRow, key signer, at time.Time) (bool, error) {
	row := lender
	if lender.Kind == human {
		var live bool
		var err error
		if row, live, err = l.mayReceipt(g, key, at); err != nil || !live {
			return false, err
		}
		st.Signer, st.Kid = row.Agent, row.KID
	}
	return row.Pub == key.Public() && row.KID == key.kid, nil
}

func (l *Lender) mayReceipt(g library.Getter, key signer, at time.Time) (self.AgentRow, bool, error) {
	row, err := self.Agent(g, key.who)
	return row, err == nil && row.Org == l.n.Org && row.May("receipts", at) == nil, err
}

// fillSigned takes a permission that a person signed elsewhere; who it is for stands in it.
func (i *issuing) fillSigned(in *IssueInput) error {
	e, err := envelope.ParseCompact(in.Signed, lending.PermissionType, lending.MaxPermission)
	if err != nil {
		return err
	}
	if i.p, err = envelope.Decode[lending.Permission](e); err != nil {
		return err
	}
	if in.Replaces != "" || in.Preview {
		return fault.New(fault.Invalid, "signed", "a signed permission neither replaces another one nor is previewed").WithHint("issue it, then end the other: trustnode loan revoke PERMISSION")
	}
	i.signed = &e
	in.Lender, in.Borrower = i.p.Lender.String(), i.p.Borrower.String()
	in.Scope, in.Purpose, in.Expires, in.MaxReads, in.Patterns = i.p.Scope.String(), i.p.Purpose, i.p.ExpiresAt.String(), i.p.MaxReads, i.p.Patterns
	return nil
}

// checkSigned holds it to what this node would have drafted: judge sees to the rest.
func (i *issuing) checkSigned() error {
	not := func(what, detail string, args ...any) error {
		return fault.New(fault.Invalid, what, detail, args...).WithHint("preview it again, and sign what that gives")
	}
	p := i.p
	var parent envelope.ID
	if i.parent != nil {
		parent = i.parent.perm.ID()
	}
	switch {
	case i.at.Sub(p.IssuedAt.Time()).Abs() > signedLife:
		return not("issued_at", "it is dated %s, now is %s", p.IssuedAt, envelope.TimeOf(i.at))
	case p.Revocation != i.revocation():
		return not("revocation", "it is to be checked at %.200q", p.Revocation)
	case p.Kid != i.lender.KID:
		return not("kid", "it is not signed by the key of agent %s", i.lender.Name)
	case !i.stand.cross && p.GoverningCharter != nil:
		return not("governing_charter", "inside one organization no charter governs it")
	case p.Parent != parent:
		return not("parent", "it is no part of the permission that was asked for")
	case !p.Pact.IsZero() || !p.Terms.IsZero():
		return not("pact", "pact and prices are not known here")
	}
	return nil
}
