package party

import (
	"context"
	"slices"
	"strings"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/trust"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/charter"
	"trustnode/mediation"
	"trustnode/node/casefile"
	"trustnode/node/fault"
)

// folded is a case with what it was made of.
type folded struct {
	mediation.Case
	facts []attestation.Fact // events about it
	terms mediation.Terms
}

// Cases folds every case known here as of a moment, by id. It asks nobody. Filings that
// have no time by then are left out.
func (p *Party) Cases(ctx context.Context, asOf time.Time) ([]mediation.Case, error) {
	ids, err := p.known(ctx)
	if err != nil {
		return nil, err
	}
	var out []mediation.Case
	for _, id := range ids {
		f, err := p.fold(ctx, id, func([]attestation.Fact) time.Time { return asOf })
		if err != nil {
			return nil, err
		}
		if f.State != "" && f.State != Pending {
			out = append(out, f.Case)
		}
	}
	return out, nil
}

// known lists the ids of all filings held here.
func (p *Party) known(ctx context.Context) ([]envelope.ID, error) {
	filed, err := p.filings(ctx)
	var out []envelope.ID
	for _, ids := range filed {
		out = append(out, ids...)
	}
	slices.SortFunc(out, compareIDs)
	return slices.Compact(out), err
}

// filings lists the ids of all filings held here by who filed, in order.
func (p *Party) filings(ctx context.Context) (map[did.DID][]envelope.ID, error) {
	facts, err := p.gather(ctx, attestation.Query{Type: "dispute.filed"})
	if err != nil {
		return nil, err
	}
	out := map[did.DID][]envelope.ID{}
	for _, f := range facts {
		if e := f.Event.Body(); e.Subject == e.Body.String() {
			out[e.Org] = append(out[e.Org], e.Body)
		}
	}
	for o, ids := range out {
		slices.SortFunc(ids, compareIDs)
		out[o] = slices.Compact(ids)
	}
	return out, nil
}

func compareIDs(a, b envelope.ID) int { return strings.Compare(a.String(), b.String()) }

func (p *Party) gather(ctx context.Context, q attestation.Query) ([]attestation.Fact, error) {
	var out []attestation.Fact
	for f, err := range p.n.Rec.Facts(ctx, q) {
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// now is the moment at which a verb looks at a case: trusted time, or a little later where
// a witness whose clock is ahead has seen something by then.
func (p *Party) now() (func([]attestation.Fact) time.Time, error) {
	at, err := p.n.Clock.Now()
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "clock", err)
	}
	return func(facts []attestation.Fact) time.Time {
		newest := at
		for _, f := range facts {
			for _, s := range f.Witnessed {
				if t := s.At.Time(); t.After(newest) && t.Sub(at) <= clockLead {
					newest = t
				}
			}
		}
		return newest
	}, nil
}

// look folds a case now. Without a filing held here its ID is zero.
func (p *Party) look(ctx context.Context, id envelope.ID) (folded, error) {
	now, err := p.now()
	if err != nil {
		return folded{}, err
	}
	return p.fold(ctx, id, now)
}

func (p *Party) fold(ctx context.Context, id envelope.ID, when func([]attestation.Fact) time.Time) (folded, error) {
	facts, err := p.gather(ctx, attestation.Query{Subject: id.String()})
	if err != nil {
		return folded{}, err
	}
	f := folded{facts: facts}
	filing, d, ok := filingOf(facts, id)
	if !ok {
		return f, nil
	}
	if f.terms, err = p.terms(ctx, d); err != nil {
		return folded{}, err
	}
	f.Case = mediation.Fold(f.terms, facts, when(facts))
	if f.State == "" && mayStand(f.terms, d, filing.Event.Body().Org) {
		f.Case = mediation.Case{ID: id, Dispute: d, Claimant: filing.Event.Body().Org, Respondent: d.Against, State: Pending}
	}
	return f, nil
}

// filingOf finds the dispute of a case among its facts.
func filingOf(facts []attestation.Fact, id envelope.ID) (attestation.Fact, mediation.Dispute, bool) {
	for _, f := range facts {
		if e := f.Event.Body(); e.Type != "dispute.filed" || e.Body != id || envelope.IDOf(f.Body) != id {
			continue
		}
		if d, err := mediation.ParseDispute(f.Body); err == nil {
			return f, d, true
		}
	}
	return attestation.Fact{}, mediation.Dispute{}, false
}

// mayStand says whether a filing will open a case once it has a time.
func mayStand(t mediation.Terms, d mediation.Dispute, by did.DID) bool {
	for _, c := range d.Claims {
		pair, known := t.Parties[c.Perm]
		if known && pair != [2]did.DID{by, d.Against} && pair != [2]did.DID{d.Against, by} {
			return false
		}
	}
	return t.Charter == d.Charter && t.MayFile(by, d.Against) == ""
}

// terms are those of the charter that a dispute names, if it is one of the chain here.
func (p *Party) terms(ctx context.Context, d mediation.Dispute) (mediation.Terms, error) {
	chain, ok := p.n.Standing.Charter()
	if !ok {
		return mediation.Terms{}, nil
	}
	t := termsIn(chain, d.Charter)
	if t.Charter.ID.IsZero() {
		return t, nil
	}
	t.Parties = map[envelope.ID][2]did.DID{}
	for _, c := range d.Claims {
		if c.Perm.IsZero() {
			continue
		}
		pair, blind, err := p.parties(ctx, c.Perm)
		if err != nil {
			return mediation.Terms{}, err
		}
		if !blind {
			t.Parties[c.Perm] = pair
		}
	}
	return t, nil
}

// termsIn are those of a charter of a chain; zero where it is none of the chain.
func termsIn(chain charter.Chain, ref mediation.CharterRef) mediation.Terms {
	if t := casefile.TermsOf(chain, ref.Seq); t.Charter == ref {
		return t
	}
	return mediation.Terms{}
}

// parties names the organizations of lender and borrower of a loan, as the lender's own
// loan.issued and the organizations' agent.issued say; two zero DIDs where no log held
// here has the loan, so that nobody can file over it. blind: the loan does not say who
// borrows.
func (p *Party) parties(ctx context.Context, perm envelope.ID) (pair [2]did.DID, blind bool, err error) {
	issued, err := p.gather(ctx, attestation.Query{Type: "loan.issued", Subject: perm.String()})
	if err != nil {
		return pair, false, err
	}
	for _, f := range issued {
		var d attestation.LoanIssued
		if f.Event.Body().Decode(&d) != nil {
			continue
		}
		org := f.Event.Body().Org
		k, err := p.n.Rec.Keys(ctx, org)
		if err != nil {
			return pair, false, err
		}
		if len(k.Terms(d.Lender)) == 0 {
			continue // a stranger's word
		}
		if d.Borrower.IsZero() {
			return pair, true, nil
		}
		to, err := p.orgOf(ctx, d.Borrower)
		return [2]did.DID{org, to}, to.IsZero(), err
	}
	return pair, false, nil
}

// orgOf is the organization of an agent as the logs say it, or zero.
func (p *Party) orgOf(ctx context.Context, agent did.DID) (did.DID, error) {
	facts, err := p.gather(ctx, attestation.Query{Type: "agent.issued", Subject: agent.String()})
	if err != nil {
		return did.DID{}, err
	}
	return trust.Orgs(facts)[agent], nil
}

// role is the part of an organization in a case.
func role(c mediation.Case, o did.DID) string {
	switch {
	case o == c.Claimant:
		return Claimant
	case o == c.Respondent:
		return Respondent
	case !o.IsZero() && (o == c.Mediator || o == c.Candidate || c.Decision != nil && o == c.Decision.By):
		return Mediator
	}
	return Observer
}

// mediators lists who may be asked to sit, by name in the charter, outside both houses.
func mediators(t mediation.Terms, a, b did.DID) []did.DID {
	var out []did.DID
	for _, o := range t.Neutral {
		if slices.Contains(t.Members, mediation.Member{Org: o, Active: true}) && t.Neither(o, a, b) && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// reads says whether private bodies of a case are for an organization.
func (f folded) reads(o did.DID) bool {
	return role(f.Case, o) != Observer || slices.Contains(mediators(f.terms, f.Claimant, f.Respondent), o)
}

// Concerns says whether the private body of an event of a case may be for this
// organization. While the filing is not held here it is false.
func (p *Party) Concerns(ctx context.Context, ev attestation.Event) bool {
	id, err := envelope.ParseID(ev.Subject)
	if err != nil {
		return false
	}
	f, err := p.look(ctx, id)
	return err == nil && !f.ID.IsZero() && f.reads(p.n.Org)
}

// open says whether a case may still be decided.
func open(s mediation.State) bool {
	switch s {
	case Pending, mediation.Filed, mediation.Evidence, mediation.Drawing, mediation.Deliberation, mediation.Ruled:
		return true
	}
	return false
}
