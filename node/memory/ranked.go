package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"trustnode/did"
	"trustnode/federation/lending"
	"trustnode/node/store"
)

// maxRanked is the most candidates one query orders (04 section 1).
const maxRanked = 10_000

// ranked is Find with a text: the best answers first, of equals the newest,
// then by id.
func (e *Entries) ranked(ctx context.Context, v *evaluation) (Found, error) {
	err := e.db.View(ctx, func(r store.Reader) (err error) {
		v.out, v.bytes, v.subject = Found{}, 0, nil
		if v.out.Vis, err = visible(r, v.in); err != nil {
			return err
		}
		return v.rank(ctx, r, e.ranker)
	})
	if err != nil {
		return Found{}, err
	}
	return v.out, nil
}

func (v *evaluation) rank(ctx context.Context, r store.Reader, by Ranker) error {
	var cards []card
	var bags []Bag
	err := candidates(ctx, r, v.in, v.s, v.at, nil, !v.q.Asker.IsZero(), func(c *card) (bool, error) {
		if ok, err := v.mayShow(r, c); err != nil || !ok {
			return true, err
		}
		if len(cards) == maxRanked {
			return false, ErrTooMany
		}
		b, err := loadBag(r, v.in, c.id)
		cards, bags = append(cards, c.clone()), append(bags, b)
		return true, err
	})
	if err != nil {
		return err
	}
	scores := by.Rank(v.q.Text, bags)
	order := make([]int, len(cards))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	for _, i := range order {
		if took, err := v.take(r, &cards[i]); err != nil {
			return err
		} else if !took {
			break
		}
	}
	v.out.Subjects = sortedKeys(v.subject)
	if v.q.Count {
		v.out.Total = len(cards)
	}
	return nil
}

// loadBag reads the word counts of an entry, or counts those of one that was
// written before they were kept.
func loadBag(g Getter, in Place, id string) (Bag, error) {
	b, err := g.Get(in.bagKey(id))
	if err == nil {
		return parseBag(b)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return Bag{}, err
	}
	e, err := load(g, in, id)
	return newBag(e.Statement), err
}

// mayShow reports whether a match is shown to who asks, and counts it if not.
func (v *evaluation) mayShow(g Getter, c *card) (bool, error) {
	if v.q.Asker.IsZero() {
		return true, nil
	}
	switch classOf(c.tags) {
	case "public", "internal", "confidential":
		return true, nil
	}
	e, err := load(g, v.in, c.id)
	if err != nil {
		return false, err
	}
	if e.WrittenBy(v.q.Asker) {
		return true, nil
	}
	v.out.Withheld++
	return false, nil
}

// WrittenBy reports whether an agent wrote e by itself: what the operator wrote
// or brought in under an agent's name is the operator's.
func (e Entry) WrittenBy(agent did.DID) bool {
	return !agent.IsZero() && e.Writer == agent && e.Source.Type != SourceOperator && e.Source.Type != SourceImport
}

// Search evaluates a scope for an own agent in its own place, as Find does:
// direct reading inside one project, with no loan and no row. What is personal
// or regulated is shown to its writer alone (I-17).
func (e *Entries) Search(ctx context.Context, in Place, asker did.DID, s lending.Scope, q Query) (Found, error) {
	if asker.IsZero() {
		return Found{}, invalid("agent", "missing")
	}
	q.Asker, q.Bind, q.Count = asker, "search\x00"+asker.String(), true
	return e.Find(ctx, in, s, q, e.now())
}
