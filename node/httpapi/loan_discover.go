package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/client"
)

// loanDiscover is the borrower's side of a discovery.
func (s *server) loanDiscover(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/loans/discover", "loanDiscover", "Which tags there are under a permission, as an own agent", http.StatusOK, func(op huma.Operation) {
		op.Security = operatorOrAgent
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body LoanDiscover }) (*struct{ Body LoanTags }, error) {
			b := in.Body
			as, err := readsAs(ctx, b.As)
			if err != nil {
				return nil, s.refuse(err)
			}
			d, err := s.Client.Discover(ctx, client.DiscoverInput{As: as, Perm: b.Permission, Purpose: b.Purpose, Filter: b.Filter})
			if err == nil {
				err = s.stillCalls(ctx)
			}
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body LoanTags }{LoanTags{Permission: d.Perm.String(), Tags: append([]string{}, d.Tags...), Withheld: d.Withheld,
				Receipt: ReceiptInfo{ID: d.ReceiptID.String(), Seq: d.Receipt.Seq, Left: d.Receipt.Left, At: d.Receipt.At.String(), Hash: d.Receipt.Hash.String()}}}, nil
		})
	})
}
