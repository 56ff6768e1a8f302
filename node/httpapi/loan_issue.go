package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/lender"
)

// RevocationSigned is the end of a loan, signed elsewhere.
type RevocationSigned struct {
	Signed string `json:"signed" doc:"revocation in compact form"`
	Text   string `json:"text,omitempty"`
}

// loanIssue are the operator's routes that make a permission, or say what it would be.
func (s *server) loanIssue(api huma.API) {
	register := func(path, id, summary string, preview bool) {
		s.route(api, http.MethodPost, path, id, summary, http.StatusOK, func(op huma.Operation) {
			huma.Register(api, op, func(ctx context.Context, in *struct{ Body LoanIssue }) (*struct{ Body Loan }, error) {
				w := issueOf(in.Body)
				w.Preview = w.Preview || preview
				l, err := s.Lender.Issue(ctx, w)
				if err != nil {
					return nil, s.refuse(err)
				}
				return &struct{ Body Loan }{lent(l)}, nil
			})
		})
	}
	register("/api/v1/permissions", "loanIssue", "Issue a permission, or preview one", false)
	register("/api/v1/permissions/preview", "loanPreview", "What a permission would lend; nothing is issued", true)
	s.route(api, http.MethodPost, "/api/v1/revocations", "loanRevokeSigned", "End a loan of a person, by a revocation that the person signed", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body RevocationSigned }) (*struct{ Body LoanRevoked }, error) {
			r, err := s.Lender.RevokeSigned(ctx, in.Body.Signed, in.Body.Text)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body LoanRevoked }{LoanRevoked{ID: r.ID.String(), Loan: r.Loan.String(), At: stamp(r.At), Reads: r.Reads}}, nil
		})
	})
}

func issueOf(b LoanIssue) lender.IssueInput {
	return lender.IssueInput{As: b.As, Request: b.Request, Replaces: b.Replaces, Lender: b.Lender, Borrower: b.Borrower, Scope: b.Scope, Purpose: b.Purpose,
		Expires: b.Expires, MaxReads: b.MaxReads, Patterns: b.Patterns, NotBefore: b.NotBefore, CacheS: b.CacheS, Provenance: b.Provenance, Sublend: b.Sublend,
		WriteTo: b.WriteTo, CostCap: b.CostCap, Signed: b.Signed, Preview: b.Preview}
}

// optional fills what most loans do without.
func (l *Loan) optional(x lender.Loan) {
	p := x.Permission
	l.Patterns, l.CacheS, l.Provenance, l.Sublend, l.WriteTo = p.Patterns, p.CacheS, p.Provenance, p.Sublend, p.WriteTo
	if !p.NotBefore.IsZero() {
		l.NotBefore = p.NotBefore.String()
	}
	for _, m := range []struct {
		to *string
		id interface {
			IsZero() bool
			String() string
		}
	}{{&l.Parent, p.Parent}, {&l.Request, x.Request}, {&l.Replaces, x.Replaces}} {
		if !m.id.IsZero() {
			*m.to = m.id.String()
		}
	}
	if g := x.Growth; g != nil {
		l.Growth = &LoanGrowth{At: stamp(g.At), Matches: g.Matches, Classes: g.Classes}
	}
	if x.Survey != nil {
		l.Survey = surveyOf(x)
	}
	l.Body = string(x.Body)
}

func surveyOf(x lender.Loan) *Survey {
	v := x.Survey
	out := &Survey{Tags: map[string]int{}, Classes: map[string]int{}, Excluded: v.Excluded, Daily: v.Daily[:], Newest: []SurveyEntry{}}
	for t, n := range v.Tags {
		if class, ok := strings.CutPrefix(t, "class:"); ok {
			out.Classes[class] = n
		} else {
			out.Tags[t] = n
		}
	}
	for _, e := range v.Newest {
		out.Newest = append(out.Newest, SurveyEntry{e.ID, stamp(e.Created), e.Statement})
	}
	return out
}
