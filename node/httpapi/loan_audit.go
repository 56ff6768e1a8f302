package httpapi

import (
	"trustnode/federation/lending"
	"trustnode/node/lender"
)

func (s *server) auditOf(a lender.Audit) LoanAudit {
	out := LoanAudit{ID: a.ID.String(), Granted: a.Granted, Under: a.Under, GapFree: a.GapFree, Side: map[bool]string{false: "lender", true: "borrower"}[a.Borrowed], Rows: []AuditRow{}, Events: []EventRef{}}
	for _, r := range a.Rows {
		out.Rows = append(out.Rows, rowOf(r))
	}
	for _, g := range a.Gone {
		gone := GoneRead{Seq: g.Seq, N: g.N}
		if g.Erased {
			gone.Erased = &g.At
		}
		out.Gone = append(out.Gone, gone)
	}
	look := s.sight()
	for _, e := range a.Events {
		seen := look.witnessed(e.Org, e.Index)
		out.Events = append(out.Events, EventRef{ID: e.ID.String(), Org: e.Org.String(), Index: e.Index, At: stamp(e.At), Type: e.Type, Subject: e.Subject, Witnessed: &seen})
	}
	return out
}

func rowOf(r lender.AuditRow) AuditRow {
	out := AuditRow{N: r.N, ID: r.ID.String()}
	if r.Bound {
		index := r.Index
		out.Index = &index
	}
	switch v := r.Row.(type) {
	case lending.GrantedRow:
		out.Op, out.Decision, out.Seq, out.At, out.Purpose = v.Op, v.Decision, v.Seq, v.At.String(), v.Purpose
		out.Request, out.Hash = v.Request.String(), v.Hash.String()
		for _, e := range v.Entries {
			out.Entries = append(out.Entries, e.String())
		}
	case lending.DeniedRow:
		out.Op, out.Decision, out.Code, out.At, out.Purpose, out.Request = v.Op, v.Decision, v.Code, v.At.String(), v.Purpose, v.Request.String()
	case lending.ReplayRow:
		out.Op, out.Decision, out.Seq, out.At, out.Purpose = v.Op, v.Decision, v.Seq, v.At.String(), v.Purpose
		out.Request, out.Hash = v.Request.String(), v.Hash.String()
	case lending.IssueRow:
		out.Op, out.At, out.Purpose = v.Op, v.At.String(), v.Purpose
	case lending.RevokeRow:
		out.Op, out.At, out.Purpose = v.Op, v.At.String(), v.Reason
	case lending.GrowthRow:
		out.Op, out.At = v.Op, v.At.String()
	case lending.ReceivedRow: // the borrower's own
		out.Op, out.Seq, out.At, out.Request, out.Hash = v.Op, v.Seq, v.At.String(), v.Request.String(), v.Hash.String()
	case lending.EndedRow:
		out.Op, out.Code, out.At, out.Request = v.Op, string(v.State), v.At.String(), v.Request.String()
	}
	return out
}
