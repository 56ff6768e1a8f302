package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/did"
	"trustnode/did/strictjson"
	"trustnode/federation/lending"
	"trustnode/node/client"
	"trustnode/node/fault"
	"trustnode/node/lender"
	"trustnode/node/memory"
	"trustnode/node/self"
)

// borrower serves what a borrower's agent proves by its own signed request.
func (s *server) borrower(api huma.API) {
	// The body is parsed here, strictly; huma would take a raw JSON body for a string.
	huma.Register(api, huma.Operation{OperationID: "read", Method: http.MethodPost, Path: "/api/v1/reads", MaxBodyBytes: maxReadBody, BodyReadTimeout: bodyTimeout, SkipValidateBody: true,
		Summary: "Read under a permission, by a signed readrequest", Errors: []int{400, 401, 403, 404, 409, 413, 422, 429, 503}},
		func(_ context.Context, in *callIn) (*huma.StreamResponse, error) {
			return &huma.StreamResponse{Body: func(ctx huma.Context) { s.read(ctx, in) }}, nil
		})
	huma.Register(api, huma.Operation{OperationID: "permissionStatus", Method: http.MethodGet, Path: "/api/v1/permissions/{id}/status",
		Summary: "The state of a permission as the lender's signed receipt, by a signed readrequest", Errors: []int{400, 401, 404, 503}},
		func(ctx context.Context, in *struct {
			ID      string `path:"id" maxLength:"128"`
			Request string `header:"Trustnode-Request" maxLength:"8192" doc:"compact readrequest of op status"`
		}) (*bytesOut, error) {
			receipt, err := s.Lender.Status(ctx, lender.Call{Request: in.Request})
			if err != nil {
				return nil, s.refuse(err)
			}
			return &bytesOut{ContentType: "text/plain; charset=utf-8", Body: []byte(receipt)}, nil
		})
}

// callIn is the body of a read: exact, whatever a JSON library would forgive.
type callIn struct {
	RawBody []byte `contentType:"application/json" doc:"{\"request\":\"<compact readrequest>\",\"permission\":\"<compact, if the lender may lack it>\"}"`
}

const (
	callDepth = 2
	sendTime  = 30 * time.Second // for an answer to be taken by the borrower's connection
)

// parse reads request and permission; what is unknown, doubled or of another case is refused.
func (in *callIn) parse() (lender.Call, error) {
	doc, err := strictjson.Parse(in.RawBody, callDepth)
	if err != nil {
		return lender.Call{}, fault.Wrap(fault.Invalid, "form", err)
	}
	var c lender.Call
	for _, m := range doc.Members() {
		text, ok := m.Value.Text()
		switch {
		case !ok:
			return lender.Call{}, fault.New(fault.Invalid, "form", "%s is not a text", m.Name)
		case m.Name == "request":
			c.Request = text
		case m.Name == "permission":
			c.Permission = text
		default:
			return lender.Call{}, fault.New(fault.Invalid, "form", "%.40q is not known", m.Name)
		}
	}
	if doc.Kind() != strictjson.Object || c.Request == "" {
		return lender.Call{}, fault.New(fault.Invalid, "form", "no request in the body")
	}
	return c, nil
}

// read answers while the lender holds the loan's lock: after a revocation returned, no
// byte of the loan leaves.
func (s *server) read(ctx huma.Context, in *callIn) {
	call, err := in.parse()
	if err == nil {
		call.Send = &release{ctx: ctx, within: sendTime}
		err = s.Lender.Read(ctx.Context(), call)
	}
	if err == nil {
		return
	}
	if p := fault.ProblemOf(err); p.Code == fault.Internal {
		s.log.Error("read failed", "err", err)
	}
	writeProblem(nil, ctx, err)
}

// release writes one answer to an HTTP connection, within a time: a caller that does not
// read holds a place among the calls under way no longer.
type release struct {
	ctx    huma.Context
	within time.Duration

	mu      sync.Mutex
	aborted bool // guarded by mu
}

// errAborted says that the loan ended before the answer was written.
var errAborted = errors.New("the answer was held back")

func (r *release) Send(answer []byte) error {
	if err := r.begin(); err != nil {
		return err
	}
	r.ctx.SetHeader("Content-Type", "application/json")
	r.ctx.SetHeader("Content-Length", fmt.Sprint(len(answer)))
	r.ctx.SetStatus(http.StatusOK)
	if _, err := r.ctx.BodyWriter().Write(answer); err != nil {
		return err
	}
	return known(r.control().Flush()) // the bytes are with the kernel before the lock is let go
}

// begin sets the time by which the answer is written, unless it was aborted.
func (r *release) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.aborted {
		return errAborted
	}
	return known(r.control().SetWriteDeadline(time.Now().Add(r.within)))
}

// known leaves out that a caller in this process, whom nothing can block, has no deadlines.
func known(err error) error {
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// Abort makes a write under way fail at once.
func (r *release) Abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.aborted = true
	_ = r.control().SetWriteDeadline(time.Unix(1, 0))
}

func (r *release) control() *http.ResponseController {
	w, _ := r.ctx.BodyWriter().(http.ResponseWriter)
	return http.NewResponseController(w)
}

// loans are the operator's routes about permissions, lent and borrowed.
func (s *server) loans(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/permissions", "loanIssue", "Issue a permission, or preview one", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body LoanIssue }) (*struct{ Body Loan }, error) {
			b := in.Body
			l, err := s.Lender.Issue(ctx, lender.IssueInput{Lender: b.Lender, Borrower: b.Borrower, Scope: b.Scope, Purpose: b.Purpose, Expires: b.Expires,
				MaxReads: b.MaxReads, Patterns: b.Patterns, Preview: b.Preview})
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Loan }{lent(l)}, nil
		})
	})
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
			r, err := s.Client.Read(ctx, client.ReadInput{As: as, Perm: b.Permission, Purpose: b.Purpose, Filter: b.Filter, Limit: b.Limit, Cursor: b.Cursor})
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
		ExpiresAt: p.ExpiresAt.String(), MaxReads: p.MaxReads, Reads: l.Reads, Left: l.Left, State: string(l.State), Role: "lender",
		Matches: int(l.Matches), Hygiene: l.Hygiene, Words: l.Words}
	if !l.ID.IsZero() {
		out.ID = l.ID.String()
	}
	return out
}

func borrowed(l client.Loan) Loan {
	out := Loan{ID: l.ID.String(), Permission: l.Compact, Lender: l.Lender.String(), Borrower: l.Borrower.String(), ExpiresAt: stamp(l.ExpiresAt),
		MaxReads: l.MaxReads, Reads: l.Reads, Left: l.Left, State: string(l.State), Role: "borrower"}
	if l.Permission != nil {
		out.Scope, out.Purpose = l.Permission.Scope.String(), l.Permission.Purpose
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
	out := LoanAnswer{Entries: []any{}, Status: string(r.Receipt.State), Cursor: r.Cursor, Permission: r.Perm.String(),
		Receipt: ReceiptInfo{ID: r.ReceiptID.String(), Seq: r.Receipt.Seq, Left: r.Receipt.Left, At: r.Receipt.At.String(), Hash: r.Receipt.Hash.String()}}
	for _, e := range r.Entries {
		out.Entries = append(out.Entries, json.RawMessage(e))
	}
	return out
}

func (s *server) auditOf(a lender.Audit) LoanAudit {
	out := LoanAudit{ID: a.ID.String(), Granted: a.Granted, GapFree: a.GapFree, Side: map[bool]string{false: "lender", true: "borrower"}[a.Borrowed], Rows: []AuditRow{}, Events: []EventRef{}}
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
	case lending.ReceivedRow: // the borrower's own
		out.Op, out.Seq, out.At, out.Request, out.Hash = v.Op, v.Seq, v.At.String(), v.Request.String(), v.Hash.String()
	case lending.EndedRow:
		out.Op, out.Code, out.At, out.Request = v.Op, string(v.State), v.At.String(), v.Request.String()
	}
	return out
}

// memory are the operator's routes about its own entries.
func (s *server) memory(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/memory", "memoryAdd", "Add one entry", http.StatusCreated, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body MemoryAdd }) (*struct{ Body Entry }, error) {
			b := in.Body
			e, err := s.Lender.AddEntry(ctx, lender.AddInput{Agent: b.Agent, Project: b.Project, Statement: b.Statement, Kind: b.Kind, Tags: b.Tags})
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Entry }{entryOf(e)}, nil
		})
	})
	s.route(api, http.MethodGet, "/api/v1/memory", "memoryList", "List entries, newest first", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			Project string `query:"project"`
			Limit   int    `query:"limit" minimum:"0"`
		}) (*struct{ Body Entries }, error) {
			l, err := s.Lender.Entries(ctx, lender.ListInput{Project: in.Project, Limit: in.Limit})
			if err != nil {
				return nil, s.refuse(err)
			}
			out := Entries{Entries: []Entry{}, Total: l.Total}
			for _, e := range l.Entries {
				out.Entries = append(out.Entries, entryOf(e))
			}
			return &struct{ Body Entries }{out}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/memory/tags", "memoryTag", "Change tags, release from quarantine", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body MemoryTag }) (*struct{ Body Tagged }, error) {
			b := in.Body
			t, err := s.Lender.Tag(ctx, lender.TagInput{Project: b.Project, IDs: b.IDs, All: b.All, Add: b.Add, Remove: b.Remove, Release: b.Release})
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Tagged }{Tagged{Changed: t.Changed, Released: t.Released}}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/memory/imports", "memoryImport", "Import a memory file as it is streamed", http.StatusOK, func(op huma.Operation) {
		op.MaxBodyBytes, op.BodyReadTimeout = -1, -1 // read as it comes, under the importer's own caps
		huma.Register(api, op, s.importFile)
	})
}

// importIn reads the file from the connection, never whole into memory.
type importIn struct {
	Agent   string `query:"agent" required:"true"`
	Project string `query:"project"`
	Format  string `query:"format"`
	file    io.Reader
}

// Resolve implements huma.Resolver.
func (in *importIn) Resolve(ctx huma.Context) []error {
	in.file = ctx.BodyReader()
	return nil
}

func (s *server) importFile(ctx context.Context, in *importIn) (*struct{ Body Imported }, error) {
	r, err := s.Lender.Import(ctx, lender.ImportInput{Agent: in.Agent, Project: in.Project, Format: in.Format, File: in.file})
	if err != nil {
		return nil, s.refuse(err)
	}
	out := Imported{Imported: r.Imported, Known: r.Repeated, Rejected: []Rejected{}, Tags: []TagCount{}}
	for _, x := range r.Rejected {
		out.Rejected = append(out.Rejected, Rejected{Line: x.Line, Reason: x.Reason, Detail: x.Detail})
	}
	for _, tag := range slices.Sorted(maps.Keys(r.Tags)) {
		out.Tags = append(out.Tags, TagCount{Tag: tag, N: r.Tags[tag]})
	}
	return &struct{ Body Imported }{out}, nil
}

func entryOf(e memory.Entry) Entry {
	return Entry{ID: e.ID, Rev: e.Rev, Project: e.Place.Project(), Category: e.Kind.Category(), Kind: e.Kind.String(), Statement: e.Statement, Tags: e.Tags,
		Trust: e.Trust.String(), State: e.State.String(), Created: stamp(e.Created)}
}
