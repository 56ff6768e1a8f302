package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/did"
	"trustnode/federation/lending"
	"trustnode/node/client"
	"trustnode/node/fault"
	"trustnode/node/lender"
	"trustnode/node/self"
)

// loans are the operator's routes about permissions, lent and borrowed.
func (s *server) loans(api huma.API) {
	s.loanIssue(api)
	s.loanRequests(api)
	s.loanDiscover(api)
	s.route(api, http.MethodGet, "/api/v1/permissions", "loanList", "List loans, lent and borrowed", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, _ *struct{}) (*struct{ Body Loans }, error) {
			out, err := s.listLoans(ctx)
			return &struct{ Body Loans }{out}, s.refuse(err)
		})
	})
	s.route(api, http.MethodGet, "/api/v1/permissions/{id}", "loanShow", "Show one loan", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *LoanPath) (*struct{ Body Loan }, error) {
			l, err := s.oneLoan(ctx, in.ID)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Loan }{l}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/permissions/{id}/revoke", "loanRevoke", "End a loan, at once and for good", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			LoanPath
			Body LoanRevoke
		}) (*struct{ Body LoanRevoked }, error) {
			r, err := s.Lender.Revoke(ctx, in.ID, in.Body.Reason, in.Body.Text)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body LoanRevoked }{LoanRevoked{ID: r.ID.String(), Loan: r.Loan.String(), At: stamp(r.At), Reads: r.Reads}}, nil
		})
	})
	s.route(api, http.MethodGet, "/api/v1/permissions/{id}/audit", "loanAudit", "All that happened under a permission", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *LoanPath) (*struct{ Body LoanAudit }, error) {
			a, err := s.Lender.Audit(ctx, in.ID)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body LoanAudit }{s.auditOf(a)}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/loans/read", "loanRead", "Read under a permission as an own agent", http.StatusOK, func(op huma.Operation) {
		op.Security = operatorOrAgent
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body LoanRead }) (*struct{ Body LoanAnswer }, error) {
			b := in.Body
			as, err := readsAs(ctx, b.As)
			if err != nil {
				return nil, s.refuse(err)
			}
			r, err := s.Client.Read(ctx, client.ReadInput{As: as, Perm: b.Permission, Purpose: b.Purpose, Filter: b.Filter, Query: b.Query, Limit: b.Limit, Cursor: b.Cursor})
			if err == nil {
				err = s.stillCalls(ctx)
			}
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body LoanAnswer }{readOf(r)}, nil
		})
	})
}

// LoanPath names a loan in the path.
type LoanPath struct {
	ID string `path:"id" maxLength:"8192" doc:"id or compact form"`
}

func lent(l lender.Loan) Loan {
	p := l.Permission
	out := Loan{Permission: l.Compact, Lender: p.Lender.String(), Borrower: p.Borrower.String(), Scope: p.Scope.String(), Purpose: p.Purpose,
		ExpiresAt: p.ExpiresAt.String(), MaxReads: p.MaxReads, Reads: l.Reads, Under: l.Under, Left: l.Left, State: string(l.State), Role: "lender",
		Matches: int(l.Matches), Hygiene: l.Hygiene, Words: l.Words}
	if !l.ID.IsZero() {
		out.ID = l.ID.String()
	}
	out.optional(l)
	return out
}

func borrowed(l client.Loan) Loan {
	out := Loan{ID: l.ID.String(), Permission: l.Compact, Lender: l.Lender.String(), Borrower: l.Borrower.String(), ExpiresAt: stamp(l.ExpiresAt),
		MaxReads: l.MaxReads, Reads: l.Reads, Left: l.Left, State: string(l.State), Role: "borrower"}
	if l.Permission != nil {
		out.Scope, out.Purpose = l.Permission.Scope.String(), l.Permission.Purpose
		out.optional(lender.Loan{Permission: *l.Permission})
	}
	return out
}

func (s *server) listLoans(ctx context.Context) (Loans, error) {
	out := Loans{Loans: []Loan{}}
	ls, err := s.Lender.Loans(ctx)
	if err != nil {
		return out, err
	}
	for _, l := range ls {
		out.Loans = append(out.Loans, s.resting(ctx, lent(l), l.BorrowerOrg))
	}
	bs, err := s.Client.Loans(ctx)
	if err != nil {
		return out, err
	}
	for _, b := range bs {
		out.Loans = append(out.Loans, s.resting(ctx, borrowed(b), s.orgOf(ctx, b.Lender)))
	}
	return out, nil
}

// oneLoan looks among the loans lent first, then among those borrowed.
func (s *server) oneLoan(ctx context.Context, id string) (Loan, error) {
	l, err := s.Lender.Loan(ctx, id)
	if err == nil {
		return s.resting(ctx, lent(l), l.BorrowerOrg), nil
	}
	if fault.Of(err) != fault.NotFound {
		return Loan{}, err
	}
	b, err := s.Client.Loan(ctx, id)
	if err != nil {
		return Loan{}, err
	}
	return s.resting(ctx, borrowed(b), s.orgOf(ctx, b.Lender)), nil
}

// resting adds to a loan between two organizations that it is not read since one has forked.
func (s *server) resting(ctx context.Context, l Loan, other did.DID) Loan {
	if l.State != string(lending.Valid) || other == s.Node.Org {
		return l
	}
	for _, d := range []did.DID{s.Node.Org, other} {
		if err := s.Node.Contested(ctx, d); err != nil && l.Rests == "" {
			l.Rests = fault.From(err).Detail
		}
	}
	return l
}

// orgOf is the organization of an agent, zero where that is not known.
func (s *server) orgOf(ctx context.Context, agent did.DID) did.DID {
	row, err := self.Agent(self.ViewGetter(ctx, s.Node.DB), agent)
	if err != nil {
		return did.DID{}
	}
	return row.Org
}

func readOf(r client.ReadResult) LoanAnswer {
	out := LoanAnswer{Entries: []any{}, Salt: r.Salt.String(), Status: string(r.Receipt.State), Cursor: r.Cursor, Permission: r.Perm.String(),
		Receipt: ReceiptInfo{ID: r.ReceiptID.String(), Seq: r.Receipt.Seq, Left: r.Receipt.Left, At: r.Receipt.At.String(), Hash: r.Receipt.Hash.String(), Compact: r.Compact}}
	if until := r.Receipt.CacheUntil; !until.IsZero() {
		out.Cached, out.CacheUntil = r.Cached, until.String()
	}
	for _, e := range r.Entries {
		out.Entries = append(out.Entries, json.RawMessage(e))
	}
	return out
}
