package member

import (
	"context"
	"fmt"

	"trustnode/did"
	"trustnode/did/pins"
	"trustnode/node/self"
)

// Inspect verifies the stored charters, bindings and beacons again from their bytes, and
// the head against the pins; it changes nothing and needs no private key. Of n it reads Org,
// DB, Ring, Rec, Clock and Log. The error says what does not verify, or what could not be read.
// It returns how many charters there are.
func Inspect(ctx context.Context, n *self.Node, p pins.Pins) (charters int, err error) {
	var s stored
	if err := n.DB.View(ctx, s.read); err != nil {
		return 0, err
	}
	m := &Member{n: n, cfg: Config{Pins: p}, bindings: map[did.DID]bound{}, beacons: map[did.DID]heard{}}
	if err := m.loadPeers(s); err != nil || !s.held {
		return 0, err
	}
	chain, err := m.walk(ctx, s)
	if err != nil {
		return 0, fmt.Errorf("stored charters of federation %s: %w", s.head.Federation, err)
	}
	slot, id, ok := p.Highest(pins.KindHead, chain.Federation().String())
	switch {
	case ok && slot.N > chain.Head().Seq:
		return 0, fmt.Errorf("charter %d is the newest that is stored, pins name %d", chain.Head().Seq, slot.N)
	case ok && slot.N == chain.Head().Seq && id != chain.Head().ID.String():
		return 0, fmt.Errorf("charter %d is not the pinned one", slot.N)
	}
	return len(s.file.Charters), nil
}
