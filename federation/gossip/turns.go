package gossip

import (
	"context"
	"time"

	"trustnode/did"
)

// turn is a log that is being pulled.
type turn struct {
	what string // did, log or branch
	of   did.DID
}

// takeTurn waits a moment for another pull of the same log, which may bring the
// same; then both go on, since one may be stuck.
func (n *Node) takeTurn(ctx context.Context, t turn) (release func()) {
	mine := make(chan struct{})
	n.mu.Lock()
	other := n.pulls[t]
	if other == nil {
		n.pulls[t] = mine
	}
	n.mu.Unlock()
	if other != nil {
		wait := time.NewTimer(turnWait)
		defer wait.Stop()
		select {
		case <-other:
		case <-wait.C:
		case <-ctx.Done():
		}
		return func() {}
	}
	return func() {
		n.mu.Lock()
		delete(n.pulls, t)
		n.mu.Unlock()
		close(mine)
	}
}
