package member

import (
	"context"
	"fmt"
	"math"

	"trustnode/did"
	"trustnode/did/pins"
	"trustnode/federation/charter"
	"trustnode/node/recorder"
	"trustnode/node/self"
)

// Inspected is what Inspect verified.
type Inspected struct {
	Charters int // how many there are
	head     charter.Head
	held     bool
}

// BoundsOf returns what the newest charter says of the log of an organization.
func (i Inspected) BoundsOf(d did.DID) recorder.Bounds {
	r, _ := i.head.Member(d)
	return boundsOf(r)
}

// IsMember reports whether an organization is an active member by the newest charter.
func (i Inspected) IsMember(d did.DID) bool {
	r, _ := i.head.Member(d)
	return i.held && r.Status == charter.StatusActive
}

// Quorum is how many witnesses the newest charter asks for; without one more than there are.
func (i Inspected) Quorum() int {
	if !i.held {
		return math.MaxInt
	}
	return int(i.head.Policy.FreshQuorum)
}

// Inspect verifies the stored charters, bindings and beacons again from their bytes, and
// the head against the pins; it changes nothing and needs no private key. Of n it reads Org,
// DB, Ring, Rec, Clock and Log. The error says what does not verify, or what could not be read.
func Inspect(ctx context.Context, n *self.Node, p pins.Pins) (Inspected, error) {
	var s stored
	if err := n.DB.View(ctx, s.read); err != nil {
		return Inspected{}, err
	}
	m := &Member{n: n, cfg: Config{Pins: p}, bindings: map[did.DID]bound{}, beacons: map[did.DID]heard{}}
	if err := m.loadPeers(s); err != nil || !s.held {
		return Inspected{}, err
	}
	chain, err := m.walk(ctx, s)
	if err != nil {
		return Inspected{}, fmt.Errorf("stored charters of federation %s: %w", s.head.Federation, err)
	}
	slot, id, ok := p.Highest(pins.KindHead, chain.Federation().String())
	switch {
	case ok && slot.N > chain.Head().Seq:
		return Inspected{}, fmt.Errorf("charter %d is the newest that is stored, pins name %d", chain.Head().Seq, slot.N)
	case ok && slot.N == chain.Head().Seq && id != chain.Head().ID.String():
		return Inspected{}, fmt.Errorf("charter %d is not the pinned one", slot.N)
	}
	return Inspected{Charters: len(s.file.Charters), head: chain.Head(), held: true}, nil
}
