package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/lender"
)

// AuditChecked says whether this node gave somebody what a file holds.
type AuditChecked struct {
	What      string       `json:"what" enum:"receipt,answer,text"`
	Confirmed bool         `json:"confirmed"`
	Why       string       `json:"why,omitempty" doc:"the fact, where it is not confirmed"`
	N         uint64       `json:"n,omitempty" doc:"number of the row"`
	Row       string       `json:"row,omitempty" doc:"id of the row, which GET /api/v1/events/{row}/proof proves"`
	Gone      bool         `json:"gone,omitempty" doc:"the row is its hash alone"`
	Loan      string       `json:"loan,omitempty"`
	Seq       uint64       `json:"seq,omitempty"`
	At        string       `json:"at,omitempty"`
	Entries   []string     `json:"entries,omitempty" doc:"id@rev of what the answer held"`
	Beside    bool         `json:"beside,omitempty" doc:"entries lie beside the receipt without the salt that binds them: nothing is said of them"`
	Readers   []ReaderInfo `json:"readers,omitempty" doc:"of a text: who read an entry that says it"`
}

// auditCheck is the operator's route to check what somebody shows.
func (s *server) auditCheck(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/audit/check", "auditCheck", "Whether this node returned what a receipt, an answer or a text holds", http.StatusOK, func(op huma.Operation) {
		op.MaxBodyBytes = lender.MaxCheck
		op.SkipValidateBody = true
		huma.Register(api, op, func(ctx context.Context, in *struct {
			RawBody []byte `contentType:"application/octet-stream"`
		}) (*struct{ Body AuditChecked }, error) {
			c, err := s.Lender.Check(ctx, in.RawBody)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body AuditChecked }{checkedOf(c)}, nil
		})
	})
}

func checkedOf(c lender.Checked) AuditChecked {
	out := AuditChecked{What: c.What, Confirmed: c.Confirmed, Why: c.Why, N: c.N, Gone: c.Gone, Seq: c.Receipt.Seq, Beside: c.Beside, Readers: readersOf(lender.Readers{Readers: c.Readers}).Readers}
	if !c.Row.IsZero() {
		out.Row = c.Row.String()
	}
	if !c.Receipt.Perm.IsZero() {
		out.Loan, out.At = c.Receipt.Perm.String(), c.Receipt.At.String()
	}
	for _, e := range c.Entries {
		out.Entries = append(out.Entries, e.String())
	}
	return out
}
