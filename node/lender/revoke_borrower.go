package lender

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// RevokedBorrower says what the revocation of a borrower did.
type RevokedBorrower struct {
	Revoked
	Target did.DID // an agent, or an organization with all its agents
	Reason string  // of the first one, which stays
	Before bool    // it was revoked before, and nothing changed
	Loans  int     // that were open and have ended by it
}

// RevokeBorrower ends every loan to an agent, or to all agents of an organization, at once
// and for good, those included that would be issued later. It is Revoke otherwise: nothing
// leaves after it returned, a second one changes nothing and returns the first. Each own
// agent with an open loan to the borrower signs one, if its key is here; where none does, one
// that may lend signs, for a revocation holds also before its target is known, and over the
// loans of persons, whose keys no node has (04 section 7).
func (l *Lender) RevokeBorrower(ctx context.Context, borrower, reason, text string) (RevokedBorrower, error) {
	target, err := l.revocable(ctx, borrower)
	if err != nil {
		return RevokedBorrower{}, err
	}
	if err := checkReasonText(text); err != nil {
		return RevokedBorrower{}, err
	}
	loans, err := l.openTo(ctx, target)
	if err != nil {
		return RevokedBorrower{}, refusal(err)
	}
	r := revokingBorrower{l: l, target: target, text: text, loans: loans}
	if err := r.sign(ctx, reason); err != nil {
		return RevokedBorrower{}, refusal(err)
	}
	out, err := r.commit(store.Urgent(ctx))
	if err != nil {
		return RevokedBorrower{}, l.notRevoked(ctx, target.String(), err)
	}
	drain(drainTime, l.gatesOf(target)...)
	out.Loans = l.endAll(ctx, func(k *known) bool { return k.lentTo(target) })
	return out, nil
}

// revocable reads whom a person means: a DID, or an own agent by name.
func (l *Lender) revocable(ctx context.Context, text string) (did.DID, error) {
	d, err := did.Parse(text)
	if err == nil {
		return d, nil
	}
	row, err := l.n.OwnAgent(self.ViewGetter(ctx, l.n.DB), text)
	if errors.Is(err, self.ErrNoAgent) {
		return did.DID{}, fault.New(fault.Invalid, "borrower", "%.80q is neither a DID nor an own agent", text).
			WithHint("give the DID of an agent or of an organization; trustnode loan list shows the borrowers")
	}
	return row.Agent, err
}

// lentTo says whether a loan's borrower is d, or works for it.
func (k *known) lentTo(d did.DID) bool {
	return k.perm.Body().Borrower == d || k.issued.BorrowerOrg == d
}

// openTo lists the open loans to a borrower.
func (l *Lender) openTo(ctx context.Context, d did.DID) ([]*known, error) {
	ids, err := l.scanIDs(ctx, keyOpen, MaxLoans)
	if err != nil {
		return nil, err
	}
	var out []*known
	for _, id := range ids {
		k, err := l.permission(ctx, id)
		if err != nil {
			return nil, err
		}
		if k.lentTo(d) {
			out = append(out, k)
		}
	}
	return out, nil
}

// revokingBorrower is one RevokeBorrower.
type revokingBorrower struct {
	l      *Lender
	target did.DID
	text   string
	loans  []*known
	signed []envelope.Verified[lending.Revocation]
	by     []self.AgentRow // who signed each
}

// sign makes the revocations. An agent whose key is not here leaves its loans to the others:
// the decision looks for any.
func (r *revokingBorrower) sign(ctx context.Context, reason string) error {
	with, others, err := r.signers(ctx)
	if err != nil {
		return err
	}
	at, _ := r.l.clock()
	var missing error
	sign := func(row self.AgentRow) error {
		v, err := r.l.sealRevocation(ctx, row, lending.Target{Kind: lending.TargetBorrower, ID: r.target.String()}, reason, at)
		if d := fault.From(err); d != nil && d.Reason == "no_key" {
			missing = err
			return nil
		}
		if err == nil {
			r.signed, r.by = append(r.signed, v), append(r.by, row)
		}
		return err
	}
	for _, row := range with {
		if err := sign(row); err != nil {
			return err
		}
	}
	for _, row := range others {
		if len(r.signed) > 0 {
			return nil
		}
		if err := sign(row); err != nil {
			return err
		}
	}
	if len(r.signed) > 0 {
		return nil
	}
	return cmp.Or(missing, error(fault.New(fault.Refused, lending.ReasonLender, "no agent of this organization may lend and has its key here, so none can sign").
		WithHint("trustnode agent add NAME --can lend")))
}

// signers are the agents with open loans to the borrower, and the others that may lend. No
// person is among them: their keys are elsewhere.
func (r *revokingBorrower) signers(ctx context.Context) (with, others []self.AgentRow, err error) {
	all, err := r.l.n.Agents(ctx)
	if err != nil {
		return nil, nil, err
	}
	lends := map[did.DID]bool{}
	for _, k := range r.loans {
		lends[k.perm.Body().Lender] = true
	}
	at, _ := r.l.clock()
	for _, a := range all {
		switch {
		case a.Org != r.l.n.Org || a.Revoked || a.Kind == human:
		case lends[a.Agent]:
			with = append(with, a)
		case a.May("lend", at) == nil:
			others = append(others, a)
		}
	}
	return with, others, nil
}

// commit writes the revocations, unless the borrower was revoked before.
func (r *revokingBorrower) commit(ctx context.Context) (RevokedBorrower, error) {
	out := RevokedBorrower{Target: r.target}
	err := r.l.n.DB.Update(ctx, func(tx store.Tx) error {
		key := revKey(lending.Target{Kind: lending.TargetBorrower, ID: r.target.String()})
		by, ok, err := store.GetRow[lending.RevokedBy](tx, key)
		if err != nil {
			return err
		}
		reads, err := r.reads(tx)
		if err != nil {
			return err
		}
		if !ok {
			if by, err = r.write(tx, key, reads); err != nil {
				return err
			}
		}
		out.ID, out.At, out.Reads, out.Reason, out.Before = by.ID, by.At.Time(), 0, by.Reason, ok
		for n := range maps.Values(reads) {
			out.Reads += n
		}
		return nil
	})
	return out, err
}

// reads counts the answers given under the open loans, by lending agent.
func (r *revokingBorrower) reads(tx store.Tx) (map[did.DID]uint64, error) {
	out := map[did.DID]uint64{}
	for _, k := range r.loans {
		loan, _, err := store.GetRow[lending.Loan](tx, idKey(keyLoan, k.perm.ID()))
		if err != nil {
			return nil, err
		}
		out[k.perm.Body().Lender] += loan.Own()
	}
	return out, nil
}

// write writes each revocation under its signer, and the first as what decisions look up.
func (r *revokingBorrower) write(tx store.Tx, key []byte, reads map[did.DID]uint64) (lending.RevokedBy, error) {
	var first lending.RevokedBy
	org := r.org(tx)
	for i, v := range r.signed {
		now, err := self.Agent(tx, r.by[i].Agent)
		if err != nil {
			return first, err
		}
		if now.Object != r.by[i].Object || now.Revoked {
			return first, fault.New(fault.Conflict, "agent", "agent %s changed meanwhile", now.Name).WithHint("try again")
		}
		b := v.Body()
		by := lending.RevokedBy{ID: v.ID(), At: b.At, Reason: b.Reason}
		if i == 0 {
			first = by
		}
		err = errors.Join(
			store.PutRow(tx, revByKey(key, b.Issuer), by),
			r.l.putRevocation(tx, v, org, b.Target, endingBody{ReasonText: r.text, Salt: lending.NewSalt(), Totals: totals{reads[b.Issuer]}}),
		)
		if err != nil {
			return first, err
		}
	}
	return first, store.PutRow(tx, key, first)
}

// org is the organization of the borrower as far as it is known: the target itself, or that
// of the agent.
func (r *revokingBorrower) org(g library.Getter) did.DID {
	if row, err := self.Agent(g, r.target); err == nil {
		return row.Org
	}
	return r.target
}

// revByKey is where the revocation of a borrower lies that one lending agent signed: the
// only one that its own permissions are ended by in the eyes of others.
func revByKey(key []byte, lender did.DID) []byte {
	return append(slices.Clone(key), "/"+lender.String()...)
}

// revokedBorrower refuses a loan that would be born dead.
func revokedBorrower(tx store.Tx, agent, org did.DID) error {
	for _, d := range []did.DID{agent, org} {
		by, ok, err := store.GetRow[lending.RevokedBy](tx, revKey(lending.Target{Kind: lending.TargetBorrower, ID: d.String()}))
		if err != nil {
			return err
		}
		if ok {
			return fault.New(fault.Refused, "borrower_revoked", "this organization revoked %s at %s, for good", d, by.At).
				WithHint("lend to another agent of the partner; a revocation cannot be undone")
		}
	}
	return nil
}
