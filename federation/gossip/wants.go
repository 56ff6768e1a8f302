package gossip

import (
	"context"
	"slices"

	"trustnode/did"
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
		n.want(ctx, n.unasked(list))
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

// wantOf asks one node and returns what did not come.
func (n *Node) wantOf(ctx context.Context, p *peer, ws []Want) []Want {
	ctx, cancel := context.WithTimeout(ctx, askAll)
	defer cancel()
	var left []Want
	err := n.converse(ctx, p, func(c *conversation, ctx context.Context) error {
		got, err := c.fetch(ctx, ws)
		for _, w := range ws {
			if !got[w.ID] {
				left = append(left, w)
			}
		}
		return err
	})
	if err != nil && left == nil {
		return ws
	}
	return left
}

// unasked leaves out what was asked for a moment ago, and notes the rest as asked for.
func (n *Node) unasked(list []Want) (out []Want) {
	now := n.cfg.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.asked)+len(list) > maxAsked {
		clear(n.asked)
	}
	for _, w := range list {
		if at, ok := n.asked[w.ID]; ok && now.Sub(at) < wantAgain {
			continue
		}
		n.asked[w.ID] = now
		out = append(out, w)
	}
	return out
}
