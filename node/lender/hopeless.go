package lender

import (
	"context"

	"trustnode/federation/lending"
	"trustnode/node/store"
)

// hopeless looks on a snapshot whether a request would be denied whatever is found: its loan
// is revoked, used up or over, say. It only spares the evaluation, which a borrower would have
// for nothing otherwise, as often as it asks. The transaction decides as ever, and where it
// finds that there is something to evaluate after all, that is done then.
func (r *reading) hopeless(ctx context.Context, m moment) (bool, error) {
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
	next, err := r.failed(st, r.rq, r.k.perm, lending.Busy(), m.at)
	return err == nil && !unevaluated(next), err
}

// unevaluated says that a decision came to the point where it asks what was found, and
// nothing had been looked for.
func unevaluated(n lending.Next) bool {
	return n.Denial != nil && n.Denial.Reason == lending.ReasonMoved
}
