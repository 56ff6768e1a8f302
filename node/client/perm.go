package client

import (
	"context"
	"errors"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/library"
	"trustnode/node/self"
	"trustnode/node/store"
)

func viewOf(ctx context.Context, c *Client) library.Getter { return self.ViewGetter(ctx, c.n.DB) }

// agent finds an own agent by name or DID.
func (c *Client) agent(g library.Getter, nameOrDID string) (self.AgentRow, error) {
	row, err := c.n.OwnAgent(g, nameOrDID)
	if errors.Is(err, self.ErrNoAgent) {
		return row, fault.New(fault.NotFound, "agent", "no agent %.80q of this organization", nameOrDID).
			WithHint("trustnode agent list shows the agents, trustnode agent add makes one")
	}
	return row, err
}

// resolve reads what a person calls a permission: its id, or its compact form, which
// brings the bytes along.
func resolve(text string) (envelope.ID, *envelope.Envelope, error) {
	if id, err := envelope.ParseID(text); err == nil {
		return id, nil, nil
	}
	e, err := envelope.ParseCompact(text, lending.PermissionType, lending.MaxPermission)
	if err != nil {
		return envelope.ID{}, nil, fault.New(fault.Invalid, "permission", "%.60q is neither the id of a permission nor a permission", text).
			WithHint("trustnode loan list shows the ids")
	}
	return e.ID(), &e, nil
}

// permissionOf finds a permission that is for an own agent. Another's, named by its id, is
// like one that nobody has shown: an agent learns of no loan but its own. Who brings its bytes
// is told why it is refused.
func (c *Client) permissionOf(ctx context.Context, as self.AgentRow, text string) (envelope.Verified[lending.Permission], self.AgentRow, error) {
	return c.permissionIf(ctx, text, func(p lending.Permission, id envelope.ID, byID bool) error {
		switch {
		case p.Borrower == as.Agent:
			return nil
		case byID:
			return errNoPermission(id)
		}
		d := fault.New(fault.Refused, "not_borrower", "the permission is for %s, not for agent %s", p.Borrower, as.Name).WithHint("act as the agent it is for")
		d.Perm = id
		return d
	})
}

// permission finds a permission and verifies it offline, under the key of its lender's
// agent object. What is not here is asked of all members once.
func (c *Client) permission(ctx context.Context, text string) (envelope.Verified[lending.Permission], self.AgentRow, error) {
	return c.permissionIf(ctx, text, func(lending.Permission, envelope.ID, bool) error { return nil })
}

// permissionIf is permission, which may be refused by what it says before anything else is
// looked at.
func (c *Client) permissionIf(ctx context.Context, text string, allowed func(p lending.Permission, id envelope.ID, byID bool) error) (envelope.Verified[lending.Permission], self.AgentRow, error) {
	var none envelope.Verified[lending.Permission]
	id, e, err := resolve(text)
	if err != nil {
		return none, self.AgentRow{}, err
	}
	byID := e == nil
	if byID {
		if e, err = c.fetch(ctx, id); err != nil {
			return none, self.AgentRow{}, err
		}
	}
	p, err := envelope.Decode[lending.Permission](*e)
	if err == nil {
		err = allowed(p, id, byID)
	}
	if err != nil {
		return none, self.AgentRow{}, err
	}
	lender, err := c.lender(ctx, p.Lender)
	if err != nil {
		return none, lender, err
	}
	v, err := envelope.Open[lending.Permission](ctx, *e, anyTime(lender))
	if err != nil {
		return none, lender, err
	}
	if err := c.n.Contested(ctx, lender.Org); err != nil {
		return none, lender, err // who answers may be who took the lender's key
	}
	if err := c.n.Ended(ctx, lender.Org); err != nil {
		return none, lender, err
	}
	return v, lender, reachable(v, lender.Org)
}

// reachable refuses a permission whose lender this node has no way to ask.
func reachable(v envelope.Verified[lending.Permission], org did.DID) error {
	u, err := did.ParseURL(v.Body().Revocation)
	if err == nil && u.DID() == org {
		return nil
	}
	d := fault.New(fault.Invalid, "revocation_address", "the permission is to be checked at %.200q, this node asks nodes of the lender's organization alone", v.Body().Revocation).
		WithHint("ask the lender for a permission with the address %s#lending", org)
	d.Perm = v.ID()
	return d
}

// fetch reads the bytes of a permission, or asks all members for them once.
func (c *Client) fetch(ctx context.Context, id envelope.ID) (*envelope.Envelope, error) {
	o, err := c.n.Lib.Get(ctx, id)
	if errors.Is(err, library.ErrAbsent) && c.n.Peers.Fetch(ctx, id) == nil {
		o, err = c.n.Lib.Get(ctx, id)
	}
	if errors.Is(err, library.ErrAbsent) {
		return nil, errNoPermission(id)
	}
	if err != nil {
		return nil, err
	}
	e, err := envelope.ParseDSSE(o.Bytes, maxObject)
	return &e, err
}

// errNoPermission is what is said of a permission that is not here, or not for who asks.
func errNoPermission(id envelope.ID) error {
	return fault.New(fault.NotFound, "permission", "no member has shown a permission %s to this agent", id).
		WithHint("check the id and the agent, or give the permission in its compact form; the lender's node has to run")
}

// lender finds the lending agent. One that is not known here is asked of all members
// once.
func (c *Client) lender(ctx context.Context, d did.DID) (self.AgentRow, error) {
	row, err := self.Agent(viewOf(ctx, c), d)
	if !errors.Is(err, self.ErrNoAgent) {
		return row, err
	}
	if c.n.Peers.Sync(ctx) == nil {
		if row, err = self.AwaitAgent(ctx, c.n.DB, d, arriveTime); !errors.Is(err, self.ErrNoAgent) {
			return row, err
		}
	}
	return row, fault.New(fault.NotFound, "agent", "no member has shown the lending agent %s", d).
		WithHint("the lender's node has to run, trustnode status shows which are linked")
}

// ended refuses a read under a loan whose end the lender has signed before.
func (r *reading) ended(g library.Getter) error {
	row, ok, err := store.GetRow[loanRow](g, idKey(keyLoan, r.perm.ID()))
	if err != nil || !ok || row.EndedBy.IsZero() {
		return err
	}
	o, err := r.c.n.Lib.Read(g, row.EndedBy)
	if err != nil {
		return err
	}
	e, err := envelope.ParseDSSE(o.Bytes, maxObject)
	if err != nil {
		return err
	}
	v, err := envelope.Open[lending.Receipt](context.Background(), e, anyTime(r.lender))
	if err != nil {
		// Its key is no longer the agent's; the end stands, it was verified then.
		d := r.deny(fault.Revoked, "", "the lender has signed that the permission is %s", row.State).WithHint("ask the lender for a new permission")
		d.Verified = true
		return d
	}
	return refused(v, "")
}
