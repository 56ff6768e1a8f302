package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/lender"
)

// asking serves what a borrower's agent asks by its own signature beside reads: for a
// loan, how that request stands, and which tags there are.
func (s *server) asking(api huma.API) {
	huma.Register(api, huma.Operation{OperationID: "discover", Method: http.MethodPost, Path: "/api/v1/discoveries", MaxBodyBytes: maxReadBody, BodyReadTimeout: bodyTimeout, SkipValidateBody: true,
		Summary: "Which tags there are under a permission, by a signed readrequest of op discover", Errors: []int{400, 401, 403, 404, 409, 413, 422, 429, 503}},
		func(_ context.Context, in *callIn) (*huma.StreamResponse, error) {
			return &huma.StreamResponse{Body: func(ctx huma.Context) { s.answer(ctx, in, s.Lender.Discover) }}, nil
		})
	huma.Register(api, huma.Operation{OperationID: "loanAsk", Method: http.MethodPost, Path: "/api/v1/loan-requests", MaxBodyBytes: maxReadBody, BodyReadTimeout: bodyTimeout, SkipValidateBody: true,
		Summary: "Ask for a loan, by a signed loanrequest", Errors: []int{400, 401, 403, 404, 409, 413, 422, 429, 503}},
		func(ctx context.Context, in *callIn) (*bytesOut, error) {
			c, err := in.parse()
			if err == nil && c.Permission != "" {
				err = fault.New(fault.Invalid, "form", "a loan request comes without a permission")
			}
			if err != nil {
				return nil, s.refuse(err)
			}
			return s.askedOut(s.Lender.Ask(ctx, c.Request))
		})
	huma.Register(api, huma.Operation{OperationID: "loanAsked", Method: http.MethodGet, Path: "/api/v1/loan-requests/{id}",
		Summary: "How a loan request stands, by a signed readrequest of op status that names it", Errors: []int{400, 401, 404, 429, 503}},
		func(ctx context.Context, in *struct {
			ID      string `path:"id" maxLength:"128"`
			Request string `header:"Trustnode-Request" maxLength:"16384" doc:"compact readrequest of op status; its perm is the id of the loan request"`
		}) (*bytesOut, error) {
			a, err := s.Lender.Asked(ctx, in.Request)
			if err == nil && a.ID.String() != in.ID {
				err = fault.New(fault.Invalid, "id", "the request asks about %s, the path about %.128s", a.ID, in.ID)
			}
			return s.askedOut(a, err)
		})
}

func (s *server) askedOut(a lending.Asked, err error) (*bytesOut, error) {
	if err != nil {
		return nil, s.refuse(err)
	}
	b, err := a.Bytes()
	if err != nil {
		return nil, s.refuse(err)
	}
	return &bytesOut{ContentType: "application/json", Body: b}, nil
}

// answer answers a call while the lender holds the loan's lock: after a revocation
// returned, no byte of the loan leaves.
func (s *server) answer(ctx huma.Context, in *callIn, by func(context.Context, lender.Call) error) {
	call, err := in.parse()
	if err == nil {
		call.Send = &release{ctx: ctx, within: sendTime}
		err = by(ctx.Context(), call)
	}
	if err == nil {
		return
	}
	if p := fault.ProblemOf(err); p.Code == fault.Internal {
		s.log.Error("a lending call failed", "err", err)
	}
	writeProblem(nil, ctx, err)
}
