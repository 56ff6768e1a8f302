package gossip

import (
	"context"
	"fmt"
	"sync"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
)

// reach makes sure that the hello of a peer's link went well, linking to it if
// needed. It returns federation.ErrUnreachable where it cannot be had.
func (n *Node) reach(ctx context.Context, p *peer) error {
	n.mu.Lock()
	ok := p.greeted
	n.mu.Unlock()
	if ok {
		return nil
	}
	if err := n.greet(ctx, p); err != nil {
		return fmt.Errorf("%s: %w: %v", p.id, federation.ErrUnreachable, err)
	}
	return nil
}

// Sync runs one sync with every bound node at once, at most 5 s in all. It
// returns federation.ErrUnreachable where there are some and none answered.
func (n *Node) Sync(ctx context.Context) error {
	return n.all(ctx, func(ctx context.Context, p *peer) error {
		return n.converse(ctx, p, (*conversation).pull, false)
	})
}

// Fetch asks every bound node once for objects, bodies or rows by id, at most
// 5 s in all, and returns as soon as all came. What came is kept; what nobody
// gave is simply not there. It returns federation.ErrUnreachable where there are
// bound nodes and none answered.
func (n *Node) Fetch(ctx context.Context, ids ...envelope.ID) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	left := map[envelope.ID]bool{}
	list := make([]Want, 0, len(ids))
	for _, id := range ids {
		if !left[id] {
			left[id] = true
			list = append(list, Want{ID: id})
		}
	}
	if len(list) == 0 {
		return nil
	}
	done := false
	err := n.all(ctx, func(ctx context.Context, p *peer) error {
		return n.converse(ctx, p, func(c *conversation, ctx context.Context) error {
			got, err := c.fetch(ctx, list)
			mu.Lock()
			defer mu.Unlock()
			for id := range got {
				delete(left, id)
			}
			if len(left) == 0 {
				done = true
				cancel()
			}
			return err
		}, false)
	})
	mu.Lock()
	defer mu.Unlock()
	if done {
		return nil
	}
	return err
}

// all does one thing with every bound node at once.
func (n *Node) all(ctx context.Context, do func(context.Context, *peer) error) error {
	ctx, cancel := context.WithTimeout(ctx, askAll)
	defer cancel()
	peers := n.bounded(nil)
	errs := make([]error, len(peers))
	var wg sync.WaitGroup
	for i, p := range peers {
		wg.Go(func() {
			if errs[i] = n.reach(ctx, p); errs[i] == nil {
				errs[i] = do(ctx, p)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	if len(peers) == 0 {
		return nil
	}
	return fmt.Errorf("%d members' nodes, none answered: %w: %v", len(peers), federation.ErrUnreachable, errs[0])
}

// Lend exchanges one frame of the lending protocol with a node that org has
// bound. It returns federation.ErrUnreachable where there is none to be had or
// no answer came.
func (n *Node) Lend(ctx context.Context, org did.DID, frame []byte) ([]byte, error) {
	return n.askOrg(ctx, org, federation.ProtocolLend, frame)
}
