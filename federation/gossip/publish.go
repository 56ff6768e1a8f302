package gossip

import (
	"context"

	"trustnode/attestation"
	"trustnode/federation"
)

// publishLoop gossips own entries once a head covers them.
func (n *Node) publishLoop(ctx context.Context, published uint64) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.publishes:
		}
		n.mu.Lock()
		h := n.own
		n.mu.Unlock()
		if h.Size <= published {
			continue
		}
		if err := n.publishEntries(ctx, published, h); err != nil && ctx.Err() == nil {
			n.cfg.Log.WarnContext(ctx, "own entries not published", "err", err)
		}
		published = h.Size
		if !sleep(ctx, publishApart) {
			return
		}
	}
}

// publishEntries sends entries [from, size of h) as packages, or where they are
// many the head alone.
func (n *Node) publishEntries(ctx context.Context, from uint64, h NewHead) error {
	head, ok := n.cfg.Members.Head()
	if !ok {
		return nil
	}
	l, err := n.cfg.Logs.Log(ctx, n.cfg.Me)
	if err != nil {
		return err
	}
	if h.Size-from > publishMost {
		from = h.Size
	}
	for {
		p, err := packageOf(ctx, n.cfg.Me, l, from, nextBatch(from, h.Size), h.Size, maxGossip)
		if err != nil {
			return err
		}
		p.Federation, p.Note = head.Federation, h.Note
		b, err := p.Bytes()
		if err != nil {
			return err
		}
		if len(b) > attestation.MaxPackage { // whoever lacks it reads it from the head
			p = attestation.Package{Did: p.Did, Federation: p.Federation, From: h.Size, Note: h.Note}
			if b, err = p.Bytes(); err != nil {
				return err
			}
			from = h.Size
		}
		n.publish(ctx, federation.TopicEvents, b)
		if from += uint64(len(p.Entries)); from >= h.Size {
			return nil
		}
	}
}
