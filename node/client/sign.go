package client

import (
	"context"

	"trustnode/did"
	"trustnode/federation/lending"
	"trustnode/node/fault"
)

// Signed is a read that was signed and not sent.
type Signed struct {
	Request    string  // compact readrequest; good for 60 s from now on
	Permission string  // compact
	Lender     did.DID // agent that lends
}

// Sign signs a read as Read does, for whoever carries it to the lender. Nothing was asked:
// the answer, its check and the keeping of its receipt are the carrier's. Errors are
// *fault.Denied.
func (c *Client) Sign(ctx context.Context, in ReadInput) (Signed, error) {
	r := reading{c: c, op: lending.OpRead}
	at, err := r.prepare(ctx, in)
	if err == nil {
		err = r.sign(ctx, in, at)
	}
	if err != nil {
		return Signed{}, fault.From(err)
	}
	request, err := r.rq.Envelope().Compact()
	if err != nil {
		return Signed{}, fault.From(err)
	}
	perm, err := r.perm.Envelope().Compact()
	if err != nil {
		return Signed{}, fault.From(err)
	}
	return Signed{Request: request, Permission: perm, Lender: r.perm.Body().Lender}, nil
}
