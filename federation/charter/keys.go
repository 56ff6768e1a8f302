package charter

import (
	"fmt"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/pins"
)

// Keys answers from what is held which keys count; it never uses the network.
// Organizations with a did:key are not asked for: the DID is the key.
type Keys interface {
	// At lists the assertion keys of a version; ErrUnknownVersion if it is not held.
	At(d did.DID, version string) ([]did.PublicKey, error)
	// Extends tells whether newer is older or comes after it in one history;
	// ErrUnknownVersion if either is not held.
	Extends(d did.DID, older, newer string) (bool, error)
	// Ended gives the log index of the key.rotated that retired k, if one is held.
	Ended(d did.DID, k did.PublicKey) (index uint64, ok bool)
	// Signed gives the log index of d's charter.signed for that slot and body, if one is held.
	Signed(d did.DID, s pins.Slot, body envelope.ID) (index uint64, ok bool)
}

// Anchors may be implemented by a Keys. Anchored charters keep signatures by keys
// that were retired since: a pin, an accepted head, or enough beacons name this
// charter or one built on it.
type Anchors interface {
	Anchored(charter envelope.ID) bool
}

// SlotOf is the slot in which a member commits to b, whose id is body. The key is
// the federation; for a genesis that is body itself.
func SlotOf(b Body, body envelope.ID) pins.Slot {
	federation := b.Federation
	if b.Seq == 0 {
		federation = body
	}
	return pins.Slot{Kind: pins.KindSlot, Key: federation.String(), N: b.Seq*8 + b.Round}
}

// keysAt is Keys.At, answered from the DID itself for did:key.
func keysAt(k Keys, d did.DID, version string) ([]did.PublicKey, error) {
	if d.Method() != "key" {
		return k.At(d, version)
	}
	pub, err := did.DecodeKey(d.ID())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d, err)
	}
	return []did.PublicKey{pub}, nil
}
