package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Loans lists the permissions known here of which an own agent is the borrower, newest
// end first, at most MaxLoans: those used, and those a lender's log names.
func (c *Client) Loans(ctx context.Context) ([]Loan, error) {
	found := map[envelope.ID]Loan{}
	if err := c.offered(ctx, found); err != nil {
		return nil, fault.From(err)
	}
	ids, err := c.scanIDs(ctx, keyLoan, nil)
	if err != nil {
		return nil, fault.From(err)
	}
	for _, id := range ids {
		row, _, err := store.GetRow[loanRow](viewOf(ctx, c), idKey(keyLoan, id))
		if err != nil {
			return nil, fault.From(err)
		}
		found[id] = merge(found[id], id, row)
	}
	out := make([]Loan, 0, len(found))
	for _, l := range found {
		if l, err = c.filled(ctx, l); err != nil {
			return nil, fault.From(err)
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b Loan) int {
		return cmp.Or(b.ExpiresAt.Compare(a.ExpiresAt), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return out, nil
}

// offered collects the loans to own agents that lenders' logs name.
func (c *Client) offered(ctx context.Context, found map[envelope.ID]Loan) error {
	for f, err := range c.n.Rec.Facts(ctx, attestation.Query{Type: "loan.issued"}) {
		if err != nil {
			return err
		}
		var d attestation.LoanIssued
		if len(found) >= MaxLoans || f.Event.Body().Decode(&d) != nil {
			continue
		}
		ok, err := c.ours(ctx, d, f)
		if err != nil {
			return err
		}
		if ok {
			found[d.Permission] = Loan{ID: d.Permission, Lender: d.Lender, Borrower: d.Borrower, ExpiresAt: d.ExpiresAt.Time(), MaxReads: d.MaxReads, Left: d.MaxReads, State: lending.Valid}
		}
	}
	return nil
}

// ours says whether a loan.issued is its lender's word about a loan to an own agent.
func (c *Client) ours(ctx context.Context, d attestation.LoanIssued, f attestation.Fact) (bool, error) {
	borrower, err := self.Agent(viewOf(ctx, c), d.Borrower)
	if err != nil || borrower.Org != c.n.Org {
		return false, unlessUnknown(err)
	}
	lender, err := self.Agent(viewOf(ctx, c), d.Lender)
	return err == nil && lender.Org == f.Event.Body().Org, unlessUnknown(err)
}

func unlessUnknown(err error) error {
	if errors.Is(err, self.ErrNoAgent) {
		return nil
	}
	return err
}

func merge(l Loan, id envelope.ID, row loanRow) Loan {
	anchored := !l.ID.IsZero()
	l.ID, l.Lender, l.Borrower = id, row.Lender, row.Borrower
	l.Reads, l.Left, l.State, l.EndedBy = row.Reads, row.Left, row.State, row.EndedBy
	if l.State == lending.Valid && row.Heard != "" {
		l.State = row.Heard
	}
	l.Unanchored = !anchored && !row.First.IsZero()
	return l
}

// filled adds what the permission's own bytes say, and what the clock does.
func (c *Client) filled(ctx context.Context, l Loan) (Loan, error) {
	o, err := c.n.Lib.Get(ctx, l.ID)
	if err != nil && !errors.Is(err, library.ErrAbsent) {
		return l, err
	}
	if err == nil {
		e, err := envelope.ParseDSSE(o.Bytes, maxObject)
		if err != nil {
			return l, err
		}
		p, err := envelope.Decode[lending.Permission](e)
		if err != nil {
			return l, err
		}
		if l.Compact, err = e.Compact(); err != nil {
			return l, err
		}
		l.Permission, l.ExpiresAt, l.MaxReads = &p, p.ExpiresAt.Time(), p.MaxReads
	}
	at, err := c.n.Clock.Now()
	if err == nil && l.State == lending.Valid && !l.ExpiresAt.IsZero() && !at.Before(l.ExpiresAt) {
		l.State = lending.Expired
	}
	if row, ok, _ := store.GetRow[loanRow](viewOf(ctx, c), idKey(keyLoan, l.ID)); ok && l.Unanchored {
		l.Unanchored = err == nil && at.Sub(row.First.Time()) >= anchorTime
	}
	return l, nil
}

// Loan gives one, by id or compact form.
func (c *Client) Loan(ctx context.Context, idOrCompact string) (Loan, error) {
	id, _, err := resolve(idOrCompact)
	if err != nil {
		return Loan{}, err
	}
	all, err := c.Loans(ctx)
	if err != nil {
		return Loan{}, err
	}
	for _, l := range all {
		if l.ID == id {
			return l, nil
		}
	}
	return Loan{}, fault.New(fault.NotFound, "permission", "no loan %s to an agent of this organization is known here", id).
		WithHint("trustnode loan list shows the loans")
}

// Receipts lists the granted answers kept of a permission, by seq.
func (c *Client) Receipts(ctx context.Context, idOrCompact string) ([]Pair, error) {
	id, _, err := resolve(idOrCompact)
	if err != nil {
		return nil, err
	}
	var out []Pair
	var bad error
	prefix := []byte(keyPair + id.String() + "/")
	err = c.n.DB.View(ctx, func(r store.Reader) error {
		out, bad = nil, nil
		return r.Scan(prefix, nil, func(k, v []byte) bool {
			var row pairRow
			seq := bytes.TrimPrefix(k, prefix)
			if bad = envelope.Unmarshal(v, &row); bad != nil || len(seq) != 8 {
				return false
			}
			out = append(out, Pair{Seq: binary.BigEndian.Uint64(seq), Request: row.Request, Receipt: row.Receipt, Hash: row.Hash, At: row.At.Time()})
			return true
		})
	})
	if err = errors.Join(err, bad); err != nil {
		return nil, fault.From(err)
	}
	return out, nil
}
