package lending

import (
	"cmp"
	"slices"
	"time"
)

// Hygiene codes of a loan, kept with it. H9 arises later, when the matches of a
// loan have grown, and is no code of Lint.
const (
	H1NoExclusion = "H1"  // no exclusion
	H2NoWindow    = "H2"  // no window of time
	H3Broad       = "H3"  // over 10 % of the project
	H4Long        = "H4"  // over 30 days
	H5ManyReads   = "H5"  // max_reads over 100 × matches
	H6Personal    = "H6"  // reaches class personal or regulated
	H7Nothing     = "H7"  // matches nothing
	H8Import      = "H8"  // a window ends inside an import
	H9Growth      = "H9"  // twice the matches at issue, or a new class
	H10NoPact     = "H10" // another organization, and no pact
)

// LintCodes are the codes that Lint may give, and so those that policy may turn into a
// refusal, sorted by bytes.
func LintCodes() []string {
	return []string{H10NoPact, H1NoExclusion, H2NoWindow, H3Broad, H4Long, H5ManyReads, H6Personal, H7Nothing, H8Import}
}

// Stats is what the lender's memory tells of a scope at issue.
type Stats struct {
	Matches  uint64 // entries in scope
	Project  uint64 // active entries in the place
	Personal bool   // some of the matches have class personal or regulated
	InImport bool   // a window of the scope ends inside an import
}

// Lint returns the hygiene codes of a permission to be, sorted by bytes and
// never nil. cross says that the borrower belongs to another organization.
func Lint(p Permission, s Stats, cross bool) []string {
	codes := []string{}
	add := func(holds bool, code string) {
		if holds {
			codes = append(codes, code)
		}
	}
	noWindow := p.Scope.NewerThan() == 0 && p.Scope.Created().IsZero() && p.Scope.Updated().IsZero()
	add(len(p.Scope.None()) == 0, H1NoExclusion)
	add(noWindow, H2NoWindow)
	add(s.Matches > s.Project/10, H3Broad)
	add(p.ExpiresAt.Sub(p.IssuedAt) > 30*24*time.Hour, H4Long)
	add(p.MaxReads > 100*s.Matches, H5ManyReads)
	add(s.Personal, H6Personal)
	add(s.Matches == 0, H7Nothing)
	add(s.InImport, H8Import)
	add(cross && p.Pact.IsZero(), H10NoPact)
	slices.Sort(codes)
	return codes
}

// IssueRules is what the federation and the lender's operator allow.
type IssueRules struct {
	// Cross says that the borrower belongs to another organization; charter and
	// mediator matter only then.
	Cross bool
	// Charter is the head to be pinned.
	Charter CharterPin
	// MaxTTLS and MaxReads are the charter's caps, in seconds and granted answers;
	// zero is no cap.
	MaxTTLS, MaxReads uint64
	// Mediator says that somebody could settle a dispute between the two.
	Mediator bool
	// Refused are the hygiene codes that policy turns into a refusal.
	Refused []string
}

// CheckIssue judges a permission about to be signed at at, with the codes Lint
// gave. Errors are a *Denial, or a *envelope.FormError for its form.
func CheckIssue(p Permission, r IssueRules, hygiene []string, at time.Time) error {
	if err := p.Check(); err != nil {
		return err
	}
	if !at.Before(p.ExpiresAt.Time()) {
		return deny(CodeInvalid, "", "give a later end", "the permission would end at %s, now is %s", p.ExpiresAt, at.UTC().Format(timeLayout))
	}
	if r.Cross {
		if den := r.charter(p); den != nil {
			return den
		}
	}
	for _, code := range hygiene {
		if slices.Contains(r.Refused, code) {
			return deny(CodeRefused, ReasonHygiene, "narrow the scope, or change the policy", "policy refuses %s", code)
		}
	}
	return nil
}

// charter holds a permission between organizations to the charter it pins.
func (r IssueRules) charter(p Permission) *Denial {
	ttl := p.ExpiresAt.Sub(p.IssuedAt)
	most := time.Duration(cmp.Or(min(r.MaxTTLS, maxTTLS), maxTTLS)) * time.Second
	switch {
	case p.GoverningCharter == nil || *p.GoverningCharter != r.Charter:
		return deny(CodeRefused, ReasonNoCharter, "join a federation with the borrower's organization first", "the permission does not pin the charter in force")
	case !r.Mediator:
		return deny(CodeRefused, ReasonNoMediator, "agree a charter with a neutral mediator", "nobody could settle a dispute between the two organizations")
	case ttl > most:
		return deny(CodeRefused, ReasonTTL, "give an earlier end", "the loan would last %s, the charter allows %s", ttl, most)
	case r.MaxReads > 0 && p.MaxReads > r.MaxReads:
		return deny(CodeRefused, ReasonMaxReads, "ask for fewer reads", "%d reads, the charter allows %d", p.MaxReads, r.MaxReads)
	}
	return nil
}
