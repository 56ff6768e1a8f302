package mediation

import (
	"slices"
	"strings"

	"trustnode/attestation"
	"trustnode/attestation/log"
	"trustnode/did/envelope"
)

// take applies one event, or says that it has no effect now.
func (c *Case) take(m move) bool {
	e := m.event()
	if c.May(e.Org, e.Type) != nil {
		return false
	}
	var ok bool
	switch e.Type {
	case "dispute.evidence":
		ok = c.evidence(m)
	case "dispute.readied":
		ok = c.readied(m)
	case "dispute.answered":
		ok = c.answered(m)
	case "dispute.withdrawn":
		c.enter(Withdrawn, m.at, 0)
		ok = true
	case "ruling.seated":
		ok = c.seated(m)
	case "ruling.recused":
		c.pass(m.at)
		ok = true
	case "ruling.issued":
		ok = c.ruled(m)
	}
	if ok {
		c.took(m)
	}
	return ok
}

func (c *Case) evidence(m move) bool {
	e := m.event()
	var d attestation.DisputeEvidence
	if e.Body.IsZero() || e.Decode(&d) != nil {
		return false
	}
	c.Manifests = append(c.Manifests, Handed{e.Org, e.Body, m.Event.ID(), m.Body})
	if e.Org == c.Claimant {
		for _, f := range d.Facts {
			c.Facts[f.N] = f
		}
	}
	return true
}

func (c *Case) readied(m move) bool {
	e := m.event()
	var d attestation.DisputeReadied
	if e.Decode(&d) != nil || order[State(d.State)] == 0 || order[State(d.State)] > order[Drawing] {
		return false
	}
	c.ready[e.Org] = max(c.ready[e.Org], order[State(d.State)])
	if c.State == Evidence && c.bothReady(Evidence) {
		c.nextRung(m.at)
	}
	if c.State == Drawing && !c.Mediator.IsZero() && c.bothReady(Drawing) {
		c.enter(Deliberation, m.at, c.terms.Decide)
	}
	return true
}

// bothReady says whether both sides have nothing to add up to s.
func (c *Case) bothReady(s State) bool {
	return c.ready[c.Claimant] >= order[s] && c.ready[c.Respondent] >= order[s]
}

func (c *Case) answered(m move) bool {
	a, err := ParseAnswer(m.Body)
	if err != nil || envelope.IDOf(m.Body) != m.event().Body || a.Case != c.ID || !c.answersAll(a) {
		return false
	}
	denied := false
	for _, r := range a.Claims {
		c.Replies[r.N] = r.Reply
		denied = denied || r.Reply == "deny"
	}
	if !denied {
		c.admit(m)
		return true
	}
	c.enter(Evidence, m.at, c.terms.Evidence)
	if c.bothReady(Evidence) {
		c.nextRung(m.at)
	}
	return true
}

// answersAll wants exactly one reply for each claim.
func (c *Case) answersAll(a Answer) bool {
	if len(a.Claims) != len(c.Dispute.Claims) {
		return false
	}
	for i, r := range a.Claims {
		if r.N != c.Dispute.Claims[i].N {
			return false
		}
	}
	return true
}

// admit ends a case in which nothing is denied: each claim is proven at the lower edge of
// its band.
func (c *Case) admit(m move) {
	r := Ruling{Case: c.ID, Outcome: "claimant", Summary: "everything was admitted"}
	for _, cl := range c.Dispute.Claims {
		b, err := band(cl.Code, cl.Acts)
		if err != nil {
			continue
		}
		r.Claims = append(r.Claims, Finding{Acts: cl.Acts, N: cl.N, Result: "proven", Severity: b.Lo * 1000})
		if slices.Contains(c.Dispute.Relief, "score") {
			r.Remedies = append(r.Remedies, Remedy{Claim: cl.N, Do: "score", N: uint64(len(r.Remedies)) + 1})
		}
	}
	c.Decision = &Decision{Ruling: r, ID: m.event().Body, Event: m.Event.ID(), By: m.event().Org, At: m.at, Admitted: true}
	c.enter(Final, m.at, c.terms.Enforce)
}

// seated takes the candidate's acceptance. Where both sides are ready through drawing
// nobody will strike, and deliberation opens at once.
func (c *Case) seated(m move) bool {
	a, err := ParseAssignment(m.Body)
	if err != nil || envelope.IDOf(m.Body) != m.event().Body || a.Case != c.ID || a.Rung != c.Rung || a.Place != c.Place || !c.Mediator.IsZero() {
		return false
	}
	c.Mediator = c.Candidate
	if c.bothReady(Drawing) {
		c.enter(Deliberation, m.at, c.terms.Decide)
	}
	return true
}

func (c *Case) ruled(m move) bool {
	r, err := ParseRuling(m.Body)
	if err != nil || envelope.IDOf(m.Body) != m.event().Body || len(c.Check(r)) > 0 {
		return false
	}
	if c.State == Ruled {
		return c.equivocated(m)
	}
	c.Decision = &Decision{Ruling: r, ID: m.event().Body, Event: m.Event.ID(), By: c.Mediator, At: m.at, Omitted: r.Considered != c.Considered()}
	c.enter(Ruled, m.at, c.terms.Appeal)
	return true
}

// equivocated voids both of two different rulings by one seat; the next candidate owes one.
func (c *Case) equivocated(m move) bool {
	if m.event().Body == c.Decision.ID {
		return false
	}
	c.Void = append(c.Void, c.Decision.Event, m.Event.ID())
	c.Decision = nil
	c.skip(m.at)
	return true
}

// Considered commits to the events taken so far: what a ruling made now rests on.
func (c Case) Considered() Considered {
	ids := make([]envelope.ID, len(c.Events))
	for i, e := range c.Events {
		ids[i] = e.ID
	}
	slices.SortFunc(ids, func(a, b envelope.ID) int { return strings.Compare(a.String(), b.String()) })
	return Considered{Count: uint64(len(ids)), Root: log.RootOf(log.IDLeaves(ids))}
}
