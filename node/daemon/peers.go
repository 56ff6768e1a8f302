package daemon

import (
	"bytes"
	"context"
	"errors"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/self"
)

// peers asks the other members through gossip.
type peers struct{ n *Node }

var _ self.Peers = peers{}

// askWait is how long one question to all members may take, in all.
const askWait = 5 * time.Second

// Sync implements self.Peers: one round, and what it brought is in the state.
func (p peers) Sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	return p.sync(ctx)
}

func (p peers) sync(ctx context.Context) error {
	err := p.n.gossip.Sync(ctx)
	return errors.Join(err, p.settle(ctx))
}

// settle brings what a round told of into the state: events first, then the objects and
// bodies they name.
func (p peers) settle(ctx context.Context) error {
	if err := p.n.member.Project(ctx); err != nil {
		return err
	}
	wants, err := objects(p).Wants(ctx, maxAsk)
	if err != nil || len(wants) == 0 {
		return err
	}
	ids := make([]envelope.ID, len(wants))
	for i, w := range wants {
		ids[i] = w.ID
	}
	if err := p.n.gossip.Fetch(ctx, ids...); err != nil {
		return err
	}
	return p.n.member.Project(ctx)
}

// maxAsk is how many missing things one round asks for.
const maxAsk = 256

// Fetch implements self.Peers. An object counts only if its signer is known, so a round
// of sync comes first: the agent may be as new as what it signed.
func (p peers) Fetch(ctx context.Context, ids ...envelope.ID) error {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	if err := p.sync(ctx); err != nil {
		return err
	}
	return p.n.gossip.Fetch(ctx, ids...)
}

// Lend implements self.Peers. Agents of this organization lend to each other here.
func (p peers) Lend(ctx context.Context, org did.DID, frame []byte) ([]byte, error) {
	if org == p.n.cfg.Org {
		return p.n.lendHere(ctx, frame)
	}
	return p.n.gossip.Lend(ctx, org, frame)
}

// apart is the peers of a node that does not run: none but itself.
type apart struct {
	self.Offline
	n *Node
}

var _ self.Peers = apart{}

// Lend implements self.Peers.
func (a apart) Lend(ctx context.Context, org did.DID, frame []byte) ([]byte, error) {
	if org == a.n.cfg.Org {
		return a.n.lendHere(ctx, frame)
	}
	return a.Offline.Lend(ctx, org, frame)
}

// lendHere serves one frame of the lending protocol within this process.
func (n *Node) lendHere(ctx context.Context, frame []byte) ([]byte, error) {
	var out []byte
	err := n.lender.Serve(ctx, n.cfg.Org, frame, func(b []byte) error { out = bytes.Clone(b); return nil }, func() {})
	return out, err
}
