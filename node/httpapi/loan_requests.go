package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/did"
	"trustnode/federation/lending"
	"trustnode/node/client"
	"trustnode/node/fault"
	"trustnode/node/lender"
)

// loanRequests are the routes of an organization about requests it sent and received; by
// token an agent sends its own and sees no others.
func (s *server) loanRequests(api huma.API) {
	type one struct{ Body LoanRequestInfo }
	s.route(api, http.MethodPost, "/api/v1/loans/requests", "loanRequest", "Ask a lender for a loan, as an own agent", http.StatusOK, func(op huma.Operation) {
		op.Security = operatorOrAgent
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body LoanRequest }) (*one, error) {
			as, err := readsAs(ctx, in.Body.As)
			if err != nil {
				return nil, s.refuse(err)
			}
			a, err := s.Client.Ask(ctx, askOf(in.Body, as))
			if err != nil {
				return nil, s.refuse(err)
			}
			out, err := s.sent(ctx, a, true)
			return &one{out}, s.refuse(err)
		})
	})
	s.route(api, http.MethodGet, "/api/v1/loans/requests", "loanRequestList", "Loan requests, received and sent", http.StatusOK, func(op huma.Operation) {
		op.Security = operatorOrAgent
		huma.Register(api, op, func(ctx context.Context, _ *struct{}) (*struct{ Body LoanRequests }, error) {
			out, err := s.listRequests(ctx)
			return &struct{ Body LoanRequests }{out}, s.refuse(err)
		})
	})
	s.route(api, http.MethodGet, "/api/v1/loans/requests/{id}", "loanRequestShow", "One loan request, and what is known of the other side; one that waits is asked of its lender", http.StatusOK, func(op huma.Operation) {
		op.Security = operatorOrAgent
		huma.Register(api, op, func(ctx context.Context, in *RequestPath) (*one, error) {
			out, err := s.oneRequest(ctx, in.ID)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &one{out}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/loans/requests/{id}/decline", "loanDecline", "Decline a loan request", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			RequestPath
			Body LoanDecline
		}) (*one, error) {
			r, err := s.Lender.Decline(ctx, in.ID, in.Body.Reason)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &one{s.received(ctx, r, false)}, nil
		})
	})
}

// RequestPath names a loan request in the path.
type RequestPath struct {
	ID string `path:"id" maxLength:"128"`
}

func askOf(b LoanRequest, as string) client.AskInput {
	in := client.AskInput{As: as, Lender: b.Lender, Purpose: b.Purpose, Expires: b.Expires, MaxReads: b.MaxReads, Patterns: b.Patterns, Scope: b.Scope,
		From: b.From, Tags: b.Tags, Parent: b.Parent, For: b.For, InReplyTo: b.InReplyTo, Preview: b.Preview}
	if m := b.CostCap; m != nil {
		in.CostCap = &lending.Money{Amount: m.Amount, Asset: m.Asset, Chain: m.Chain}
	}
	return in
}

// onlyOf is the agent that a call by token is restricted to; zero for the operator.
func onlyOf(ctx context.Context) did.DID {
	who, _ := ctx.Value(callerKey{}).(caller)
	return who.agent.Agent
}

func (s *server) listRequests(ctx context.Context) (LoanRequests, error) {
	out := LoanRequests{Requests: []LoanRequestInfo{}}
	only := onlyOf(ctx)
	if only.IsZero() {
		rs, err := s.Lender.Requests(ctx)
		if err != nil {
			return out, err
		}
		for _, r := range rs {
			out.Requests = append(out.Requests, s.received(ctx, r, false))
		}
	}
	as, err := s.Client.AskedAll(ctx)
	if err != nil {
		return out, err
	}
	for _, a := range as {
		if !only.IsZero() && a.Body.Borrower != only {
			continue
		}
		r, err := s.sent(ctx, a, false)
		if err != nil {
			return out, err
		}
		out.Requests = append(out.Requests, r)
	}
	return out, nil
}

// oneRequest looks among the requests received first, then among those sent.
func (s *server) oneRequest(ctx context.Context, id string) (LoanRequestInfo, error) {
	only := onlyOf(ctx)
	if only.IsZero() {
		r, err := s.Lender.Request(ctx, id)
		if err == nil {
			return s.received(ctx, r, true), nil
		}
		if fault.Of(err) != fault.NotFound {
			return LoanRequestInfo{}, err
		}
	}
	a, err := s.Client.AskedBy(ctx, id, only)
	if err != nil {
		return LoanRequestInfo{}, err
	}
	return s.sent(ctx, a, true)
}

func requestOf(b lending.LoanRequest) LoanRequestInfo {
	out := LoanRequestInfo{Lender: b.Aud.String(), Borrower: b.Borrower.String(), Purpose: b.Purpose, Scope: b.Scope.String(), Patterns: b.Patterns,
		MaxReads: b.MaxReads, ExpiresAt: b.ExpiresAt.String(), At: b.At.String()}
	if m := b.CostCap; m != nil {
		out.CostCap = &Money{m.Amount, m.Asset, m.Chain}
	}
	if !b.Parent.IsZero() {
		out.Parent, out.For = b.Parent.String(), b.For.String()
	}
	if !b.InReplyTo.IsZero() {
		out.InReplyTo = b.InReplyTo.String()
	}
	return out
}

func (s *server) received(ctx context.Context, r lender.Request, score bool) LoanRequestInfo {
	out := requestOf(r.Body)
	out.ID, out.Role, out.State, out.Heard, out.Reason, out.Round, out.Until, out.Beyond = r.ID.String(), "lender", string(r.State), true, r.Reason, r.Round, stamp(r.Until), r.Beyond
	out.LenderOrg, out.BorrowerOrg = s.Node.Org.String(), r.Org.String()
	if !r.Perm.IsZero() {
		out.Permission = r.Perm.String()
	}
	if !r.Replied.IsZero() {
		out.Replied = r.Replied.String()
	}
	p := r.Past
	out.Other = Other{Loans: p.Loans, Valid: p.Valid, Revoked: p.Revoked, Reads: p.Reads, Broken: p.Broken}
	if score {
		s.scored(ctx, &out.Other, r.Body.Borrower)
	}
	return out
}

// sent tells of an own request and, with score, of its lender: by token, of the calling
// agent's loans alone.
func (s *server) sent(ctx context.Context, a client.Asked, score bool) (LoanRequestInfo, error) {
	out := requestOf(a.Body)
	out.Role, out.State, out.Heard, out.Reason, out.Round = "borrower", string(a.State), a.Heard, a.Reason, a.Round
	out.LenderOrg, out.BorrowerOrg = a.LenderOrg.String(), s.Node.Org.String()
	if !a.ID.IsZero() {
		out.ID, out.Until = a.ID.String(), stamp(a.Until)
	}
	if !a.Perm.IsZero() {
		out.Permission = a.Perm.String()
	}
	if !score {
		return out, nil
	}
	loans, err := s.Client.Loans(ctx)
	if err != nil {
		return out, err
	}
	only := onlyOf(ctx)
	for _, l := range loans {
		if s.orgOf(ctx, l.Lender) != a.LenderOrg || !only.IsZero() && l.Borrower != only {
			continue
		}
		out.Other.Loans++
		out.Other.Reads += l.Reads
		switch l.State {
		case lending.Valid:
			out.Other.Valid++
		case lending.Revoked:
			out.Other.Revoked++
		}
	}
	s.scored(ctx, &out.Other, a.Body.Aud)
	return out, nil
}

// scored adds the trust score of the other agent, or why there is none.
func (s *server) scored(ctx context.Context, o *Other, agent did.DID) {
	got, err := s.Oracle.Show(ctx, agent, time.Time{}, did.DID{})
	if err != nil {
		o.NoTrust = fault.From(err).Detail
		return
	}
	a := got.Answer
	o.Trust = &TrustWord{Composite: a.Composite, Tier: a.Tier, Disputes: a.Disputes.Lost + a.Disputes.Defaulted}
}
