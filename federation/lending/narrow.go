package lending

import (
	"slices"

	"trustnode/did/envelope"
)

// CheckAnswers holds a permission that answers a request to what was asked: for the same
// two agents, and nothing wider. A request without scope leaves the scope to the lender.
// Errors are a *Denial.
func CheckAnswers(p Permission, rq LoanRequest) error {
	borrower := rq.Borrower
	if !rq.For.IsZero() {
		borrower = rq.For
	}
	switch {
	case p.Lender != rq.Aud:
		return wider("the request is addressed to %s", rq.Aud)
	case p.Borrower != borrower:
		return wider("the request is for %s", borrower)
	case p.Purpose != rq.Purpose:
		return wider("the request is for the purpose %q", rq.Purpose)
	case p.MaxReads > rq.MaxReads:
		return wider("%d reads, the request asks for %d", p.MaxReads, rq.MaxReads)
	case p.ExpiresAt.After(rq.ExpiresAt):
		return wider("it would end at %s, the request asks for %s", p.ExpiresAt, rq.ExpiresAt)
	case !subset(p.Patterns, rq.Patterns):
		return wider("patterns %v, the request asks for %v", p.Patterns, rq.Patterns)
	case !rq.Scope.IsZero() && !p.Scope.Within(rq.Scope):
		return wider("scope %s is not within the one asked for, %s", p.Scope, rq.Scope)
	case p.Parent != rq.Parent:
		return wider("the request names parent %s", rq.Parent)
	}
	return nil
}

func wider(detail string, args ...any) *Denial {
	return deny(CodeRefused, ReasonWider, "give what was asked for or less; for more, issue a loan that answers no request", detail, args...)
}

// CheckChild holds a permission to the one it is a part of: every field within the
// parent's, so that a child is never wider (04, section 8, I-11). asker is the parent's
// borrower, who asked for it. Errors are a *Denial.
func CheckChild(p, parent Permission, parentID envelope.ID) error {
	not := func(detail string, args ...any) error {
		return deny(CodeRefused, ReasonParent, "keep within the permission that it is a part of", detail, args...)
	}
	switch {
	case p.Parent != parentID || p.Lender != parent.Lender:
		return not("it is no part of %s by the same lender", parentID)
	case parent.Sublend != SublendAsk:
		return not("permission %s does not provide for sub-lending", parentID)
	case p.Borrower == parent.Borrower:
		return not("it is for the borrower of %s itself", parentID)
	case !p.Scope.Within(parent.Scope):
		return not("scope %s is not within %s", p.Scope, parent.Scope)
	case p.MaxReads > parent.MaxReads:
		return not("%d reads, its parent has %d", p.MaxReads, parent.MaxReads)
	case p.ExpiresAt.After(parent.ExpiresAt):
		return not("it would end at %s, its parent ends at %s", p.ExpiresAt, parent.ExpiresAt)
	case p.begin().Before(parent.begin()):
		return not("it would begin at %s, its parent begins at %s", p.begin(), parent.begin())
	case !subset(p.Patterns, parent.Patterns):
		return not("patterns %v, its parent has %v", p.Patterns, parent.Patterns)
	case !subset(p.WriteTo, parent.WriteTo):
		return not("destinations %v, its parent has %v", p.WriteTo, parent.WriteTo)
	case p.CacheS > parent.CacheS:
		return not("a caching window of %d s, its parent has %d s", p.CacheS, parent.CacheS)
	case p.Provenance != "" && parent.Provenance == "":
		return not("its parent lets nobody name the lender")
	case p.Pact != parent.Pact || p.Terms != parent.Terms:
		return not("its parent has another pact or other prices")
	}
	return p.capWithin(parent)
}

// capWithin holds the cost cap to the parent's: there may be less, in the same asset.
func (p Permission) capWithin(parent Permission) error {
	if parent.CostCap == nil && p.CostCap == nil {
		return nil
	}
	if parent.CostCap != nil && p.CostCap != nil && p.CostCap.Asset == parent.CostCap.Asset && p.CostCap.Chain == parent.CostCap.Chain && !more(p.CostCap.Amount, parent.CostCap.Amount) {
		return nil
	}
	return deny(CodeRefused, ReasonParent, "keep within the permission that it is a part of", "its cost cap is not within its parent's")
}

// more compares two amounts, which are digits without leading zeros.
func more(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }

func (p Permission) begin() envelope.Time {
	if p.NotBefore.IsZero() {
		return p.IssuedAt
	}
	return p.NotBefore
}

func subset(small, of []string) bool {
	return !slices.ContainsFunc(small, func(s string) bool { return !slices.Contains(of, s) })
}

// NextRound returns the round of a request that replies to one of this round; 0 is before
// the first. Errors are a *Denial past MaxRounds.
func NextRound(round uint64) (uint64, error) {
	if round >= MaxRounds {
		return 0, deny(CodeRefused, ReasonRounds, "begin anew with a request that replies to none", "this would be round %d of a talk, %d are the most", round+1, MaxRounds)
	}
	return round + 1, nil
}
