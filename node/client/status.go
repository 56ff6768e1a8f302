package client

import (
	"context"
	"errors"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Status is how a loan stands, as its lender just signed.
type Status struct {
	Perm    envelope.ID
	State   lending.PermState
	Left    uint64
	At      time.Time
	Receipt string // compact: what the lender signed; empty where it did not confirm
	// Verified says that the lender signed this. Where it is false the lender did not
	// confirm the loan, State is revoked, and access has ended for now (04 section 11).
	Verified bool
}

// Status asks the lender how a loan to an own agent stands. It counts nothing. A lender that
// cannot be reached, or answers with anything but a receipt that verifies, has not confirmed
// the loan. Unless it signed that the loan is valid, what is cached of it goes. Errors are
// *fault.Denied: the request itself was not one to send, or the lender refused it.
func (c *Client) Status(ctx context.Context, as, perm string) (Status, error) {
	r := reading{c: c, op: lending.OpStatus}
	if err := r.prepareStatus(ctx, as, perm); err != nil {
		return Status{}, fault.From(err)
	}
	v, err := r.askStatus(ctx)
	if err != nil || v.Body().State != lending.Valid {
		c.cache.wipe(r.perm.ID())
	}
	var denied *fault.Denied
	switch {
	case errors.As(err, &denied):
		return Status{}, denied
	case err != nil:
		c.n.Log.WarnContext(ctx, "a lender did not confirm a loan", "loan", r.perm.ID().String(), "error", err)
		return Status{Perm: r.perm.ID(), State: lending.Revoked}, nil
	}
	b := v.Body()
	if err := r.learnEnd(ctx, v); err != nil {
		return Status{}, fault.From(err)
	}
	compact, err := v.Envelope().Compact()
	if err != nil {
		return Status{}, fault.From(err)
	}
	return Status{Perm: b.Perm, State: b.State, Left: b.Left, At: b.At.Time(), Receipt: compact, Verified: true}, nil
}

// prepareStatus finds agent and permission and signs the request.
func (r *reading) prepareStatus(ctx context.Context, as, perm string) error {
	at, err := r.c.n.Clock.Now()
	if err != nil {
		return fault.Wrap(fault.ClockSkew, lending.ReasonClock, err).WithHint("set this host's clock")
	}
	if err := r.own(ctx, as, perm, at); err != nil {
		return err
	}
	r.c.signing.RLock()
	defer r.c.signing.RUnlock()
	if err := r.again(ctx, at); err != nil {
		return err
	}
	key, kid, err := r.c.n.Signers.Agent(ctx, r.as.Agent)
	if errors.Is(err, self.ErrNoKey) {
		return fault.Wrap(fault.Unavailable, "no_key", err).WithHint("the key of agent %s has to be on this node", r.as.Name)
	}
	if err != nil {
		return err
	}
	e, err := envelope.Seal(ctx, lending.ReadRequest{At: envelope.TimeOf(at), Aud: r.perm.Body().Lender, Borrower: r.as.Agent, Kid: kid,
		Nonce: lending.NewSalt(), Op: lending.OpStatus, Perm: r.perm.ID()}, key)
	if err != nil {
		return err
	}
	r.rq, err = envelope.Open[lending.ReadRequest](ctx, e, anyTime(r.as))
	return err
}

// own finds the agent and a permission that is for it.
func (r *reading) own(ctx context.Context, as, perm string, at time.Time) (err error) {
	if r.as, err = r.c.agent(viewOf(ctx, r.c), as); err != nil {
		return err
	}
	if err := mayBorrow(r.as, at); err != nil {
		return err
	}
	r.perm, r.lender, err = r.c.permissionOf(ctx, r.as, perm)
	return err
}

// errNoLoan tells an agent of another's loan as of one that is not there.
func errNoLoan(a self.AgentRow, perm envelope.ID) error {
	d := fault.New(fault.NotFound, "permission", "no loan %s to agent %s is known here", perm, a.Name).WithHint("list the loans of this agent")
	d.Perm = perm
	return d
}

// askStatus asks and verifies. A *fault.Denied is the lender's refusal of the request.
func (r *reading) askStatus(ctx context.Context) (envelope.Verified[lending.Receipt], error) {
	var none envelope.Verified[lending.Receipt]
	compact, err := r.rq.Envelope().Compact()
	if err != nil {
		return none, err
	}
	frame, err := lending.Frame{Method: lending.MethodStatus, Request: compact}.Bytes()
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.c.cfg.Timeout)
	defer cancel()
	b, err := r.c.n.Peers.Lend(ctx, r.lender.Org, frame)
	if err == nil {
		err = ctx.Err()
	}
	if errors.Is(err, self.ErrOffline) {
		return none, r.deny(fault.Unavailable, "offline", "this node does not run, so the lender cannot be asked").WithHint("start it: trustnode run")
	}
	if err != nil {
		return none, err
	}
	reply, ok := lending.ParseReply(b)
	switch {
	case !ok || reply.Answer != nil:
		return none, errNoReply
	case reply.Problem != nil:
		return none, r.problem(ctx, reply.Problem)
	}
	v, at, err := r.open(ctx, reply.Receipt)
	if err != nil {
		return none, err
	}
	err = r.expect(ctx).Receipt(v, at)
	if ended := (*lending.EndedError)(nil); errors.As(err, &ended) {
		err = nil // that it ended is an answer, too
	}
	return v, err
}

// learnEnd keeps the proof that a loan has ended, where none is here yet.
func (r *reading) learnEnd(ctx context.Context, v envelope.Verified[lending.Receipt]) error {
	if !final(v.Body().State) {
		return nil
	}
	row, _, err := store.GetRow[loanRow](viewOf(ctx, r.c), idKey(keyLoan, r.perm.ID()))
	if err != nil || !row.EndedBy.IsZero() {
		return err
	}
	if err := r.keepEnd(ctx, endError{receipt: v}); fault.Of(err) == fault.Internal {
		return err // any other is the refusal that an ended loan is
	}
	return nil
}
