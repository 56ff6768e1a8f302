package gossip

import (
	"context"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/federation"
)

// Entries asks the bound nodes, one after another and at most 5 s in all, for entries
// [from, to) of a log, and hands what each of them sends to fits until that returns true:
// who asks knows by hash what they must be. federation.ErrUnreachable where nobody that was
// reached had what fits.
func (n *Node) Entries(ctx context.Context, d did.DID, from, to uint64, fits func([]attestation.Entry) bool) error {
	ctx, cancel := context.WithTimeout(ctx, askAll)
	defer cancel()
	for _, p := range n.bounded(nil) {
		if n.reach(ctx, p) != nil {
			continue
		}
		done := false
		err := n.converse(ctx, p, func(c *conversation, ctx context.Context) (err error) {
			done, err = c.entries(d, from, to, fits)
			return err
		}, false)
		if done {
			return nil
		}
		if err != nil && ctx.Err() != nil {
			break
		}
	}
	return federation.ErrUnreachable
}

// entries asks the other end for entries of a log, whole.
func (c *conversation) entries(d did.DID, from, to uint64, fits func([]attestation.Entry) bool) (bool, error) {
	for _, x := range c.theirs.DIDs {
		if x.DID != d || noteSize([]byte(x.Note)) < to {
			continue
		}
		var list []attestation.Entry
		_, err := c.ask(ask{Events: &rangeAsk{DID: d, From: from, To: to}}, func(b []byte) error {
			p, err := parseEntries(b, rangeAsk{DID: d, From: from, To: to}, c.theirs.Federation, x.Note)
			if err == nil && (p.From != from+uint64(len(list)) || p.From+uint64(len(p.Entries)) > to) {
				err = blame("entries of %s from %d on, not asked for", d, p.From)
			}
			list = append(list, p.Entries...)
			return err
		})
		return err == nil && fits(list), err
	}
	return false, nil
}
