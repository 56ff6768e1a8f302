package gossip

import (
	"context"
	"time"

	"trustnode/attestation"
	"trustnode/federation"
)

// allowance says when messages of one log may be sent, so that any second has fewer of them
// than its signer may send: publishBurst at once after a pause, then one each publishApart.
type allowance struct {
	spent time.Time // until when what was sent takes, one after the other
}

// spend notes that n messages were sent and returns how long the next one has to wait.
func (a *allowance) spend(n int, now time.Time) time.Duration {
	if a.spent.Before(now) {
		a.spent = now
	}
	a.spent = a.spent.Add(time.Duration(n) * publishApart)
	return a.spent.Sub(now) - (publishBurst-1)*publishApart
}

// publishLoop gossips own entries once a head covers them.
func (n *Node) publishLoop(ctx context.Context, published uint64) {
	var may allowance
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
		sent, err := n.publishEntries(ctx, published, h)
		if err != nil && ctx.Err() == nil {
			n.cfg.Log.WarnContext(ctx, "own entries not published", "err", err)
		}
		published = h.Size
		if wait := may.spend(sent, n.cfg.Now()); wait > 0 && !sleep(ctx, wait) {
			return
		}
	}
}

// publishEntries sends entries [from, size of h) as packages, or where they are
// many the head alone. It returns how many messages that took.
func (n *Node) publishEntries(ctx context.Context, from uint64, h NewHead) (sent int, err error) {
	head, ok := n.cfg.Members.Head()
	if !ok {
		return 0, nil
	}
	l, err := n.cfg.Logs.Log(ctx, n.cfg.Me)
	if err != nil {
		return 0, err
	}
	if h.Size-from > publishMost {
		from = h.Size
	}
	for {
		p, err := packageOf(ctx, n.cfg.Me, l, from, nextBatch(from, h.Size), h.Size, maxGossip)
		if err != nil {
			return sent, err
		}
		p.Federation, p.Note = head.Federation, h.Note
		b, err := p.Bytes()
		if err != nil {
			return sent, err
		}
		if len(b) > attestation.MaxPackage { // whoever lacks it reads it from the head
			p = attestation.Package{Did: p.Did, Federation: p.Federation, From: h.Size, Note: h.Note}
			if b, err = p.Bytes(); err != nil {
				return sent, err
			}
			from = h.Size
		}
		n.publish(ctx, federation.TopicEvents, b)
		sent++
		if from += uint64(len(p.Entries)); from >= h.Size {
			return sent, nil
		}
	}
}
