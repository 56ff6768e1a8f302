package lender

import (
	"context"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/store"
)

// decideFailed is lending.DecideFailed, or that of a discovery.
type decideFailed func(lending.State, envelope.Verified[lending.ReadRequest], envelope.Verified[lending.Permission], *lending.Denial, time.Time) (lending.Next, error)

// hopeless looks on a snapshot whether a request would be denied whatever is found: its loan
// is revoked, used up or over, say. It only spares the evaluation, which a borrower would have
// for nothing otherwise, as often as it asks. The transaction decides as ever, and where it
// finds that there is something to evaluate after all, that is done then.
func (r *reading) hopeless(ctx context.Context, m moment, decide decideFailed) (bool, error) {
	var st lending.State
	err := r.l.n.DB.View(ctx, func(g store.Reader) (err error) {
		if st, _, err = r.l.load(g, r.k, m); err != nil {
			return err
		}
		rq := r.rq.Body()
		st.Nonce, err = getNonce(g, nonceKey(rq.Borrower, rq.Nonce))
		return err
	})
	if err != nil {
		return false, err
	}
	next, err := decide(st, r.rq, r.k.perm, lending.Busy(), m.at)
	return err == nil && !unevaluated(next), err
}

// unevaluated says that a decision came to the point where it asks what was found, and
// nothing had been looked for.
func unevaluated(n lending.Next) bool {
	return n.Denial != nil && n.Denial.Reason == lending.ReasonMoved
}
