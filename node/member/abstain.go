package member

import (
	"context"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

// A copy of a whole directory, pins included, that takes the place of a lost one does not know
// which entries of others were witnessed since it was made, and nobody else does before they
// are published. What peers hold of this node's own numbers gives such a copy away. Of each
// log it then leaves the next entry to other witnesses, or to its operator's word: all before
// that are published, and none after it could be asked for.

// agedRow says since when the pins are known to be older than what this node has signed.
type agedRow struct{}

// abstainRow is the entry of one log that is not witnessed unasked.
type abstainRow struct {
	Number uint64 `json:"number"`
}

func abstainKey(scid string) string { return keyAbstain + scid }

// aged reports whether a peer holds a number of ours that is above the pins: of a node whose
// databases alone are old it is not.
func (m *Member) aged(a federation.AboutYou) bool {
	c, _ := m.Charter()
	fed := c.Federation().String()
	return a.LogSize > m.pinned(pins.KindLog, m.n.Org.String()) || a.BeaconN > m.pinned(pins.KindBeacon, fed) ||
		a.Commit != nil && a.Commit.Seq*8+a.Commit.Round > m.pinned(pins.KindSlot, fed)
}

// noteAged keeps durably that the pins are old, before they are raised by what peers bring.
func (m *Member) noteAged(ctx context.Context) error {
	return m.n.DB.Update(ctx, func(tx store.Tx) error { return put(tx, keyAged, agedRow{}) })
}

// abstain marks the next entry of each log, where the pins were old. It is called when all
// that peers have is here.
func (m *Member) abstain(ctx context.Context) error {
	_, aged, err := get[agedRow](self.ViewGetter(ctx, m.n.DB), keyAged)
	if err != nil || !aged {
		return err
	}
	list, err := m.n.Ring.List(ctx)
	if err != nil {
		return err
	}
	rows := map[string]abstainRow{}
	for _, v := range list {
		if h, err := m.n.Ring.History(ctx, v.DID); err == nil && v.DID != m.n.Org {
			rows[h.SCID()] = abstainRow{uint64(h.Len()) + 1}
		}
	}
	return m.n.DB.Update(ctx, func(tx store.Tx) error {
		for scid, row := range rows {
			if err := put(tx, abstainKey(scid), row); err != nil {
				return err
			}
		}
		return tx.Delete([]byte(keyAged))
	})
}

// abstains refuses the one entry of a log that may have been witnessed before.
func (m *Member) abstains(ctx context.Context, d did.DID, h didwebvh.History, n int) error {
	row, ok, err := get[abstainRow](self.ViewGetter(ctx, m.n.DB), abstainKey(h.SCID()))
	if err != nil || !ok || row.Number != uint64(n) {
		return err
	}
	return fault.New(fault.Refused, "restored", "this node was put back from a copy and cannot know whether it has witnessed another entry %d of %s", n, place(d)).
		WithHint("another witness signs it; or its operator makes sure that there is no other and signs by hand: trustnode did witness sign FILE")
}
