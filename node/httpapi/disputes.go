package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/attestation/trust"
	"trustnode/did"
	"trustnode/mediation"
	"trustnode/node/fault"
	"trustnode/node/party"
)

// CasePath names a case in the path.
type CasePath struct {
	ID string `path:"id" maxLength:"128"`
}

// caseOut answers with one case.
type caseOut struct{ Body Case }

// bytesOut answers with a file.
type bytesOut struct {
	ContentType string `header:"Content-Type"`
	ETag        string `header:"ETag"`
	Body        []byte
}

func (s *server) disputes(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/disputes", "disputeFile", "File a case; the node attaches what proves it", http.StatusCreated, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body DisputeFile }) (*caseOut, error) {
			v, err := s.Party.File(ctx, party.Filing{Loan: in.Body.Loan, Reason: in.Body.Reason, Relief: in.Body.Relief})
			return s.oneCase(v, err)
		})
	})
	s.route(api, http.MethodGet, "/api/v1/disputes", "disputeList", "List the cases this node knows", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, _ *struct{}) (*struct{ Body Cases }, error) {
			vs, err := s.Party.List(ctx)
			if err != nil {
				return nil, s.refuse(err)
			}
			out := Cases{Cases: []Case{}}
			for _, v := range vs {
				out.Cases = append(out.Cases, caseOf(v))
			}
			return &struct{ Body Cases }{out}, nil
		})
	})
	s.route(api, http.MethodGet, "/api/v1/disputes/{id}", "disputeShow", "Show a case, its evidence and its next step", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *CasePath) (*caseOut, error) {
			v, err := s.Party.Show(ctx, in.ID)
			return s.oneCase(v, err)
		})
	})
	s.route(api, http.MethodPost, "/api/v1/disputes/{id}/answer", "disputeAnswer", "Answer a case as its respondent", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			CasePath
			Body DisputeAnswer
		}) (*caseOut, error) {
			v, err := s.Party.Answer(ctx, in.ID, party.Reply{Deny: in.Body.Deny, Admit: in.Body.Admit, Text: in.Body.Text})
			return s.oneCase(v, err)
		})
	})
	s.route(api, http.MethodPost, "/api/v1/disputes/{id}/rule", "disputeRule", "Rule on a case as its mediator", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			CasePath
			Body DisputeRule
		}) (*caseOut, error) {
			b := in.Body
			v, err := s.Party.Rule(ctx, in.ID, party.Verdict{Outcome: b.Outcome, Severity: b.Severity, Reasons: b.Reasons, Summary: b.Summary})
			return s.oneCase(v, err)
		})
	})
	s.route(api, http.MethodGet, "/api/v1/disputes/{id}/export", "disputeExport", "Export the case file", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *CasePath) (*bytesOut, error) {
			b, err := s.Party.Export(ctx, in.ID)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &bytesOut{ContentType: "application/octet-stream", Body: b}, nil
		})
	})
}

func (s *server) oneCase(v party.View, err error) (*caseOut, error) {
	if err != nil {
		return nil, s.refuse(err)
	}
	return &caseOut{caseOf(v)}, nil
}

// caseOf says a case in JSON.
func caseOf(v party.View) Case {
	c := v.Case
	out := Case{ID: c.ID.String(), State: string(c.State), Claimant: c.Claimant.String(), Respondent: c.Respondent.String(), Track: c.Dispute.Track,
		Unwitness: c.Unwitnessed, Role: v.Role, Answer: v.Answer, Claims: []Claim{}}
	switch {
	case !c.Mediator.IsZero():
		out.Mediator = c.Mediator.String()
	case !c.Candidate.IsZero():
		out.Mediator = c.Candidate.String()
	}
	if next, at := c.Next(); next != "" {
		out.Next, out.Deadline = string(next), stamp(at)
	}
	for i, cl := range c.Dispute.Claims {
		out.Claims = append(out.Claims, claimOf(v, i, cl))
	}
	for _, it := range v.Report.Items {
		out.Items = append(out.Items, Item{N: int(it.N), Kind: it.Item.Kind, ID: it.Item.ID.String(), By: it.By.String(), Finding: string(it.Grade), Why: it.Why})
	}
	for _, e := range c.Events {
		out.Events = append(out.Events, EventRef{ID: e.ID.String(), Org: e.Org.String(), Index: e.Index, At: stamp(e.At), Type: string(e.Type)})
	}
	if d := c.Decision; d != nil {
		out.Outcome = d.Outcome
		out.Ruling = &RulingInfo{ID: d.ID.String(), Event: d.Event.String(), By: d.By.String(), Outcome: d.Outcome, Summary: d.Summary, Reasons: v.Reasons, At: stamp(d.At)}
	}
	return out
}

func claimOf(v party.View, i int, cl mediation.Claim) Claim {
	out := Claim{N: int(cl.N), Code: cl.Code, Perm: cl.Perm.String(), Subject: cl.Subject.String(), Acts: int(cl.Acts), Reply: v.Case.Replies[cl.N], Finding: "open"}
	if i < len(v.Report.Claims) {
		out.Proven, out.Finding = int(v.Report.Claims[i].Acts), v.Report.Claims[i].Finding
	}
	if d := v.Case.Decision; d != nil && i < len(d.Claims) {
		out.Result, out.Severity = d.Claims[i].Result, int(d.Claims[i].Severity)
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// trustRoute is open to anyone: a score is signed and made of what every member holds.
func (s *server) trustRoute(api huma.API) {
	op := huma.Operation{OperationID: "trustShow", Method: http.MethodGet, Path: "/api/v1/trust/{did}", Summary: "The signed score of a DID, as of a moment"}
	huma.Register(api, op, func(ctx context.Context, in *struct {
		DID         string `path:"did" maxLength:"2048"`
		AsOf        string `query:"as_of" doc:"a moment; default the last full hour"`
		Perspective string `query:"perspective" doc:"a DID whose partners count full"`
	}) (*bytesOut, error) {
		subject, asOf, view, err := score(in.DID, in.AsOf, in.Perspective)
		if err != nil {
			return nil, s.refuse(err)
		}
		signed, err := s.Oracle.Show(ctx, subject, asOf, view)
		if err != nil {
			return nil, s.refuse(err)
		}
		return &bytesOut{ContentType: "application/vnd.dsse+json", ETag: `"` + signed.Envelope.ID().String() + `"`, Body: signed.Envelope.DSSE()}, nil
	})
}

func score(who, asOf, perspective string) (d did.DID, at time.Time, v did.DID, err error) {
	if d, err = did.Parse(who); err != nil {
		return d, at, v, fault.Wrap(fault.Invalid, "did", err)
	}
	if asOf != "" {
		if at, err = time.Parse(time.RFC3339, asOf); err != nil {
			return d, at, v, fault.New(fault.Invalid, "as_of", "as_of is %.40q", asOf).WithHint("write it as 2026-12-01T10:00:00Z")
		}
	}
	if perspective != "" && perspective != (trust.View{}).String() {
		if v, err = did.Parse(perspective); err != nil {
			return d, at, v, fault.Wrap(fault.Invalid, "perspective", err)
		}
	}
	return d, at, v, nil
}
