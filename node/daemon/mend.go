package daemon

import (
	"context"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/node/recorder"
	"trustnode/node/self"
	"trustnode/node/store"
)

// mendEvery is the least time between two tries to repair a log that is not as it was written.
const mendEvery = 5 * time.Second

// mend repairs the own log whenever it is found damaged, until it is whole.
func (n *Node) mend(ctx context.Context) error {
	for {
		changed := n.self.Rec.Changed()
		var again <-chan time.Time
		if s, why := n.self.Rec.State(); s == recorder.Corrupt {
			n.log.WarnContext(ctx, "the own log is damaged: it is repaired from peers", "why", why)
			if _, err := n.repairLogs(ctx); err != nil && ctx.Err() == nil {
				n.log.WarnContext(ctx, "the own log is not repaired yet; it is tried again", "err", err)
			}
			again = time.After(mendEvery)
		}
		if again != nil {
			changed = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-again:
		}
	}
}

// repairLogs makes the logs held here what their signed roots say. A node that could not go on for the damage asks its
// peers once more: they confirmed it before.
func (n *Node) repairLogs(ctx context.Context) ([]store.Repaired, error) {
	defer n.again()
	return n.self.Rec.Repair(ctx, func(ctx context.Context, d did.DID, from, to uint64, fits func([]attestation.Entry) bool) error {
		if n.gossip == nil {
			return self.ErrOffline
		}
		return n.gossip.Entries(ctx, d, from, to, fits)
	})
}
