package gossip

import (
	"context"
	"errors"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
)

// partings remembers which heads of others are of another branch, of each log the last:
// beside which own one. What they would give is not asked for.
type partings map[did.DID]parting

type parting struct{ ours, theirs attestation.Head }

// errNoRanges: the peer does not answer asks for ranges, or holds less by now.
var errNoRanges = errors.New("no ranges")

// part has it found out where the log behind a head that contradicts the held one parts from
// it. It reports whether it does, which is then nobody's fault but its organization's.
func (c *conversation) part(ctx context.Context, x didHead, theirs attestation.Head) (bool, error) {
	l, err := c.n.cfg.Logs.Log(ctx, x.DID)
	if errors.Is(err, attestation.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ours, _ := l.Head()
	o, err := c.n.cfg.Intake.Part(ctx, x.DID, []byte(x.Note), func(at uint64) (attlog.Range, attlog.Range, error) {
		return c.ranges(rangesAsk{At: at, DID: x.DID, Size: theirs.Size})
	})
	if errors.Is(err, errNoRanges) {
		return false, nil
	}
	if err := c.judged("head of "+x.DID.String(), o, err); err != nil {
		return false, err
	}
	if o != Forked {
		return false, nil
	}
	c.n.setParted(x.DID, parting{ours, theirs})
	return true, c.pullBranch(ctx, x, theirs)
}

// partNote is part of a note that was not parsed yet.
func (c *conversation) partNote(ctx context.Context, x didHead) (bool, error) {
	n, err := attlog.ParseNote([]byte(x.Note))
	if err != nil {
		return false, blame("head of %s: %v", x.DID, err)
	}
	return c.part(ctx, x, n.Head)
}

// ranges asks the peer for two ranges; both are zero, which fits no head, where it gives none.
func (c *conversation) ranges(a rangesAsk) (left, right attlog.Range, err error) {
	lines := 0
	e, err := c.ask(ask{Ranges: &a}, func(b []byte) error {
		if lines++; lines > 1 {
			return blame("%d lines of ranges", lines)
		}
		left, right, err = parseRanges(b, a)
		return err
	})
	switch {
	case err != nil:
		return attlog.Range{}, attlog.Range{}, err
	case e.Code != "":
		return attlog.Range{}, attlog.Range{}, errNoRanges
	}
	return left, right, nil
}

// standsApart reports whether a head is known to be of another branch than the held one. Then
// it is looked into again, which asks for nothing unless more evidence came.
func (c *conversation) standsApart(ctx context.Context, x didHead) (bool, error) {
	theirs, err := attlog.ParseNote([]byte(x.Note))
	if err != nil {
		return false, blame("head of %s: %v", x.DID, err)
	}
	l, err := c.n.cfg.Logs.Log(ctx, x.DID)
	if errors.Is(err, attestation.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if ours, _ := l.Head(); !c.n.isParted(x.DID, parting{ours, theirs.Head}) {
		return false, nil
	}
	return c.part(ctx, x, theirs.Head)
}

func (n *Node) isParted(d did.DID, p parting) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.parted[d] == p
}

// hasParted reports whether another branch of a log was looked into.
func (n *Node) hasParted(d did.DID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.parted[d]
	return ok
}

func (n *Node) setParted(d did.DID, p parting) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.parted[d] = p
}
