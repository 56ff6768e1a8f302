package client

import (
	"context"
	"errors"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// mayBorrow refuses an own agent that may not borrow at a moment, and says what to do.
func mayBorrow(a self.AgentRow, at time.Time) error {
	err := a.May("borrow", at)
	switch {
	case err == nil:
		return nil
	case a.Revoked:
		return fault.Wrap(fault.Refused, lending.ReasonBorrower, err).WithHint("the agent is revoked: read as another one, trustnode agent list shows them")
	case errors.Is(err, self.ErrAgentEnded):
		return fault.Wrap(fault.Refused, lending.ReasonBorrower, err).WithHint("trustnode agent add --name %s renews it", a.Name)
	}
	return fault.Wrap(fault.Refused, lending.ReasonBorrower, err).WithHint("add an agent with --can borrow")
}

// again looks, right before the signature, whether the agent still is what it was.
func (r *reading) again(ctx context.Context, at time.Time) error {
	now, err := self.Agent(viewOf(ctx, r.c), r.as.Agent)
	if err != nil {
		return err
	}
	return mayBorrow(now, at)
}

// AgentEnded returns when no signature is under way that was begun before an own agent
// ended. Its row, durable before this is called, refuses those to come.
func (c *Client) AgentEnded() {
	c.signing.Lock()
	defer c.signing.Unlock()
}
