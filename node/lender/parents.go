package lender

import (
	"context"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/store"
)

// above returns the permissions that one is a part of, nearest first, at most
// lending.MaxParents: under more than these every decision fails, for the one that is
// missing. Which these are is signed and never changes.
func (l *Lender) above(ctx context.Context, k *known) ([]*known, error) {
	var out []*known
	for id := k.perm.Body().Parent; !id.IsZero() && len(out) < lending.MaxParents; {
		up, err := l.permission(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("permission %s, of which %s is a part: %w", id, k.perm.ID(), err)
		}
		out = append(out, up)
		id = up.perm.Body().Parent
	}
	return out, nil
}

// aboveEnding is above for who ends a loan, which nothing may keep from it: what cannot be
// read is left out, and told.
func (l *Lender) aboveEnding(ctx context.Context, k *known) []*known {
	above, err := l.above(ctx, k)
	if err != nil {
		l.n.Log.WarnContext(ctx, "a loan is ended without what it is a part of", "loan", k.perm.ID().String(), "error", err)
	}
	return above
}

// mayHaveParts refuses a part of a permission that has as many above it as a decision reads.
func (l *Lender) mayHaveParts(ctx context.Context, up *known) error {
	above, err := l.above(ctx, up)
	if err != nil {
		return err
	}
	if len(above) >= lending.MaxParents {
		return fault.New(fault.Refused, lending.ReasonParent, "permission %s has %d others above it, and no part of it could be used", up.perm.ID(), len(above)).
			WithHint("ask for a part of one of those above it, or for a loan of its own")
	}
	return nil
}

// loadParents reads, in the decision's own transaction, what it needs of the permissions
// above: each has to be alive, and is counted with the one below (04 section 8).
func (l *Lender) loadParents(g library.Getter, above []*known, at time.Time, st *lending.State) error {
	for _, up := range above {
		loan, known, err := store.GetRow[lending.Loan](g, idKey(keyLoan, up.perm.ID()))
		if err != nil {
			return err
		}
		st.Parents = append(st.Parents, lending.Parent{Perm: up.perm, Loan: loan})
		var of lending.State
		org, err := l.loadBorrower(g, up, at, &of)
		if err != nil {
			return err
		}
		stand := l.standing(org, at)
		st.Known = st.Known && known
		st.BorrowerLive = st.BorrowerLive && of.BorrowerLive
		st.Member = st.Member && stand.member
		st.MayLend = st.MayLend && stand.mayLend()
		if stand.forked != nil && st.Forked == "" {
			st.Forked, st.Forker = forkReason(stand), stand.forker
		}
	}
	return nil
}

// countParents writes the counters of the permissions above a granted answer.
func (l *Lender) countParents(ctx context.Context, tx store.Tx, k *known, loans []lending.Loan) error {
	above, err := l.above(ctx, k)
	if err != nil {
		return err
	}
	if len(above) != len(loans) {
		return fmt.Errorf("%d counters for %d permissions above %s", len(loans), len(above), k.perm.ID())
	}
	for i, up := range above {
		if err := store.PutRow(tx, idKey(keyLoan, up.perm.ID()), loans[i]); err != nil {
			return err
		}
	}
	return nil
}

// parties are those whose end ends a loan: lender, borrower and the borrower's
// organization, of it and of each permission above.
func parties(k *known, above []*known) []did.DID {
	var out []did.DID
	for _, k := range append([]*known{k}, above...) {
		p := k.perm.Body()
		out = append(out, p.Lender, p.Borrower, k.issued.BorrowerOrg)
	}
	return out
}

func idsOf(above []*known) []envelope.ID {
	out := make([]envelope.ID, len(above))
	for i, k := range above {
		out[i] = k.perm.ID()
	}
	return out
}
