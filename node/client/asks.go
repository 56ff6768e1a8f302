package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/store"
)

const keyAsks = "bq/"

// asksRow names the requests kept of one agent, oldest first. Requests made before there was
// such a row are in none.
type asksRow struct {
	IDs []envelope.ID `json:"ids"`
}

// admit takes a new request of an agent in among those kept. Errors: rate_limited where
// maxOpenAsks of them wait for an answer.
func (c *Client) admit(tx store.Tx, agent did.DID, id envelope.ID, at time.Time) error {
	key := []byte(keyAsks + agent.String())
	row, _, err := store.GetRow[asksRow](tx, key)
	if err != nil {
		return err
	}
	kept, closed, open := []envelope.ID{}, []envelope.ID{}, 0
	for _, x := range row.IDs {
		a, ok, err := store.GetRow[askedRow](tx, idKey(keyAsked, x))
		if err != nil {
			return err
		}
		if !ok { // its lender refused it
			continue
		}
		kept = append(kept, x)
		if a.State.AskAt(a.Until, at) == lending.AskRequested {
			open++
		} else {
			closed = append(closed, x)
		}
	}
	if open >= maxOpenAsks {
		return fault.New(fault.RateLimited, "requests", "%d requests of this agent wait for an answer", open).
			WithHint("wait until lenders answer or they lapse, a day after they were made: trustnode loan list --requests")
	}
	for len(kept) >= maxKeptAsks { // more than maxOpenAsks, so that some are closed
		old := closed[0]
		closed = closed[1:]
		kept = slices.DeleteFunc(kept, func(x envelope.ID) bool { return x == old })
		if err := errors.Join(tx.Delete(idKey(keyAsked, old)), c.n.Lib.Remove(tx, old)); err != nil {
			return err
		}
	}
	return store.PutRow(tx, key, asksRow{IDs: append(kept, id)})
}

// newestAsked lists the ids of the newest requests kept, newest first, at most MaxLoans.
func (c *Client) newestAsked(ctx context.Context) ([]envelope.ID, error) {
	type made struct {
		id envelope.ID
		at envelope.Time
	}
	var all []made
	newest := func() {
		slices.SortFunc(all, func(a, b made) int {
			return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.id.String(), b.id.String()))
		})
		all = all[:min(len(all), c.piece())]
	}
	err := c.each(ctx, keyAsked, func(id envelope.ID) error {
		row, ok, err := store.GetRow[askedRow](viewOf(ctx, c), idKey(keyAsked, id))
		if err != nil || !ok {
			return err
		}
		if all = append(all, made{id, row.Asked}); len(all) >= 2*c.piece() {
			newest()
		}
		return nil
	})
	newest()
	ids := make([]envelope.ID, 0, len(all))
	for _, m := range all {
		ids = append(ids, m.id)
	}
	return ids, err
}
