package gossip

import (
	"context"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
)

// pullWants asks for what is missing and was not asked for a moment ago.
func (c *conversation) pullWants(ctx context.Context) error {
	list, err := c.n.cfg.Objects.Wants(ctx, maxWants)
	if err != nil {
		return err
	}
	list = c.n.unasked(c.p.id, list)
	if _, err = c.fetch(ctx, list); err != nil {
		c.n.forgetThese(c.p.id, list)
	}
	return err
}

// fetch asks for objects and bodies and returns which came.
func (c *conversation) fetch(ctx context.Context, list []Want) (map[envelope.ID]bool, error) {
	got := map[envelope.ID]bool{}
	var bodies []envelope.ID
	for _, w := range list {
		if w.Body {
			bodies = append(bodies, w.ID)
			continue
		}
		if err := c.fetchObject(ctx, w.ID, got); err != nil {
			return got, err
		}
	}
	for len(bodies) > 0 {
		part := bodies[:min(len(bodies), maxBodies)]
		bodies = bodies[len(part):]
		if err := c.fetchBodies(ctx, part, got); err != nil {
			return got, err
		}
	}
	return got, nil
}

func (c *conversation) fetchObject(ctx context.Context, id envelope.ID, got map[envelope.ID]bool) error {
	_, err := c.ask(ask{Object: &objectAsk{ID: id}}, func(b []byte) error {
		l, err := bundle.ParseLine(b)
		if err != nil {
			return blame("object: %v", err)
		}
		if lineID(l) != id {
			return blame("not the object %s", id)
		}
		return c.takeLine(ctx, id, l, got)
	})
	return err
}

func (c *conversation) takeLine(ctx context.Context, id envelope.ID, l bundle.Line, got map[envelope.ID]bool) error {
	o, err := c.n.cfg.Objects.Take(ctx, c.org, l)
	if o == Taken || o == Held {
		got[id] = true
	}
	return c.judged("object "+id.String(), o, err)
}

func (c *conversation) fetchBodies(ctx context.Context, ids []envelope.ID, got map[envelope.ID]bool) error {
	asked := map[envelope.ID]bool{}
	for _, id := range ids {
		asked[id] = true
	}
	for left := ids; len(left) > 0; {
		n := len(left)
		e, err := c.ask(ask{Bodies: left}, func(b []byte) error {
			list, err := parseBodies(b)
			if err != nil {
				return err
			}
			for _, body := range list {
				id := envelope.IDOf(body)
				if !asked[id] {
					return blame("body %s was not asked for", id)
				}
				delete(asked, id)
				if err := c.takeLine(ctx, id, bundle.Body{Body: body}, got); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		left = keep(left, asked)
		if !e.More || len(left) == n {
			return nil
		}
	}
	return nil
}

func keep(ids []envelope.ID, in map[envelope.ID]bool) (out []envelope.ID) {
	for _, id := range ids {
		if in[id] {
			out = append(out, id)
		}
	}
	return out
}

// lineID is the id of what a line carries; zero where it has none.
func lineID(l bundle.Line) envelope.ID {
	switch l := l.(type) {
	case bundle.Envelope:
		return l.ID()
	case bundle.Compact:
		if e, err := l.Envelope(); err == nil {
			return e.ID()
		}
	case bundle.Body:
		return l.ID()
	case bundle.Row:
		return envelope.IDOf(l.Row)
	case bundle.Entry:
		if e := attestation.Entry(l.Entry); e.Check() == nil {
			return e.ID()
		}
	}
	return envelope.ID{}
}
