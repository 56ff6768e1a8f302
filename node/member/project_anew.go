package member

import (
	"context"
	"fmt"
	"math"
	"slices"

	"trustnode/attestation/history"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/self"
	"trustnode/node/store"
)

// cursorOf is the cursor of a history of size indexes with these terms. It names each of
// them: two branches of one log may issue as many agents.
func cursorOf(size uint64, terms []history.Term) cursorRow {
	c := cursorRow{Size: size, Terms: uint64(len(terms))}
	var b []byte
	for _, t := range terms {
		b = fmt.Appendf(b, "%s %d", t.ID, t.From)
		if t.Revoked != nil {
			c.Revoked++
			b = fmt.Appendf(b, " %d", *t.Revoked)
		}
		b = append(b, '\n')
	}
	if len(terms) > 0 {
		c.IDs = envelope.IDOf(b).String()
	}
	return c
}

// anew takes back what was projected of a peer's log and counts no more, as of a branch that
// was given up, before all its terms are applied once more: rows of agents that no term
// issues are revoked, what is on record of a name is made of the terms alone, and no object
// is asked for that none names. It may be cut short, for the cursor moves last. The own
// log has no other branch here, and rows of it come before their terms.
func (p *projection) anew(ctx context.Context, terms []history.Term) error {
	if p.org == p.m.n.Org {
		return nil
	}
	all, err := p.m.n.Agents(ctx)
	if err != nil {
		return err
	}
	rows := map[did.DID]self.AgentRow{}
	for _, row := range all {
		if row.Org == p.org {
			rows[row.Agent] = row
		}
	}
	names, issued := namesOf(terms, rows), map[envelope.ID]bool{}
	for _, t := range terms {
		issued[t.ID] = true
	}
	var steps []func(store.Tx) error // revocations first: what follows may come later
	for _, row := range rows {
		if !issued[row.Object] && !row.Revoked {
			steps = append(steps, func(tx store.Tx) error { return p.revoke(tx, row.Agent) })
		}
	}
	err = p.m.n.DB.View(ctx, func(r store.Reader) error {
		prefix := namedKey(p.org, "")
		err := r.Scan([]byte(prefix), nil, func(k, _ []byte) bool {
			names[string(k[len(prefix):])] = names[string(k[len(prefix):])]
			return true
		})
		if err != nil {
			return err
		}
		parked, err := parkedOf(r, p.org, envelope.ID{}, math.MaxInt)
		for _, id := range parked {
			if !issued[id] {
				p.parked--
				steps = append(steps, func(tx store.Tx) error { return tx.Delete([]byte(parkedKey(p.org, id))) })
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	for name, n := range names {
		steps = append(steps, func(tx store.Tx) error {
			if n == (namedRow{}) {
				return tx.Delete([]byte(namedKey(p.org, name)))
			}
			return put(tx, namedKey(p.org, name), n)
		})
	}
	return p.carryOut(ctx, steps)
}

// namesOf is what terms and the rows made of them say of each name.
func namesOf(terms []history.Term, rows map[did.DID]self.AgentRow) map[string]namedRow {
	names := map[string]namedRow{}
	for _, t := range terms {
		n := names[t.Name]
		if t.Revoked != nil {
			n.Through = max(n.Through, t.Serial)
		}
		if row, ok := rows[t.Agent]; ok && row.Object == t.ID && row.Name == t.Name && t.Serial >= n.Serial {
			n.Agent, n.Object, n.Serial = t.Agent, t.ID, t.Serial
		}
		names[t.Name] = n
	}
	return names
}

// carryOut makes changes durable in order, some in one transaction.
func (p *projection) carryOut(ctx context.Context, steps []func(store.Tx) error) error {
	for part := range slices.Chunk(steps, projectBatch) {
		err := p.m.n.DB.Update(ctx, func(tx store.Tx) error {
			for _, step := range part {
				if err := step(tx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
