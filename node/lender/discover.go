package lender

import (
	"cmp"
	"context"
	"errors"

	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Discover answers one request of op discover: which tags the entries in scope have, and
// nothing else of them. It is a read in every other respect: decided in one transaction,
// counted, with a row and a receipt, and released under the loan's lock.
func (l *Lender) Discover(ctx context.Context, c Call) error {
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
	d := discovering{reading{l: l, c: c, rq: rq, asker: asker}}
	return refusal(d.run(ctx))
}

// discovering is one Discover: a reading whose content are tags.
type discovering struct{ reading }

func (d *discovering) run(ctx context.Context) error {
	var err error
	d.k, err = d.l.permission(ctx, d.rq.Body().Perm)
	if den := (*lending.Denial)(nil); errors.As(err, &den) || err == nil && d.k.perm.Body().Borrower != d.rq.Body().Borrower {
		return d.stranger(ctx)
	}
	if err != nil {
		return err
	}
	if d.c.Permission != "" && d.c.Permission != d.k.compact {
		return d.refuse(ctx, invalidRequest("permission", "send the permission that the request names, or none"))
	}
	id := d.k.perm.ID()
	above, err := d.l.above(ctx, d.k)
	if err != nil {
		return err
	}
	g := d.l.hold(d.k, above)
	defer d.l.drop(id, g)
	for range maxAttempts {
		out, err := d.attempt(ctx)
		if errors.Is(err, lending.ErrMoved) {
			continue
		}
		if err != nil {
			return err
		}
		if sent, err := d.release(g, out); sent || err != nil {
			return err
		}
	}
	return d.refuse(ctx, lending.Busy())
}

// attempt evaluates and decides once. lending.ErrMoved: evaluate again.
func (d *discovering) attempt(ctx context.Context) (outcome, error) {
	m := d.moment()
	f, failed, err := d.evaluate(ctx, m)
	if err != nil {
		return outcome{}, err
	}
	if d.l.testingOnlyFound != nil {
		d.l.testingOnlyFound()
	}
	if m.at, m.trusted = d.l.clock(); m.at.Before(f.At) {
		return outcome{}, lending.ErrMoved
	}
	key, err := d.l.lenderKey(ctx, d.k.perm.Body().Lender)
	if err != nil {
		return outcome{}, err
	}
	var out outcome
	err = d.l.n.DB.Update(ctx, func(tx store.Tx) (err error) {
		out, err = d.decide(ctx, tx, f, failed, m, key)
		return err
	})
	return out, err
}

// evaluate collects the tags on one snapshot. A request that was answered before is
// answered with the salt of then, so that equal tags give the same content.
func (d *discovering) evaluate(ctx context.Context, m moment) (lending.Found, *lending.Denial, error) {
	if skip, err := d.hopeless(ctx, m, lending.DecideDiscoverFailed); skip || err != nil {
		return lending.Found{At: m.at}, lending.Busy(), err
	}
	if d.l.testingOnlyEvaluate != nil {
		d.l.testingOnlyEvaluate()
	}
	rq := d.rq.Body()
	f := lending.Found{At: m.at}
	rec, err := getNonce(self.ViewGetter(ctx, d.l.n.DB), nonceKey(rq.Borrower, rq.Nonce))
	if err != nil {
		return f, nil, err
	}
	scope, err := lending.Effective(d.k.perm.Body(), rq)
	if den := (*lending.Denial)(nil); errors.As(err, &den) {
		return f, den, nil
	}
	for _, m := range []struct {
		name string
		set  bool
	}{{"query", rq.Query != ""}, {"cursor", rq.Cursor != ""}, {"limit", rq.Limit != 0}} {
		if m.set {
			return f, invalidRequest(m.name, "a discovery takes a filter alone"), nil
		}
	}
	salt := lending.NewSalt()
	if f.Replay = rec.Replays(d.rq, m.at); f.Replay {
		salt = rec.Salt
	}
	found, err := d.l.n.Entries.Discover(ctx, d.k.place, scope, rq.Filter, memory.Discovery{Least: d.l.cfg.DiscoverMin, Hidden: d.l.cfg.HiddenTags, Within: d.k.perm.Body().Scope}, m.at)
	if errors.Is(err, memory.ErrBroad) {
		return f, &lending.Denial{Code: lending.Code(fault.TooLarge), Reason: "scope", Hint: "narrow it with a filter, e.g. age<7d", Detail: err.Error()}, nil
	}
	if err != nil {
		return f, nil, err
	}
	f.Vis = found.Vis
	f.Content, err = lending.JoinTags(found.Tags, found.Withheld, salt)
	return f, nil, err
}

// decide is the decision transaction.
func (d *discovering) decide(ctx context.Context, tx store.Tx, f lending.Found, failed *lending.Denial, m moment, key signer) (outcome, error) {
	st, lender, err := d.l.load(tx, d.k, m)
	if err != nil {
		return outcome{}, err
	}
	if ok, err := d.l.signs(tx, &st, lender, key, m.at); !ok {
		d.l.forgetKey(lender.Agent)
		return outcome{}, cmp.Or(err, lending.ErrMoved)
	}
	if st.Vis, err = d.l.n.Entries.Vis(tx, d.k.place); err != nil {
		return outcome{}, err
	}
	rq := d.rq.Body()
	if st.Nonce, err = getNonce(tx, nonceKey(rq.Borrower, rq.Nonce)); err != nil {
		return outcome{}, err
	}
	out := outcome{content: f.Content}
	if failed != nil {
		out.next, err = lending.DecideDiscoverFailed(st, d.rq, d.k.perm, failed, m.at)
	} else {
		out.next, err = lending.DecideDiscover(st, d.rq, d.k.perm, f, m.at)
	}
	if err == nil && unevaluated(out.next) {
		err = lending.ErrMoved
	}
	if err != nil {
		return outcome{}, err
	}
	if lender.Revoked {
		out.next.Receipt = nil
	}
	return out, d.commit(ctx, tx, &out, key, m)
}

// release sends what was decided, as reading.release does.
func (d *discovering) release(g *gate, out outcome) (sent bool, err error) {
	if out.next.Verdict == lending.Denied {
		return false, denied(out.next.Denial, out.receipt)
	}
	answer, err := lending.ReplyTags(out.content, out.receipt)
	if err != nil {
		return false, err
	}
	if d.l.testingOnlyBeforeSend != nil {
		d.l.testingOnlyBeforeSend()
	}
	sent, err = g.pass(d.c.Send, answer)
	if err != nil {
		return sent, fault.Wrap(fault.Unavailable, "connection", err)
	}
	return sent, nil
}
