package gossip

import (
	"context"
	"slices"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
)

// wantsLoop asks for what events held here name and this node lacks.
func (n *Node) wantsLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wants:
		}
		if !sleep(ctx, wantWait) {
			return
		}
		list, err := n.cfg.Objects.Wants(ctx, maxWants)
		if err != nil {
			if ctx.Err() == nil {
				n.cfg.Log.WarnContext(ctx, "missing objects not known", "err", err)
			}
			continue
		}
		n.want(ctx, list)
	}
}

// want asks each thing of a node of the organization that has it, then of the
// others, until it came.
func (n *Node) want(ctx context.Context, list []Want) {
	byOrg := map[did.DID][]Want{}
	for _, w := range list {
		byOrg[w.From] = append(byOrg[w.From], w)
	}
	for org, ws := range byOrg {
		first := n.bounded(func(p *peer) bool { return p.greeted && p.org == org })
		rest := n.bounded(func(p *peer) bool { return p.greeted && p.org != org })
		for _, p := range slices.Concat(first, rest) {
			if len(ws) == 0 || ctx.Err() != nil {
				break
			}
			ws = n.wantOf(ctx, p, ws)
		}
	}
}

// wantOf asks one node for what it was not asked for a moment ago, and returns
// what did not come.
func (n *Node) wantOf(ctx context.Context, p *peer, ws []Want) []Want {
	list := n.unasked(p.id, ws)
	if len(list) == 0 {
		return ws
	}
	ctx, cancel := context.WithTimeout(ctx, askAll)
	defer cancel()
	var got map[envelope.ID]bool
	err := n.converse(ctx, p, func(c *conversation, ctx context.Context) (err error) {
		got, err = c.fetch(ctx, list)
		return err
	}, false)
	if err != nil {
		n.forgetThese(p.id, list)
	}
	return slices.DeleteFunc(slices.Clone(ws), func(w Want) bool { return got[w.ID] })
}

// askedOf is a question to one peer.
type askedOf struct {
	peer federation.PeerID
	id   envelope.ID
}

// unasked leaves out what a peer was asked for a moment ago, and notes the rest
// as asked for.
func (n *Node) unasked(p federation.PeerID, list []Want) (out []Want) {
	now := n.cfg.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.asked)+len(list) > maxAsked {
		clear(n.asked)
	}
	for _, w := range list {
		k := askedOf{p, w.ID}
		if at, ok := n.asked[k]; ok && now.Sub(at) < wantAgain {
			continue
		}
		n.asked[k] = now
		out = append(out, w)
	}
	return out
}

// forgetThese lets a peer be asked again: it could not answer.
func (n *Node) forgetThese(p federation.PeerID, list []Want) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range list {
		delete(n.asked, askedOf{p, w.ID})
	}
}

// forgetAsked lets a peer be asked everything again. n.mu is held.
func (n *Node) forgetAsked(p federation.PeerID) {
	for k := range n.asked {
		if k.peer == p {
			delete(n.asked, k)
		}
	}
}
