package lender

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Read answers one read. Content leaves by c.Send alone, before Read returns nil. Every
// refusal is a *fault.Denied, with the receipt that proves it where there is one; an
// error of c.Send is wrapped in one too.
//
// The order of what follows is the guarantee: decode, authenticate, evaluate on a
// snapshot, decide in one transaction, be durable, and release under the loan's lock.
func (l *Lender) Read(ctx context.Context, c Call) error {
	ctx, leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	rq, asker, err := l.authenticate(ctx, c.Request)
	if err != nil {
		return refusal(err)
	}
	done, err := l.limits.hold(asker.Agent)
	if err != nil {
		return err
	}
	defer done()
	r := reading{manner: reads, l: l, c: c, rq: rq, asker: asker}
	return refusal(r.run(ctx))
}

// authenticate opens a request under the key of the agent it names, whatever that
// agent's state: who asks is one thing, whether it may is decided later.
func (l *Lender) authenticate(ctx context.Context, compact string) (envelope.Verified[lending.ReadRequest], self.AgentRow, error) {
	var none envelope.Verified[lending.ReadRequest]
	var asker self.AgentRow
	e, err := envelope.ParseCompact(compact, lending.ReadRequestType, lending.MaxRequest)
	if err != nil {
		return none, asker, err
	}
	src := envelope.KeySourceFunc(func(ctx context.Context, who did.DID, kid string) (did.Key, error) {
		row, err := l.agents.Agent(self.ViewGetter(ctx, l.n.DB), who)
		if errors.Is(err, self.ErrNoAgent) {
			return did.Key{}, fmt.Errorf("%w: %w", envelope.ErrUnknownKey, err)
		}
		if err != nil {
			return did.Key{}, err
		}
		asker = row
		return anyTime(row).Key(ctx, who, kid)
	})
	rq, err := envelope.Open[lending.ReadRequest](ctx, e, src)
	if err != nil {
		return none, asker, err
	}
	at, _ := l.clock()
	return rq, asker, l.limits.take(asker.Agent, at)
}

// refusal gives every error the one shape of a refusal.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errBacklog) {
		return fault.Wrap(fault.Unavailable, "drain", err).WithHint("free space in the node's audit directory, reads resume by themselves")
	}
	return fault.From(err)
}

// reading is one Read or Discover.
type reading struct {
	manner
	l     *Lender
	c     Call
	rq    envelope.Verified[lending.ReadRequest]
	asker self.AgentRow
	k     *known
}

// manner is in what a read and a discovery differ: what is found, which pure rule decides on
// it or on its failure, and how the answer is written. All else is one road, so that no check
// of the one is missing in the other.
type manner struct {
	find   func(r *reading, ctx context.Context, scope lending.Scope, rec *lending.NonceRecord, m moment) (lending.Found, *lending.Denial, error)
	judge  func(lending.State, envelope.Verified[lending.ReadRequest], envelope.Verified[lending.Permission], lending.Found, time.Time) (lending.Next, error)
	failed func(lending.State, envelope.Verified[lending.ReadRequest], envelope.Verified[lending.Permission], *lending.Denial, time.Time) (lending.Next, error)
	reply  func(outcome) ([]byte, error)
}

var reads = manner{find: (*reading).findEntries, judge: lending.Decide, failed: lending.DecideFailed, reply: func(out outcome) ([]byte, error) {
	return lending.Reply(out.content, out.receipt, out.next.Cursor, out.next.Receipt.CacheUntil)
}}

func (r *reading) run(ctx context.Context) error {
	var err error
	r.k, err = r.l.permission(ctx, r.rq.Body().Perm)
	if den := (*lending.Denial)(nil); errors.As(err, &den) || err == nil && r.k.perm.Body().Borrower != r.rq.Body().Borrower {
		return r.stranger(ctx)
	}
	if err != nil {
		return err
	}
	if r.c.Permission != "" && r.c.Permission != r.k.compact {
		return r.refuse(ctx, invalidRequest("permission", "send the permission that the request names, or none"))
	}
	id := r.k.perm.ID()
	above, err := r.l.above(ctx, r.k)
	if err != nil {
		return err
	}
	g := r.l.hold(r.k, above)
	defer r.l.drop(id, g)
	for range maxAttempts {
		out, err := r.attempt(ctx)
		if errors.Is(err, lending.ErrMoved) {
			continue
		}
		if err != nil {
			return err
		}
		if sent, err := r.release(g, out); sent || err != nil {
			return err
		}
	}
	return r.refuse(ctx, lending.Busy())
}

// outcome is one decision that is durable.
type outcome struct {
	next    lending.Next
	receipt string // compact; empty where there is none
	content lending.Content
}

// attempt evaluates and decides once. lending.ErrMoved: evaluate again.
func (r *reading) attempt(ctx context.Context) (outcome, error) {
	m := r.moment()
	f, failed, err := r.evaluate(ctx, m)
	if err != nil {
		return outcome{}, err
	}
	if r.l.testingOnlyFound != nil {
		r.l.testingOnlyFound()
	}
	if m.at, m.trusted = r.l.clock(); m.at.Before(f.At) {
		return outcome{}, lending.ErrMoved
	}
	key, err := r.l.lenderKey(ctx, r.k.perm.Body().Lender)
	if err != nil {
		return outcome{}, err
	}
	var out outcome
	err = r.l.n.DB.Update(ctx, func(tx store.Tx) (err error) {
		out, err = r.decide(ctx, tx, f, failed, m, key)
		return err
	})
	return out, err
}

func (r *reading) moment() moment {
	at, trusted := r.l.clock()
	return moment{at, trusted, lending.NewSalt()}
}

// evaluate finds what the request asks for, on one snapshot. A request that
// cannot be evaluated is a denial, to be judged after all that decides before it; so is one
// that need not be.
func (r *reading) evaluate(ctx context.Context, m moment) (lending.Found, *lending.Denial, error) {
	if skip, err := r.hopeless(ctx, m); skip || err != nil {
		return lending.Found{At: m.at}, lending.Busy(), err
	}
	if r.l.testingOnlyEvaluate != nil {
		r.l.testingOnlyEvaluate()
	}
	rq := r.rq.Body()
	rec, err := getNonce(self.ViewGetter(ctx, r.l.n.DB), nonceKey(rq.Borrower, rq.Nonce))
	if err != nil {
		return lending.Found{}, nil, err
	}
	scope, err := lending.Effective(r.k.perm.Body(), rq)
	if den := (*lending.Denial)(nil); errors.As(err, &den) {
		return lending.Found{At: m.at}, den, nil
	}
	return r.find(r, ctx, scope, rec, m)
}

// findEntries finds and renders entries, or those of an answer that is asked for again.
func (r *reading) findEntries(ctx context.Context, scope lending.Scope, rec *lending.NonceRecord, m moment) (lending.Found, *lending.Denial, error) {
	rq := r.rq.Body()
	if rec.Replays(r.rq, m.at) {
		f, err := r.recall(ctx, scope, *rec, m)
		return f, nil, err
	}
	q := memory.Query{Limit: rq.Entries(), Cursor: rq.Cursor, Bind: r.k.perm.ID().String(), Text: rq.Query}
	f, err := r.l.n.Entries.Find(ctx, r.k.place, scope, q, m.at)
	if errors.Is(err, memory.ErrCursor) {
		return lending.Found{At: m.at}, invalidRequest("cursor", "use the cursor of the answer before, with the same filter"), nil
	}
	if errors.Is(err, memory.ErrTooMany) {
		return lending.Found{At: m.at}, tooMany(), nil
	}
	if err != nil {
		return lending.Found{}, nil, err
	}
	f.At = m.at
	f.Content, err = lending.Join(f.Views, lending.NewSalt())
	return f.Found, nil, err
}

func invalidRequest(reason, hint string) *lending.Denial {
	return &lending.Denial{Code: lending.CodeInvalid, Reason: reason, Hint: hint, Detail: "the " + reason + " of the request cannot be used"}
}

func tooMany() *lending.Denial {
	return &lending.Denial{Code: lending.CodeTooLarge, Reason: "query", Hint: "narrow it with a filter, or leave the query out", Detail: "the scope has more entries than one query ranks"}
}

// recall renders an earlier answer again, or finds that it cannot be.
func (r *reading) recall(ctx context.Context, scope lending.Scope, rec lending.NonceRecord, m moment) (lending.Found, error) {
	f, err := r.l.n.Entries.Recall(ctx, r.k.place, scope, rec.Refs, m.at)
	if errors.Is(err, memory.ErrGone) || errors.Is(err, memory.ErrLeft) || errors.Is(err, memory.ErrNotFound) {
		return lending.Found{At: m.at, Replay: true}, nil
	}
	if err != nil {
		return lending.Found{}, err
	}
	f.At, f.Replay = m.at, true
	f.Content, err = lending.Join(f.Views, rec.Salt)
	return f.Found, err
}

// decide is the decision transaction.
func (r *reading) decide(ctx context.Context, tx store.Tx, f lending.Found, failed *lending.Denial, m moment, key signer) (outcome, error) {
	st, lender, err := r.l.load(tx, r.k, m)
	if err != nil {
		return outcome{}, err
	}
	if ok, err := r.l.signs(tx, &st, lender, key, m.at); !ok {
		r.l.forgetKey(lender.Agent)
		return outcome{}, cmp.Or(err, lending.ErrMoved)
	}
	if st.Vis, err = r.l.n.Entries.Vis(tx, r.k.place); err != nil {
		return outcome{}, err
	}
	rq := r.rq.Body()
	if st.Nonce, err = getNonce(tx, nonceKey(rq.Borrower, rq.Nonce)); err != nil {
		return outcome{}, err
	}
	out := outcome{content: f.Content}
	if failed != nil {
		out.next, err = r.failed(st, r.rq, r.k.perm, failed, m.at)
	} else {
		out.next, err = r.judge(st, r.rq, r.k.perm, f, m.at)
	}
	if err == nil && unevaluated(out.next) {
		err = lending.ErrMoved
	}
	if err != nil {
		return outcome{}, err
	}
	if lender.Revoked {
		out.next.Receipt = nil // the only key that could sign it counts no longer
	}
	return out, r.commit(ctx, tx, &out, key, m)
}

// release sends what was decided: content under the loan's lock, a denial as the error.
// Neither: the loan was revoked since, decide again.
func (r *reading) release(g *gate, out outcome) (sent bool, err error) {
	if out.next.Verdict == lending.Denied {
		return false, denied(out.next.Denial, out.receipt)
	}
	answer, err := r.reply(out)
	if err != nil {
		return false, err
	}
	if r.l.testingOnlyBeforeSend != nil {
		r.l.testingOnlyBeforeSend()
	}
	sent, err = g.pass(r.c.Send, answer)
	if err != nil {
		return sent, fault.Wrap(fault.Unavailable, "connection", err)
	}
	return sent, nil
}

// denied is a denial as its receiver gets it.
func denied(den *lending.Denial, receipt string) error {
	d := fault.From(den)
	d.Receipt, d.Verified = receipt, receipt != ""
	return d
}
