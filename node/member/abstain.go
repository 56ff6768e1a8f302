package member

import (
	"context"
	"errors"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

// A copy of a whole directory, pins included, that takes the place of a lost one does not know
// which entries of others were witnessed since it was made, and nobody else does before they
// are published. What peers have of this node, signed by its own keys, gives such a copy away.
// It then leaves entries to other witnesses, or to its operator's word, as long as the entry
// before them may be of the time that it does not know: whatever was witnessed then and not
// published follows such an entry.

// agedRow says that the pins are older than what this node has signed.
type agedRow struct{}

// abstainRow says up to when the node may have witnessed what it does not know of.
type abstainRow struct {
	Until envelope.Time `json:"until"`
}

// aheadOf is how far an entry may be dated ahead of the clock of who witnesses it.
const aheadOf = 300 * time.Second

// noteAged keeps durably that the pins are old, before they are raised by what peers bring.
func (m *Member) noteAged(ctx context.Context) error {
	return m.n.DB.Update(ctx, func(tx store.Tx) error { return put(tx, keyAged, agedRow{}) })
}

// abstain begins to abstain, where the pins were old. It is called once all that peers have is
// here and pinned.
func (m *Member) abstain(ctx context.Context) error {
	_, aged, err := get[agedRow](self.ViewGetter(ctx, m.n.DB), keyAged)
	if err != nil || !aged {
		return err
	}
	at, err := m.now()
	if err != nil {
		return err
	}
	return m.n.DB.Update(ctx, func(tx store.Tx) error {
		return errors.Join(put(tx, keyAbstain, abstainRow{envelope.TimeOf(at.Add(aheadOf))}), tx.Delete([]byte(keyAged)))
	})
}

// abstains refuses the next entry of a log that ends with one of the time this node does not
// know.
func (m *Member) abstains(ctx context.Context, d did.DID, h didwebvh.History, n int) error {
	row, ok, err := get[abstainRow](self.ViewGetter(ctx, m.n.DB), keyAbstain)
	if err != nil || !ok || h.Head().Time.After(row.Until.Time()) {
		return err
	}
	return fault.New(fault.Refused, "restored", "this node was put back from a copy and cannot know whether it has witnessed another entry %d of %s", n, place(d)).
		WithHint("another witness signs it; or its operator makes sure that there is no other and signs by hand: trustnode did witness sign FILE")
}
