package lender

import (
	"context"
	"errors"

	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
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
	r := reading{manner: discoveries, l: l, c: c, rq: rq, asker: asker}
	return refusal(r.run(ctx))
}

var discoveries = manner{find: (*reading).findTags, judge: lending.DecideDiscover, failed: lending.DecideDiscoverFailed, reply: func(out outcome) ([]byte, error) {
	return lending.ReplyTags(out.content, out.receipt)
}}

// findTags collects the tags. A request that was answered before is answered with the salt of
// then, so that equal tags give the same content.
func (r *reading) findTags(ctx context.Context, scope lending.Scope, rec *lending.NonceRecord, m moment) (lending.Found, *lending.Denial, error) {
	rq := r.rq.Body()
	f := lending.Found{At: m.at}
	for _, member := range []struct {
		name string
		set  bool
	}{{"query", rq.Query != ""}, {"cursor", rq.Cursor != ""}, {"limit", rq.Limit != 0}} {
		if member.set {
			return f, invalidRequest(member.name, "a discovery takes a filter alone"), nil
		}
	}
	salt := lending.NewSalt()
	if f.Replay = rec.Replays(r.rq, m.at); f.Replay {
		salt = rec.Salt
	}
	found, err := r.l.n.Entries.Discover(ctx, r.k.place, scope, rq.Filter, memory.Discovery{Least: r.l.cfg.DiscoverMin, Hidden: r.l.cfg.HiddenTags, Within: r.k.perm.Body().Scope}, m.at)
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
