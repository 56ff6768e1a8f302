package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/client"
)

// LoanSigned is a read that was signed and not sent: the body of POST /api/v1/reads.
type LoanSigned struct {
	Request    string `json:"request" doc:"compact readrequest, good for 60 s"`
	Permission string `json:"permission" doc:"compact permission"`
}

func (s *server) loanSign(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/loans/sign", "loanSign", "Sign a read as an own agent, for another carrier", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body LoanRead }) (*struct{ Body LoanSigned }, error) {
			b := in.Body
			as, err := readsAs(ctx, b.As)
			if err != nil {
				return nil, s.refuse(err)
			}
			r, err := s.Client.Sign(ctx, client.ReadInput{As: as, Perm: b.Permission, Purpose: b.Purpose, Filter: b.Filter, Query: b.Query, Limit: b.Limit, Cursor: b.Cursor})
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body LoanSigned }{LoanSigned{Request: r.Request, Permission: r.Permission}}, nil
		})
	})
}
