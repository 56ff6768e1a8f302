package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// endError says that a verified receipt denies the read for the permission's state.
type endError struct {
	receipt envelope.Verified[lending.Receipt]
	reason  string // the lender's word, unsigned
}

func (e *endError) Error() string { return "the lender signed state " + string(e.receipt.Body().State) }

var errNoReply = errors.New("what came back is no reply")

// judge verifies a reply. Nil: content may be handed out. *endError: the lender signed
// that it may not. *fault.Denied: a refusal of this request that says nothing of the
// loan. Anything else confirms nothing.
func (r *reading) judge(ctx context.Context, frame []byte) error {
	reply, ok := lending.ParseReply(frame)
	switch {
	case !ok || reply.Receipt != "":
		return errNoReply
	case reply.Problem != nil:
		return r.problem(ctx, reply.Problem)
	}
	if r.op == lending.OpDiscover {
		return r.judgeTags(ctx, reply.Answer)
	}
	a, err := lending.ParseAnswer(reply.Answer)
	if err != nil {
		return err
	}
	v, at, err := r.open(ctx, a.Receipt)
	if err != nil {
		return err
	}
	if err := r.expect(ctx).Answer(a, v, at); err != nil {
		return r.orEnd(err, v, "")
	}
	if len(a.Entries) > r.rq.Body().Entries() {
		return fmt.Errorf("%w: %d entries, %d asked for", lending.ErrAnswer, len(a.Entries), r.rq.Body().Entries())
	}
	r.answer, r.receipt = a, v
	return nil
}

// open verifies the signature of a receipt, and says when.
func (r *reading) open(ctx context.Context, compact string) (envelope.Verified[lending.Receipt], time.Time, error) {
	var none envelope.Verified[lending.Receipt]
	at, err := r.c.n.Clock.Now()
	if err != nil {
		return none, at, err
	}
	e, err := envelope.ParseCompact(compact, lending.ReceiptType, lending.MaxReceipt)
	if err != nil {
		return none, at, err
	}
	src := envelope.KeySourceFunc(func(ctx context.Context, who did.DID, kid string) (did.Key, error) {
		row, err := self.Agent(self.ViewGetter(ctx, r.c.n.DB), who)
		if errors.Is(err, self.ErrNoAgent) {
			err = errors.Join(envelope.ErrUnknownKey, err)
		}
		if err != nil {
			return did.Key{}, err
		}
		return anyTime(row).Key(ctx, who, kid)
	})
	v, err := envelope.Open[lending.Receipt](ctx, e, src)
	return v, at, err
}

// expect is what the receipt must answer. For a human lender an agent of the same
// organization with capability receipts may sign.
func (r *reading) expect(ctx context.Context) lending.Expect {
	return lending.Expect{Perm: r.perm, Request: r.rq.ID(), Op: r.op, MaySign: func(d did.DID) bool {
		row, err := self.Agent(self.ViewGetter(ctx, r.c.n.DB), d)
		at, clockErr := r.c.n.Clock.Now()
		return err == nil && clockErr == nil && r.lender.Kind == "human" && row.Org == r.lender.Org && row.May("receipts", at) == nil
	}}
}

// orEnd turns the refusal of a receipt that verified into an end, where it is one.
func (r *reading) orEnd(err error, v envelope.Verified[lending.Receipt], reason string) error {
	if ended := (*lending.EndedError)(nil); errors.As(err, &ended) {
		return &endError{v, reason}
	}
	return err
}

// problem judges a refusal. With a receipt it counts for what that proves; without one
// it confirms nothing of the loan, but a refusal of the request itself is passed on.
func (r *reading) problem(ctx context.Context, body []byte) error {
	d := fault.ParseProblem(body)
	if d.Receipt != "" {
		v, at, err := r.open(ctx, d.Receipt)
		if err != nil {
			return err
		}
		if err := r.expect(ctx).Receipt(v, at); err != nil {
			return r.orEnd(err, v, d.Reason)
		}
		return errNoReply // a receipt that says valid denies nothing
	}
	switch d.Code {
	case fault.Invalid, fault.NotCanonical, fault.Unauthenticated, fault.ClockSkew, fault.Refused, fault.Forked, fault.NotFound, fault.Replay, fault.TooLarge, fault.RateLimited:
		d.Perm = r.perm.ID()
		return d
	}
	return fmt.Errorf("the lender answered %s %s without a receipt", d.Code, d.Reason)
}
