package party

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/mediation"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
)

// loan is the loan a filing is about, and whose its two agents are.
type loan struct {
	lending.Permission
	id               envelope.ID
	bytes            int
	lender, borrower did.DID // organizations
}

// loanOf finds a permission by id or compact form and opens it.
func (p *Party) loanOf(ctx context.Context, text string) (loan, error) {
	id, err := permID(text)
	if err != nil {
		return loan{}, err
	}
	unknown := fault.New(fault.NotFound, "loan", "permission %s is not held here", id).WithHint("list the loans: trustnode loan list")
	v, size, err := stored[lending.Permission](ctx, p, id)
	if errors.Is(err, library.ErrAbsent) {
		return loan{}, unknown
	}
	if err != nil {
		return loan{}, err
	}
	l := loan{Permission: v, id: id, bytes: size}
	if l.lender, err = p.agentOrg(ctx, v.Lender); err != nil {
		return loan{}, err
	}
	l.borrower, err = p.agentOrg(ctx, v.Borrower)
	return l, err
}

func permID(text string) (envelope.ID, error) {
	if id, err := envelope.ParseID(text); err == nil {
		return id, nil
	}
	e, err := envelope.ParseCompact(text, lending.PermissionType, lending.MaxPermission)
	if err != nil {
		return envelope.ID{}, fault.New(fault.Invalid, "loan", "%.60q is neither the id nor the compact form of a permission", text)
	}
	return e.ID(), nil
}

// agentOrg is whose agent a DID is, by the agent objects verified here.
func (p *Party) agentOrg(ctx context.Context, agent did.DID) (did.DID, error) {
	row, err := self.Agent(self.ViewGetter(ctx, p.n.DB), agent)
	if errors.Is(err, self.ErrNoAgent) {
		return did.DID{}, fault.New(fault.NotFound, "agent", "agent %s is not known here", agent)
	}
	return row.Org, err
}

// stored opens a signed object of the library under the key of its agent, whatever the
// state of that agent now, and gives the size of its body.
func stored[T envelope.Body](ctx context.Context, p *Party, id envelope.ID) (T, int, error) {
	var none T
	o, err := p.n.Lib.Get(ctx, id)
	if err != nil {
		return none, 0, err
	}
	e, err := envelope.ParseDSSE(o.Bytes, maxObject)
	if err != nil {
		return none, 0, err
	}
	v, err := envelope.Open[T](ctx, e, self.SignerSource(self.ViewGetter(ctx, p.n.DB)))
	if err != nil {
		return none, 0, err
	}
	if v.ID() != id {
		return none, 0, fmt.Errorf("object %s is stored under %s", v.ID(), id)
	}
	return v.Body(), len(e.Body), nil
}

// ending is the revocation of a loan and where the log holds it.
type ending struct {
	id    envelope.ID
	bytes int
	index uint64
}

// ending finds the first own loan.revoked that ends a loan: of the permission, of its
// borrower, or of the borrower's organization.
func (p *Party) ending(ctx context.Context, l loan) (ending, error) {
	var best *attestation.Fact
	for _, target := range []string{l.id.String(), l.Borrower.String(), l.borrower.String()} {
		facts, err := p.gather(ctx, attestation.Query{Org: p.n.Org, Type: "loan.revoked", Subject: target})
		if err != nil {
			return ending{}, err
		}
		for _, f := range facts {
			if best == nil || f.Index < best.Index {
				best = &f
			}
		}
	}
	if best == nil {
		return ending{}, item("loan %s was never revoked, so nothing can have been read after it; revoke it first: trustnode loan revoke", l.id)
	}
	id := best.Event.Body().Refs[0]
	r, size, err := stored[lending.Revocation](ctx, p, id)
	if err != nil {
		return ending{}, item("item 2, revocation %s, cannot be opened: %v", id, err)
	}
	if r.Issuer != l.Lender {
		return ending{}, item("item 2, revocation %s, is of another lender", id)
	}
	return ending{id: id, bytes: size, index: best.Index}, nil
}

// act is one read after the end: the row of its denial, and the borrower's own signed
// request that the row answers.
type act struct {
	row      lending.DeniedRow
	rowID    envelope.ID
	rowSize  int
	where    mediation.Where
	request  lending.ReadRequest
	reqBytes int
}

// acts gathers what this node's own rows show of reads after the end, each request once
// and in the order of the log, at most maxActs.
func (p *Party) acts(ctx context.Context, l loan, end ending) ([]act, error) {
	var out []act
	counted := map[envelope.ID]bool{}
	err := p.n.Rec.RowsOf(ctx, l.id.String(), func(_ uint64, r audit.Row) error {
		row, ok := denied(r, l)
		if !ok || counted[row.Request] || len(out) == maxActs {
			return nil
		}
		a, ok, err := p.act(ctx, l, end, r, row)
		if err == nil && ok {
			counted[row.Request] = true
			out = append(out, a)
		}
		return err
	})
	return out, err
}

// denied reads a row as the refusal of a read because access had ended. The second
// delivery of an old request is no read, and asking for the state is none either.
func denied(r audit.Row, l loan) (lending.DeniedRow, bool) {
	parsed, err := lending.ParseRow(r.Body)
	row, ok := parsed.(lending.DeniedRow)
	if err != nil || !ok || row.Perm != l.id || row.Borrower != l.Borrower || row.Code != string(lending.Revoked) {
		return lending.DeniedRow{}, false
	}
	return row, slices.Contains([]string{lending.OpRead, lending.OpDiscover, lending.OpWrite}, row.Op)
}

// act makes sure that a row lies after the end and that its request is the borrower's.
func (p *Party) act(ctx context.Context, l loan, end ending, r audit.Row, row lending.DeniedRow) (act, bool, error) {
	id := audit.ID(r)
	proof, index, err := p.n.Rec.ProveRow(ctx, id)
	if errors.Is(err, attestation.ErrNotFound) || err == nil && index <= end.index {
		return act{}, false, nil
	}
	if err != nil {
		return act{}, false, err
	}
	rq, size, err := stored[lending.ReadRequest](ctx, p, row.Request)
	if errors.Is(err, library.ErrAbsent) || err == nil && (rq.Perm != l.id || rq.Borrower != l.Borrower) {
		return act{}, false, nil
	}
	if err != nil {
		return act{}, false, item("request %s of row %s cannot be opened: %v", row.Request, id, err)
	}
	leaf := proof.Index
	return act{row: row, rowID: id, rowSize: len(r.Body), request: rq, reqBytes: size,
		where: mediation.Where{Index: index, Org: p.n.Org, Row: &leaf}}, true, nil
}

// evidence is a claim of reads after the end, with what proves it.
type evidence struct {
	claim    mediation.Claim
	manifest mediation.Manifest
	facts    attestation.Facts
}

// afterEnd makes claim R1 of what this node holds.
func (p *Party) afterEnd(ctx context.Context, l loan) (evidence, error) {
	if l.lender != p.n.Org {
		return evidence{}, fault.New(fault.Refused, "not_yours", "R1 is the claim of the lender, %s", l.lender)
	}
	end, err := p.ending(ctx, l)
	if err != nil {
		return evidence{}, err
	}
	acts, err := p.acts(ctx, l, end)
	if err != nil {
		return evidence{}, err
	}
	if len(acts) == 0 {
		return evidence{}, item("no signed request of %s was refused after the revocation at index %d; see: trustnode loan audit %s", l.Borrower, end.index, l.id)
	}
	e := evidence{claim: mediation.Claim{Acts: uint64(len(acts)), Code: "R1", N: 1, Perm: l.id, Subject: l.Borrower}}
	e.claim.FirstAt, e.claim.LastAt = acts[0].row.At, acts[0].row.At
	for _, a := range acts {
		e.claim.FirstAt, e.claim.LastAt = earlier(e.claim.FirstAt, a.row.At), laterOf(e.claim.LastAt, a.row.At)
	}
	e.manifest = manifestOf(l, end, acts, p.n.Org)
	e.facts, err = p.numbers(ctx, l, e.claim, acts)
	return e, err
}

func earlier(a, b envelope.Time) envelope.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func laterOf(a, b envelope.Time) envelope.Time {
	if b.After(a) {
		return b
	}
	return a
}

// manifestOf lists the items: permission, revocation, then each row with its request.
func manifestOf(l loan, end ending, acts []act, org did.DID) mediation.Manifest {
	m := mediation.Manifest{Salt: random16()}
	add := func(kind string, id envelope.ID, size int, where *mediation.Where) {
		m.Items = append(m.Items, mediation.Item{Bytes: uint64(size), Claims: []uint64{1}, ID: id, Kind: kind, N: uint64(len(m.Items)) + 1, Where: where})
	}
	add("permission", l.id, l.bytes, nil)
	add("revocation", end.id, end.bytes, &mediation.Where{Index: end.index, Org: org})
	for _, a := range acts {
		add("row", a.rowID, a.rowSize, &a.where)
		add("readrequest", a.row.Request, a.reqBytes, nil)
	}
	return m
}

// numbers are the facts of a claim: what a band and a jury weigh.
func (p *Party) numbers(ctx context.Context, l loan, c mediation.Claim, acts []act) (attestation.Facts, error) {
	distinct := map[string]bool{}
	for _, a := range acts {
		distinct[a.request.Filter.String()] = true
	}
	out := attestation.Facts{Acts: c.Acts, AfterNotice: c.Acts - 1, Distinct: uint64(len(distinct)), N: c.N,
		SpanS: uint64(c.LastAt.Sub(c.FirstAt) / time.Second)}
	prior, err := p.prior(ctx, c.Subject, c.FirstAt.Time())
	if err != nil {
		return out, err
	}
	out.Prior = prior
	seen, err := p.gather(ctx, attestation.Query{Org: l.borrower, Type: "loan.end_seen", Subject: l.id.String()})
	for _, f := range seen {
		var d attestation.LoanEndSeen
		if f.Event.Body().Decode(&d) == nil && d.Verified {
			out.Surfaced = 1
		}
	}
	return out, err
}

// prior counts final violations of a subject in the quarter before a moment.
func (p *Party) prior(ctx context.Context, subject did.DID, at time.Time) (uint64, error) {
	cases, err := p.Cases(ctx, at)
	if err != nil {
		return 0, err
	}
	var n uint64
	for _, c := range cases {
		for _, e := range c.Effects() {
			if e.Subject == subject && at.Sub(e.At) <= priorWindow {
				n++
			}
		}
	}
	return n, nil
}
