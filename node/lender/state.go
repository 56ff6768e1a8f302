package lender

import (
	"cmp"
	"context"
	"errors"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// standing is what the federation says of a loan with an agent of one organization.
type standing struct {
	cross   bool // the organization is another one
	member  bool
	forked  error   // the refusal of an organization of which a log has forked, or the own one
	forker  did.DID // which it is
	ended   error   // the refusal of an organization that deactivated its DID
	allowed federation.Allowed
	word    string       // the node's state
	head    charter.Head // zero without a federation, or within the organization
}

func (l *Lender) standing(org did.DID, at time.Time) standing {
	state, _, allowed := l.n.Standing.State(at)
	s := standing{cross: org != l.n.Org, word: state.String(), allowed: allowed}
	if !s.cross {
		s.member = true
		return s
	}
	for _, d := range []did.DID{l.n.Org, org} {
		if err := l.n.Contested(context.Background(), d); err != nil && s.forked == nil {
			s.forked, s.forker = err, d
		}
	}
	s.ended = l.n.Ended(context.Background(), org)
	chain, ok := l.n.Standing.Charter()
	if !ok {
		return s
	}
	s.head = chain.Head()
	m, ok := s.head.Member(org)
	s.member = ok && m.Active() && s.ended == nil
	return s
}

// mayLend says whether the node's state allows a live read of this loan.
func (s standing) mayLend() bool {
	if s.cross {
		return s.allowed.LiveReads
	}
	return s.allowed.OwnLoans
}

// mayIssue says whether it allows a new one.
func (s standing) mayIssue() bool {
	if s.cross {
		return s.allowed.NewLoans
	}
	return s.allowed.OwnLoans
}

// moment is when a decision falls, and what is random in it.
type moment struct {
	at      time.Time
	trusted bool
	rowSalt lending.Salt
}

// load reads, by point Gets, what a decision over a permission needs, absence included.
// What depends on the request is added by the caller.
func (l *Lender) load(g library.Getter, k *known, m moment) (lending.State, self.AgentRow, error) {
	p := k.perm.Body()
	st := lending.State{TimeTrusted: m.trusted, RowSalt: m.rowSalt, Signer: p.Lender}
	var err error
	if st.Loan, st.Known, err = store.GetRow[lending.Loan](g, idKey(keyLoan, k.perm.ID())); err != nil {
		return st, self.AgentRow{}, err
	}
	lender, live, err := l.live(g, p.Lender, "lend", m.at)
	if err != nil {
		return st, lender, err
	}
	st.LenderLive, st.Kid = live && lender.Org == l.n.Org, lender.KID
	org, err := l.loadBorrower(g, k, m.at, &st)
	if err != nil {
		return st, lender, err
	}
	stand := l.standing(org, m.at)
	st.Member, st.MayLend, st.NodeState = stand.member, stand.mayLend(), stand.word
	if stand.forked != nil {
		st.Forked, st.Forker = cmp.Or(fault.From(stand.forked).Reason, lending.ReasonDIDLog), stand.forker
	}
	st.Revoked, err = revoked(g, k.perm, org)
	st.RevocationsRead = err == nil
	return st, lender, err
}

// loadBorrower reads the borrower's agent and returns the organization it was lent to. An
// agent that works for another one since is not whom the lender chose.
func (l *Lender) loadBorrower(g library.Getter, k *known, at time.Time, st *lending.State) (did.DID, error) {
	borrower, live, err := l.live(g, k.perm.Body().Borrower, "borrow", at)
	st.BorrowerLive = live && borrower.Org == k.issued.BorrowerOrg
	return k.issued.BorrowerOrg, err
}

// live reads an agent's row and says whether it may use a capability.
func (l *Lender) live(g library.Getter, d did.DID, capability string, at time.Time) (self.AgentRow, bool, error) {
	row, err := l.agents.Agent(g, d)
	if errors.Is(err, self.ErrNoAgent) {
		return self.AgentRow{}, false, nil
	}
	return row, err == nil && row.May(capability, at) == nil, err
}

// revoked looks every revocation up that ends a permission, and returns the first.
func revoked(g library.Getter, p envelope.Verified[lending.Permission], org did.DID) (*lending.RevokedBy, error) {
	var first *lending.RevokedBy
	for _, t := range lending.Targets(p, nil, org) {
		by, ok, err := store.GetRow[lending.RevokedBy](g, revKey(t))
		if err != nil {
			return nil, err
		}
		if ok && t.Kind == lending.TargetBorrower {
			if by, err = bySigner(g, revKey(t), p.Body().Lender, by); err != nil {
				return nil, err
			}
		}
		if ok && first == nil {
			first = &by
		}
	}
	return first, nil
}

// bySigner is the revocation of a borrower that the lender of a permission signed, where
// there is one.
func bySigner(g library.Getter, key []byte, lender did.DID, other lending.RevokedBy) (lending.RevokedBy, error) {
	own, ok, err := store.GetRow[lending.RevokedBy](g, revByKey(key, lender))
	if !ok {
		own = other
	}
	return own, err
}
