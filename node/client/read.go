package client

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// Read reads under a permission. Every refusal is a *fault.Denied; Verified says that the
// lender signed it. A lender that does not answer, or not in the one way that counts, has
// ended access for this read: code revoked, not verified.
func (c *Client) Read(ctx context.Context, in ReadInput) (ReadResult, error) {
	r := reading{c: c, op: lending.OpRead}
	at, err := r.prepare(ctx, in)
	if err != nil {
		return ReadResult{}, fault.From(err)
	}
	q := question(r.as.Agent, in)
	kept, ok, mark := c.cache.find(r.perm.ID(), q, at)
	if ok {
		kept.Cached = true
		return kept, nil
	}
	if err := r.sign(ctx, in, at); err != nil {
		return ReadResult{}, fault.From(err)
	}
	if err := r.ask(ctx); err != nil {
		c.cache.wipe(r.perm.ID())
		return ReadResult{}, fault.From(err)
	}
	out := r.result()
	c.cache.put(r.perm.ID(), q, out, at, mark)
	return out, nil
}

// reading is one Read.
type reading struct {
	op     string // read or discover: also the method of the frame
	c      *Client
	as     self.AgentRow
	perm   envelope.Verified[lending.Permission]
	lender self.AgentRow
	rq     envelope.Verified[lending.ReadRequest]

	answer  lending.Answer
	tags    lending.Tags // of a discovery
	receipt envelope.Verified[lending.Receipt]
}

func (r *reading) result() ReadResult {
	return ReadResult{
		Perm: r.perm.ID(), Entries: r.answer.Entries, Refs: r.answer.Refs,
		ReceiptID: r.receipt.ID(), Receipt: r.receipt.Body(), Compact: r.answer.Receipt, Salt: r.answer.Salt, Cursor: r.answer.Cursor,
		ExpiresAt: r.perm.Body().ExpiresAt,
	}
}

// prepare finds agent and permission, and says when that was.
func (r *reading) prepare(ctx context.Context, in ReadInput) (at time.Time, err error) {
	if at, err = r.c.n.Clock.Now(); err != nil {
		return at, fault.Wrap(fault.ClockSkew, lending.ReasonClock, err).WithHint("set this host's clock")
	}
	get := self.ViewGetter(ctx, r.c.n.DB)
	if r.as, err = r.c.agent(get, in.As); err != nil {
		return at, err
	}
	if err := mayBorrow(r.as, at); err != nil {
		return at, err
	}
	if r.perm, r.lender, err = r.c.permissionOf(ctx, r.as, in.Perm); err != nil {
		return at, err
	}
	return at, r.ended(get)
}

func (r *reading) deny(code fault.Code, reason, detail string, args ...any) *fault.Denied {
	d := fault.New(code, reason, detail, args...)
	d.Perm = r.perm.ID()
	return d
}

// sign makes the request with a fresh nonce.
func (r *reading) sign(ctx context.Context, in ReadInput, at time.Time) error {
	var filter lending.Scope
	if in.Filter != "" {
		var err error
		if filter, err = lending.Parse(in.Filter); err != nil {
			return fault.Wrap(fault.Invalid, "filter", err).WithHint("say what is included, e.g. tag:client:acme")
		}
	}
	if strings.TrimSpace(in.Purpose) == "" || envelope.CheckText(in.Purpose, false) != nil || len(in.Purpose) > lending.MaxPurpose {
		return r.deny(fault.Invalid, lending.ReasonPurposeMissing, "the purpose is not 1 to %d bytes of plain text on one line", lending.MaxPurpose).WithHint("give --purpose, without line breaks")
	}
	if in.Limit < 0 || in.Limit > lending.MaxLimit {
		return r.deny(fault.Invalid, "limit", "limit %d, 1 to %d are allowed", in.Limit, lending.MaxLimit).WithHint("give --limit 1..100")
	}
	if len(in.Query) > lending.MaxQuery || in.Query != "" && in.Cursor != "" {
		return r.deny(fault.Invalid, "query", "the query has over %d bytes, or comes with a cursor", lending.MaxQuery).WithHint("a ranked answer has no next page: raise --limit")
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
	e, err := envelope.Seal(ctx, lending.ReadRequest{
		At: envelope.TimeOf(at), Aud: r.perm.Body().Lender, Borrower: r.as.Agent, Cursor: in.Cursor, Filter: filter, Kid: kid,
		Limit: uint64(in.Limit), Nonce: lending.NewSalt(), Op: r.op, Perm: r.perm.ID(), Purpose: in.Purpose, Query: in.Query,
	}, key)
	if err != nil {
		return err
	}
	r.rq, err = envelope.Open[lending.ReadRequest](ctx, e, anyTime(r.as))
	return err
}

// anyTime is the key source of one agent whatever its state: it says who signed.
func anyTime(row self.AgentRow) envelope.KeySource {
	return envelope.KeySourceFunc(func(_ context.Context, who did.DID, kid string) (did.Key, error) {
		if who != row.Agent || kid != row.KID {
			return did.Key{}, envelope.ErrUnknownKey
		}
		return did.Key{Public: row.Pub, Version: row.Object.String()}, nil
	})
}

// ask sends the request, judges what comes back, and keeps what it proves before
// anything is handed out.
func (r *reading) ask(ctx context.Context) error {
	reply, err := r.send(ctx)
	if errors.Is(err, self.ErrOffline) {
		return r.deny(fault.Unavailable, "offline", "this node does not run, so the lender cannot be asked").WithHint("start it: trustnode run")
	}
	if err == nil {
		err = r.judge(ctx, reply)
	}
	if err == nil {
		return r.keep(ctx)
	}
	var end *endError
	var other *fault.Denied
	switch {
	case errors.As(err, &end):
		return r.keepEnd(ctx, *end)
	case errors.As(err, &other):
		return cmp.Or(r.keepAsked(ctx), error(other))
	}
	r.c.n.Log.WarnContext(ctx, "a lender did not confirm a loan", "loan", r.perm.ID().String(), "error", err)
	return r.keepSilence(ctx, err)
}

// send is the one exchange; what does not come within the timeout does not count.
func (r *reading) send(ctx context.Context) ([]byte, error) {
	compact, err := r.rq.Envelope().Compact()
	if err != nil {
		return nil, err
	}
	frame, err := lending.Frame{Method: r.op, Request: compact}.Bytes()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.c.cfg.Timeout)
	defer cancel()
	reply, err := r.c.n.Peers.Lend(ctx, r.lender.Org, frame)
	if err == nil {
		err = ctx.Err()
	}
	return reply, err
}
