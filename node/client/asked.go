package client

import (
	"cmp"
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

const keyAsked = "ba/"

// askedRow is what the borrower keeps of a request beside its bytes.
type askedRow struct {
	Asked     envelope.Time    `json:"asked"`
	Heard     bool             `json:"heard"` // State is the lender's word
	LenderOrg did.DID          `json:"lender_org"`
	Perm      envelope.ID      `json:"perm,omitempty"`
	Reason    string           `json:"reason,omitempty"`
	Round     uint64           `json:"round"`
	State     lending.AskState `json:"state"`
	Until     envelope.Time    `json:"until"`
}

// final says whether the lender's word stands for good.
func (r askedRow) final() bool { return r.State == lending.AskDeclined || r.State == lending.AskIssued }

// askID reads what a person calls a request.
func askID(text string) (envelope.ID, error) {
	id, err := envelope.ParseID(text)
	if err != nil {
		return id, fault.New(fault.Invalid, "request", "%.60q is no id of a loan request", text).WithHint("trustnode loan list --requests shows the ids")
	}
	return id, nil
}

// Asked says how a request stands. One that waits is asked of its lender; where that does
// not answer, the last word stands.
func (c *Client) Asked(ctx context.Context, id string) (Asked, error) {
	return c.AskedBy(ctx, id, did.DID{})
}

// AskedBy is Asked for one own agent: a request of another is like one that is not here, and
// nothing is signed for it. The zero DID stands for all own agents.
func (c *Client) AskedBy(ctx context.Context, id string, agent did.DID) (Asked, error) {
	rid, err := askID(id)
	if err != nil {
		return Asked{}, err
	}
	a, err := c.readAsked(ctx, rid)
	if err == nil && !agent.IsZero() && a.Body.Borrower != agent {
		err = errNoAsk(rid)
	}
	if err != nil {
		return Asked{}, fault.From(err)
	}
	if a.State != lending.AskRequested && a.Heard {
		return a, nil
	}
	out, err := c.poll(ctx, a)
	if err != nil {
		return Asked{}, fault.From(err)
	}
	return out, nil
}

// AskedAll lists the requests of own agents, newest first, at most MaxLoans, by the last
// word of their lenders.
func (c *Client) AskedAll(ctx context.Context) ([]Asked, error) {
	ids, err := c.newestAsked(ctx)
	if err != nil {
		return nil, fault.From(err)
	}
	out := make([]Asked, 0, len(ids))
	for _, id := range ids {
		a, err := c.readAsked(ctx, id)
		if fault.Of(err) == fault.NotFound { // dropped meanwhile
			continue
		}
		if err != nil {
			return nil, fault.From(err)
		}
		out = append(out, a)
	}
	return out, nil
}

// poll asks the lender by a request of op status that names the loan request.
func (c *Client) poll(ctx context.Context, a Asked) (Asked, error) {
	at, err := c.n.Clock.Now()
	if err != nil {
		return a, fault.Wrap(fault.ClockSkew, lending.ReasonClock, err).WithHint("set this host's clock")
	}
	compact, err := c.sealPoll(ctx, a, envelope.TimeOf(at))
	if err != nil {
		return a, err
	}
	told, err := c.tellOf(ctx, a.LenderOrg, lending.MethodAsked, compact)
	var silent *silence
	switch {
	case errors.As(err, &silent), fault.Of(err) == fault.Unavailable:
		return a, nil
	case fault.Of(err) == fault.NotFound && !a.Heard:
		return a, fault.New(fault.NotFound, "request", "the lender has no request %s: it did not arrive", a.ID).WithHint("ask anew: trustnode loan request")
	case err != nil:
		return a, err
	}
	return c.heardOf(ctx, a.ID, told)
}

func (c *Client) sealPoll(ctx context.Context, a Asked, at envelope.Time) (string, error) {
	c.signing.RLock()
	defer c.signing.RUnlock()
	row, err := self.Agent(viewOf(ctx, c), a.Body.Borrower)
	if err == nil {
		err = mayBorrow(row, at.Time())
	}
	if err != nil {
		return "", err
	}
	key, kid, err := c.n.Signers.Agent(ctx, row.Agent)
	if errors.Is(err, self.ErrNoKey) {
		return "", fault.Wrap(fault.Unavailable, "no_key", err).WithHint("the key of agent %s has to be on this node", row.Name)
	}
	if err != nil {
		return "", err
	}
	e, err := envelope.Seal(ctx, lending.ReadRequest{At: at, Aud: a.Body.Aud, Borrower: row.Agent, Kid: kid, Nonce: lending.NewSalt(), Op: lending.OpStatus, Perm: a.ID}, key)
	if err != nil {
		return "", err
	}
	return e.Compact()
}

// heardOf keeps the lender's word. A permission is verified first, and is for whom the
// request named, by the lender it asked.
func (c *Client) heardOf(ctx context.Context, id envelope.ID, told lending.Asked) (Asked, error) {
	a, err := c.readAsked(ctx, id)
	if err != nil {
		return a, err
	}
	if told.ID != id {
		return a, fault.New(fault.Unavailable, "unanswered", "the lender spoke of request %s, not of %s", told.ID, id).WithHint("ask again")
	}
	var perm *envelope.Verified[lending.Permission]
	if told.State == lending.AskIssued {
		v, _, err := c.permission(ctx, told.Permission)
		if err != nil {
			return a, err
		}
		if !answers(v.Body(), a.Body) {
			return a, fault.New(fault.Invalid, "permission", "the lender answered request %s with a permission that is not for it", id).WithHint("ask the lender what it meant")
		}
		perm = &v
	}
	err = c.n.DB.Update(ctx, func(tx store.Tx) error {
		row, ok, err := store.GetRow[askedRow](tx, idKey(keyAsked, id))
		if err != nil || !ok || row.final() {
			return err
		}
		row.Heard, row.State, row.Reason, row.Round, row.Until = true, told.State, told.Reason, told.Round, told.Until
		if perm != nil {
			row.Perm = perm.ID()
			err = c.n.Lib.Put(tx, library.Object{ID: perm.ID(), What: "permission", Bytes: perm.Envelope().DSSE()})
		}
		return errors.Join(err, store.PutRow(tx, idKey(keyAsked, id), row))
	})
	if err != nil {
		return a, err
	}
	return c.readAsked(ctx, id)
}

// answers says whether a permission is by the lender and for the agent that a request names.
func answers(p lending.Permission, rq lending.LoanRequest) bool {
	borrower := rq.Borrower
	if !rq.For.IsZero() {
		borrower = rq.For
	}
	return p.Lender == rq.Aud && p.Borrower == borrower && p.Parent == rq.Parent
}

// errNoAsk is what is said of a request that is not here, or not for who asks.
func errNoAsk(id envelope.ID) error {
	return fault.New(fault.NotFound, "request", "no loan request %s was made here", id).WithHint("trustnode loan list --requests shows them")
}

func (c *Client) readAsked(ctx context.Context, id envelope.ID) (Asked, error) {
	none := errNoAsk(id)
	row, ok, err := store.GetRow[askedRow](viewOf(ctx, c), idKey(keyAsked, id))
	if err != nil || !ok {
		return Asked{}, cmp.Or(err, none)
	}
	o, err := c.n.Lib.Get(ctx, id)
	if errors.Is(err, library.ErrAbsent) {
		return Asked{}, none
	}
	if err != nil {
		return Asked{}, err
	}
	e, err := envelope.ParseDSSE(o.Bytes, maxObject)
	if err != nil {
		return Asked{}, err
	}
	body, err := envelope.Decode[lending.LoanRequest](e)
	if err != nil {
		return Asked{}, err
	}
	out := Asked{ID: id, Body: body, LenderOrg: row.LenderOrg, State: row.State, Reason: row.Reason, Perm: row.Perm, Round: row.Round, Until: row.Until.Time(), Heard: row.Heard}
	if at, err := c.n.Clock.Now(); err == nil {
		out.State = out.State.AskAt(row.Until, at)
	}
	return out, nil
}

// dropAsked forgets a request that its lender refused.
func (c *Client) dropAsked(ctx context.Context, id envelope.ID) error {
	return c.n.DB.Update(ctx, func(tx store.Tx) error {
		return errors.Join(tx.Delete(idKey(keyAsked, id)), c.n.Lib.Remove(tx, id))
	})
}

// looked is what a discovery looked through: the receipt that answers it, and the scope of
// its permission met with its filter. That of another agent is like one that is not here.
func (c *Client) looked(ctx context.Context, agent did.DID, receipt string) (lending.Receipt, lending.Scope, error) {
	var rc lending.Receipt
	var rq lending.ReadRequest
	var p lending.Permission
	id, err := envelope.ParseID(receipt)
	if err != nil {
		return rc, lending.Scope{}, fault.New(fault.Invalid, "from", "%.60q is no id of a receipt", receipt).WithHint("trustnode loan discover prints it")
	}
	if rc, err = objectOf[lending.Receipt](ctx, c, id, "receipt"); err == nil && rc.Op == lending.OpDiscover && rc.Granted() {
		rq, err = objectOf[lending.ReadRequest](ctx, c, rc.Request, "readrequest")
		if err == nil && rq.Borrower != agent {
			err = library.ErrAbsent
		}
		if err == nil {
			p, err = objectOf[lending.Permission](ctx, c, rc.Perm, "permission")
		}
	} else if err == nil {
		err = library.ErrAbsent
	}
	if errors.Is(err, library.ErrAbsent) {
		return rc, lending.Scope{}, fault.New(fault.NotFound, "from", "no receipt %s of a discovery is kept here", id).WithHint("trustnode loan discover prints it")
	}
	if err != nil {
		return rc, lending.Scope{}, err
	}
	scope, err := lending.Effective(p, rq)
	return rc, scope, err
}

// objectOf reads a signed object that was verified when it was kept.
func objectOf[T envelope.Body](ctx context.Context, c *Client, id envelope.ID, what string) (T, error) {
	var zero T
	o, err := c.n.Lib.Get(ctx, id)
	if err != nil {
		return zero, err
	}
	if o.What != what {
		return zero, library.ErrAbsent
	}
	e, err := envelope.ParseDSSE(o.Bytes, maxObject)
	if err != nil {
		return zero, err
	}
	return envelope.Decode[T](e)
}
