package lender

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/federation/lending"
	"trustnode/node/self"
	"trustnode/node/store"
)

// AuditPage answers a request of op audit with the canonical bytes of a lending.AuditPage:
// the borrower's own rows under one permission, from the one with number from (counted from
// 1 among these), with the paths that prove them, and nothing else. It counts nothing; a
// denial leaves a row. Unknown and not the caller's are the same not_found (04 section 6).
func (l *Lender) AuditPage(ctx context.Context, c Call, from uint64) ([]byte, error) {
	ctx, leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	rq, asker, err := l.authenticate(ctx, c.Request)
	if err != nil {
		return nil, refusal(err)
	}
	done, err := l.audits.hold(asker.Agent)
	if err != nil {
		return nil, err
	}
	defer done()
	out, err := l.auditPage(ctx, rq, asker, max(from, 1))
	return out, refusal(err)
}

func (l *Lender) auditPage(ctx context.Context, rq envelope.Verified[lending.ReadRequest], asker self.AgentRow, from uint64) ([]byte, error) {
	k, err := l.permission(ctx, rq.Body().Perm)
	if err != nil {
		return nil, err
	}
	if k.perm.Body().Borrower != rq.Body().Borrower || k.issued.BorrowerOrg != asker.Org {
		return nil, lending.Unknown()
	}
	at, trusted := l.clock()
	if den := lending.MayAudit(rq, k.perm, trusted, at); den != nil {
		return nil, l.refuseAudit(ctx, rq, asker, k, den)
	}
	l.flush(ctx)
	page, err := l.page(ctx, k.perm.ID(), asker.Org, from)
	if err != nil {
		return nil, err
	}
	return page.Bytes()
}

// refuseAudit leaves the row of a denial and returns it.
func (l *Lender) refuseAudit(ctx context.Context, rq envelope.Verified[lending.ReadRequest], asker self.AgentRow, k *known, den *lending.Denial) error {
	at, _ := l.clock()
	n, err := lending.Refuse(rq, den, k.perm.Body().Scope, at, lending.NewSalt())
	if err != nil {
		return err
	}
	if err := l.n.DB.Update(ctx, func(tx store.Tx) error { return l.row(tx, rq, asker, n) }); err != nil {
		return err
	}
	return denied(n.Denial, "")
}

// errPage ends a page.
var errPage = errors.New("the page is full")

// page collects rows that an organization may see.
func (l *Lender) page(ctx context.Context, perm envelope.ID, org did.DID, from uint64) (lending.AuditPage, error) {
	out := lending.AuditPage{Perm: perm}
	if h, err := l.n.Rec.Head(ctx, l.n.Org); err == nil {
		out.Head = h.Note
	} else if !errors.Is(err, attestation.ErrNotFound) {
		return out, err
	}
	waiting, err := l.n.Rec.WaitingRows(ctx, perm.String())
	if err != nil {
		return out, err
	}
	at, after, bytes := uint64(0), uint64(0), 0
	if n, ok := l.pageAfter(pageStart{perm, from}); ok {
		at, after = from-1, n
	}
	prover := l.n.Rec.RowProver()
	seen := map[envelope.ID]bool{}
	take := func(row audit.Row) error {
		if !slices.Contains(row.For, org) || seen[audit.ID(row)] {
			return nil
		}
		seen[audit.ID(row)] = true
		if at++; at < from {
			return nil
		}
		bytes += len(row.Body) + 512
		if len(out.Rows)+len(out.Waiting) >= lending.MaxAuditRows || bytes > lending.MaxAuditBytes {
			out.Next = at
			return errPage
		}
		p, _, err := prover.ProveRow(ctx, audit.ID(row))
		switch {
		case errors.Is(err, attestation.ErrNotFound):
			out.Waiting = append(out.Waiting, row.Body)
		case err != nil:
			return err
		default:
			out.Rows = append(out.Rows, bundle.Row{Event: p.Event, Index: p.Index, Path: joined(p.Path), Row: p.Row, Size: p.Size})
		}
		return nil
	}
	err = l.n.Rec.RowsOfAfter(ctx, perm.String(), after, func(n uint64, row audit.Row) error {
		err := take(row)
		if errors.Is(err, errPage) {
			l.keepPage(pageStart{perm, out.Next}, n-1)
		}
		return err
	})
	for _, row := range waiting {
		if err == nil {
			err = take(row)
		}
	}
	if err != nil && !errors.Is(err, errPage) {
		return out, err
	}
	return out, nil
}

// pageStart is where a page of rows begins, as its borrower names it.
type pageStart struct {
	perm envelope.ID
	from uint64
}

// pageAfter returns the number of the row before a page, where the page before was given
// since this process began. Otherwise the rows are counted from the first.
func (l *Lender) pageAfter(p pageStart) (uint64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok := l.pages[p]
	return n, ok
}

func (l *Lender) keepPage(p pageStart, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pages) >= maxKnown {
		clear(l.pages)
	}
	l.pages[p] = n
}

// joined is a path as a line holds it.
func joined(path []tlog.Hash) []byte {
	var out []byte
	for _, h := range path {
		out = append(out, h[:]...)
	}
	return out
}
