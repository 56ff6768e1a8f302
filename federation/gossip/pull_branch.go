package gossip

import (
	"context"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/federation"
)

// branchAt is the other branch of a log, as one peer shows it.
type branchAt struct {
	of did.DID
	by federation.PeerID
}

// pullBranch asks for what is lacking here of the other branch behind a head, until it is
// whole or full, or until the peer gives no more that fits: once of each head, so that heads
// that are invented cost one reply each. Each line is durable before the next is read; after
// a stream that was cut, the next sync goes on where the branch ends. A peer that holds a
// third branch, or gives nothing, is no liar.
func (c *conversation) pullBranch(ctx context.Context, x didHead, theirs attestation.Head) error {
	what := branchAt{x.DID, c.p.id}
	if _, lacks, err := c.n.cfg.Intake.Lacks(ctx, x.DID, theirs); err != nil || !lacks || c.n.askedBranch(what, theirs) {
		return err
	}
	defer c.n.takeTurn(ctx, turn{"branch", x.DID})()
	for last, first := uint64(0), true; ; first = false {
		from, lacks, err := c.n.cfg.Intake.Lacks(ctx, x.DID, theirs)
		if err != nil {
			return err
		}
		if !lacks || !first && from <= last {
			c.n.setAskedBranch(what, theirs)
			return nil
		}
		if err := c.pullBranchFrom(ctx, x, rangeAsk{DID: x.DID, From: from, To: theirs.Size}); err != nil {
			return err
		}
		last = from
	}
}

// pullBranchFrom takes the lines of one reply, up to the first that does not fit.
func (c *conversation) pullBranchFrom(ctx context.Context, x didHead, a rangeAsk) error {
	stop := false
	_, err := c.ask(ask{Events: &a}, func(b []byte) error {
		p, err := parseEntries(b, a, c.theirs.Federation, x.Note)
		if err != nil || stop {
			return err
		}
		o, err := c.n.cfg.Intake.Ingest(ctx, p)
		if o == False || o == Forked {
			err = nil
		}
		c.n.stats.lines[o].Add(1)
		stop = o != Forked && o != Behind && o != Held // Behind, Held: what both branches have
		return err
	})
	return err
}

func (n *Node) askedBranch(b branchAt, behind attestation.Head) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.showed[b] == behind
}

func (n *Node) setAskedBranch(b branchAt, behind attestation.Head) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.showed[b] = behind
}
