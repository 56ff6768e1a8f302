package party

import (
	"context"
	"slices"

	"trustnode/attestation"
	"trustnode/did/envelope"
)

// Cited is what open cases rest on, as far as it is known here.
type Cited struct {
	ids     map[envelope.ID]bool
	unknown bool // an open case of this organization has evidence that is not here
}

// Any reports whether an open case rests on one of these: a case, its events, their bodies
// and what these name, and the loans it is about. While evidence of an own case is missing
// nobody knows what it names, so anything may be.
func (c Cited) Any(ids ...envelope.ID) bool {
	return c.unknown || slices.ContainsFunc(ids, func(id envelope.ID) bool { return c.ids[id] })
}

// Cited looks at every case known here that may still be decided.
func (p *Party) Cited(ctx context.Context) (Cited, error) {
	c := Cited{ids: map[envelope.ID]bool{}}
	cases, err := p.known(ctx)
	if err != nil {
		return Cited{}, err
	}
	for _, id := range cases {
		f, err := p.look(ctx, id)
		if err != nil {
			return Cited{}, err
		}
		if !f.ID.IsZero() && open(f.State) {
			c.add(f, f.reads(p.n.Org))
		}
	}
	return c, nil
}

func (c *Cited) add(f folded, mine bool) {
	c.ids[f.ID] = true
	for _, cl := range f.Dispute.Claims {
		c.ids[cl.Perm] = true
	}
	for _, x := range f.facts {
		e := x.Event.Body()
		c.ids[x.Event.ID()], c.ids[e.Body] = true, true
		for _, id := range names(x) {
			c.ids[id] = true
		}
		rule, _ := attestation.RuleOf(e.Type)
		if x.Body == nil && !e.Body.IsZero() && mine && rule.Readers == attestation.ReadersParties {
			c.unknown = true
		}
	}
	delete(c.ids, envelope.ID{})
}
