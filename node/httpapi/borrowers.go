package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// BorrowerRevoked says what the revocation of a borrower did.
type BorrowerRevoked struct {
	ID       string `json:"id" doc:"id of the revocation"`
	Borrower string `json:"borrower"`
	At       string `json:"at"`
	Reason   string `json:"reason" doc:"of the first revocation, which stays"`
	Before   bool   `json:"before" doc:"it was revoked before, and nothing changed"`
	Loans    int    `json:"loans" doc:"open loans that ended by it"`
	Reads    uint64 `json:"reads" doc:"reads granted under these before it"`
}

// borrowers are the operator's routes about who borrows.
func (s *server) borrowers(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/borrowers/{borrower}/revoke", "borrowerRevoke", "End every loan to an agent or an organization, at once and for good", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			Borrower string `path:"borrower" maxLength:"2048" doc:"DID of an agent or an organization, or name of an own agent"`
			Body     LoanRevoke
		}) (*struct{ Body BorrowerRevoked }, error) {
			r, err := s.Lender.RevokeBorrower(ctx, in.Borrower, in.Body.Reason, in.Body.Text)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body BorrowerRevoked }{BorrowerRevoked{ID: r.ID.String(), Borrower: r.Target.String(), At: stamp(r.At), Reason: r.Reason, Before: r.Before, Loans: r.Loans, Reads: r.Reads}}, nil
		})
	})
}
