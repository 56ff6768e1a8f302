package memory

import (
	"context"

	"trustnode/did"
	"trustnode/node/store"
)

// maxNewest is how many active entries one call of Newest looks at.
const maxNewest = 10_000

// Newest is Search where no scope is given: the newest active entries of the place that an own
// agent may see now, at most limit (1..MaxLimit, 0 is DefaultLimit) of them and of the newest
// 10,000 of the place, past the same filter as what a scope finds. Found.Withheld counts those
// that were passed over on the way.
func (e *Entries) Newest(ctx context.Context, in Place, asker did.DID, limit int) (Found, error) {
	if err := in.check(); err != nil {
		return Found{}, err
	}
	if asker.IsZero() {
		return Found{}, invalid("agent", "missing")
	}
	if limit == 0 {
		limit = DefaultLimit
	}
	if limit < 1 || limit > MaxLimit {
		return Found{}, invalid("limit", "%d, 1 to %d are allowed", limit, MaxLimit)
	}
	var v *evaluation
	err := e.db.View(ctx, func(r store.Reader) (err error) {
		v = &evaluation{in: in, q: Query{Limit: limit, Asker: asker}, at: e.now()}
		v.out.Vis, err = visible(r, in)
		if err != nil {
			return err
		}
		return v.newest(ctx, r)
	})
	if err != nil {
		return Found{}, err
	}
	for _, ref := range v.out.Refs {
		e.touched.add(in, ref.Entry)
	}
	return v.out, nil
}

func (v *evaluation) newest(ctx context.Context, r store.Reader) error {
	f, err := newFilter(r, v.in, v.s, v.at)
	if err != nil {
		return err
	}
	f.own, f.all = true, true
	w := walk(ctx, r, v.in, []string{stateList(Active)}, span{})
	w.most = maxNewest
	err = sift(w, f, func(c *card) (bool, error) {
		if ok, err := v.mayShow(r, c); err != nil || !ok {
			return true, err
		}
		took, err := v.take(r, c)
		return took && len(v.out.Refs) < v.q.Limit, err
	})
	v.out.Subjects = sortedKeys(v.subject)
	return err
}
