package client

import (
	"context"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/fault"
)

// SignedPair is one read of an own agent with what proves it.
type SignedPair struct {
	Pair
	Compact string // the lender's receipt; empty where its bytes are gone
}

// SignedReceipts returns the receipts of an own agent's reads under a permission, from a seq
// on, at most MaxReceipts. The permission of another agent is like one that is not here.
func (c *Client) SignedReceipts(ctx context.Context, agent did.DID, perm string, from uint64) ([]SignedPair, error) {
	id, _, err := resolve(perm)
	if err != nil {
		return nil, err
	}
	a, err := c.agent(viewOf(ctx, c), agent.String())
	if err != nil {
		return nil, err
	}
	l, err := c.Loan(ctx, perm)
	if fault.Of(err) == fault.NotFound || err == nil && l.Borrower != a.Agent {
		err = errNoLoan(a, id)
	}
	if err != nil {
		return nil, err
	}
	all, err := c.Receipts(ctx, perm)
	if err != nil {
		return nil, err
	}
	out := []SignedPair{}
	for _, p := range all {
		if p.Seq < from || len(out) == MaxReceipts {
			continue
		}
		s := SignedPair{Pair: p}
		if o, err := c.n.Lib.Get(ctx, p.Receipt); err == nil {
			e, err := envelope.ParseDSSE(o.Bytes, maxObject)
			if err != nil {
				return nil, fault.From(err)
			}
			if s.Compact, err = e.Compact(); err != nil {
				return nil, fault.From(err)
			}
		}
		out = append(out, s)
	}
	return out, nil
}
