package lender

import (
	"cmp"
	"context"
	"errors"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

// Status answers a request of op status with a compact receipt: the state of the
// permission now, whatever it is. It counts nothing and leaves no row. Unknown and not
// the caller's are the same not_found.
func (l *Lender) Status(ctx context.Context, c Call) (string, error) {
	ctx, leave, err := l.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	rq, _, err := l.authenticate(ctx, c.Request)
	if err != nil {
		return "", refusal(err)
	}
	out, err := l.status(ctx, rq)
	return out, refusal(err)
}

func (l *Lender) status(ctx context.Context, rq envelope.Verified[lending.ReadRequest]) (string, error) {
	k, err := l.permission(ctx, rq.Body().Perm)
	if err != nil {
		return "", err
	}
	if k.perm.Body().Borrower != rq.Body().Borrower {
		return "", lending.Unknown()
	}
	id := k.perm.ID()
	g := l.hold(k)
	defer l.drop(id, g)
	for {
		closed := g.isClosed()
		out, err := l.state(ctx, k, rq)
		// A revocation that came meanwhile is told, not the moment before it.
		if err != nil || closed || !g.isClosed() {
			return out, err
		}
	}
}

// state signs the state of a permission on a snapshot of now.
func (l *Lender) state(ctx context.Context, k *known, rq envelope.Verified[lending.ReadRequest]) (string, error) {
	at, trusted := l.clock()
	var st lending.State
	var lender self.AgentRow
	err := l.n.DB.View(ctx, func(r store.Reader) (err error) {
		st, lender, err = l.load(r, k, moment{at: at, trusted: trusted})
		return err
	})
	if err != nil {
		return "", err
	}
	if lender.Revoked {
		return "", denied(lenderEnded(k), "")
	}
	key, err := l.statusKey(ctx, lender)
	if err != nil {
		return "", err
	}
	if ok, err := l.signs(self.ViewGetter(ctx, l.n.DB), &st, lender, key, at); !ok {
		return "", cmp.Or[error](err, fault.New(fault.Unavailable, "signer", "who signs receipts changed meanwhile").WithHint("ask again"))
	}
	receipt, err := lending.Status(st, rq, k.perm, at)
	if den := (*lending.Denial)(nil); errors.As(err, &den) {
		return "", denied(den, "")
	}
	if err != nil {
		return "", err
	}
	e, err := envelope.Seal(ctx, receipt, key)
	if err != nil {
		return "", err
	}
	return e.Compact()
}
