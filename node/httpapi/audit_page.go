package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/client"
	"trustnode/node/fault"
	"trustnode/node/lender"
)

// auditPage serves a borrower its own rows, by its signed request.
func (s *server) auditPage(api huma.API) {
	huma.Register(api, huma.Operation{OperationID: "auditRows", Method: http.MethodGet, Path: "/api/v1/audit",
		Summary: "A borrower's own rows under a permission with their paths, by a signed readrequest of op audit", Errors: []int{400, 401, 404, 429, 503}},
		func(ctx context.Context, in *struct {
			Request string `header:"Trustnode-Request" maxLength:"8192" doc:"compact readrequest of op audit"`
			Perm    string `query:"perm" maxLength:"128" doc:"id of the permission, the one that the request names"`
			FromSeq uint64 `query:"from_seq" doc:"row to begin with, counted from 1 among these; next of the page before"`
		}) (*bytesOut, error) {
			if err := names(in.Request, in.Perm); err != nil {
				return nil, s.refuse(err)
			}
			page, err := s.Lender.AuditPage(ctx, lender.Call{Request: in.Request}, in.FromSeq)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &bytesOut{ContentType: "application/json", Body: page}, nil
		})
}

// names refuses a query for another permission than the signed request's.
func names(request, perm string) error {
	e, err := envelope.ParseCompact(request, lending.ReadRequestType, lending.MaxRequest)
	if err != nil {
		return err
	}
	rq, err := envelope.Decode[lending.ReadRequest](e)
	if err != nil {
		return err
	}
	if rq.Perm.String() != perm {
		return fault.New(fault.Invalid, "permission", "the query names permission %.80q, the request another one", perm).WithHint("name the same in both")
	}
	return nil
}

// LoanCompare asks to hold a lender's rows to the receipts kept here.
type LoanCompare struct {
	As         string `json:"as" doc:"own agent that the permission is for, by name or DID"`
	Permission string `json:"permission" doc:"id or compact form"`
}

// LoanCompared is what that came to.
type LoanCompared struct {
	ID        string     `json:"id" doc:"id of the permission"`
	Rows      int        `json:"rows" doc:"that the lender showed"`
	Proven    int        `json:"proven" doc:"of these, under the lender's log as it is held here"`
	Agree     int        `json:"agree" doc:"answers on which both sides say the same"`
	Missing   []Mismatch `json:"missing" doc:"received here, and the lender shows no row"`
	Extra     []Mismatch `json:"extra" doc:"the lender shows a row, and nothing of it is kept here"`
	Different []Mismatch `json:"different" doc:"row and receipt say different things"`
}

// Mismatch is one act on which both sides disagree.
type Mismatch struct {
	Seq     uint64 `json:"seq,omitempty"`
	Row     string `json:"row,omitempty"`
	Request string `json:"request,omitempty"`
	Why     string `json:"why"`
}

// compare is the operator's route of the borrower's side.
func (s *server) compare(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/loans/compare", "loanCompare", "Hold a lender's rows to the receipts kept here", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body LoanCompare }) (*struct{ Body LoanCompared }, error) {
			c, err := s.Client.Compare(ctx, in.Body.As, in.Body.Permission)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body LoanCompared }{comparedOf(c)}, nil
		})
	})
}

func comparedOf(c client.Compared) LoanCompared {
	return LoanCompared{ID: c.Perm.String(), Rows: c.Rows, Proven: c.Proven, Agree: c.Agree, Missing: mismatches(c.Missing), Extra: mismatches(c.Extra), Different: mismatches(c.Different)}
}

func mismatches(ms []client.Mismatch) []Mismatch {
	out := []Mismatch{}
	for _, m := range ms {
		x := Mismatch{Seq: m.Seq, Why: m.Why}
		if !m.Row.IsZero() {
			x.Row = m.Row.String()
		}
		if !m.Request.IsZero() {
			x.Request = m.Request.String()
		}
		out = append(out, x)
	}
	return out
}
