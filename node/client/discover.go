package client

import (
	"context"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
)

// DiscoverInput asks which tags there are under a permission, as an own agent.
type DiscoverInput struct {
	As      string // own agent, by name or DID
	Perm    string // permission, by id or compact form
	Purpose string // 1..200 bytes; signed and kept
	Filter  string // narrower scope as people type it, or empty
}

// Discovered is a verified answer to a discovery.
type Discovered struct {
	Perm      envelope.ID
	Tags      []string // sorted
	Withheld  bool     // some were left out because too few entries have them
	ReceiptID envelope.ID
	Receipt   lending.Receipt
	ExpiresAt envelope.Time // when the permission ends
}

// Discover asks which tags the entries have that a permission of pattern discover covers.
// It counts as a read, and is judged, kept and refused as one.
func (c *Client) Discover(ctx context.Context, in DiscoverInput) (Discovered, error) {
	r := reading{c: c, op: lending.OpDiscover}
	wish := ReadInput{As: in.As, Perm: in.Perm, Purpose: in.Purpose, Filter: in.Filter}
	at, err := r.prepare(ctx, wish)
	if err == nil {
		err = r.sign(ctx, wish, at)
	}
	if err != nil {
		return Discovered{}, fault.From(err)
	}
	if err := r.ask(ctx); err != nil {
		c.cache.wipe(r.perm.ID())
		return Discovered{}, fault.From(err)
	}
	return Discovered{Perm: r.perm.ID(), Tags: r.tags.Tags, Withheld: r.tags.Withheld, ReceiptID: r.receipt.ID(), Receipt: r.receipt.Body(), ExpiresAt: r.perm.Body().ExpiresAt}, nil
}

// judgeTags verifies the answer to a discovery, as judge does that to a read.
func (r *reading) judgeTags(ctx context.Context, answer []byte) error {
	t, err := lending.ParseTags(answer)
	if err != nil {
		return err
	}
	v, at, err := r.open(ctx, t.Receipt)
	if err != nil {
		return err
	}
	if err := r.expect(ctx).Tags(t, v, at); err != nil {
		return r.orEnd(err, v, "")
	}
	r.tags, r.receipt = t, v
	return nil
}
