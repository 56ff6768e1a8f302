// Package pins answers one question: what has this node already signed, or already seen signed, so that it
// never signs a second value for the same place and never goes back behind what it knew?
//
// A pin ties a value to a slot: a kind, a key within the kind and a number. The first value put into a slot stands,
// and the number of a kind and key never falls. A pin is durable before Put returns, so whoever puts first and signs
// afterwards signs at most one value per slot, across crashes and across restored backups of everything but the
// pins themselves.
//
// File keeps the pins in one append-only file of lines
//
//	KIND KEY N VALUE TIME CRC32C
//
// described in SPEC.md. Memory keeps them in memory, for tests and for nodes that live in one process for a while.
// Both are held to the suite in pinstest.
//
// The package does not know what the values mean, decides nothing about forks, and does not lock its directory
// against a second process: whoever opens the data directory does.
package pins

import "context"

// Kind names what a pin speaks of. The zero value is invalid. The numbers are internal to the process; files carry
// the words of String. Kinds are append-only: never reordered, never reused.
type Kind uint8

// The kinds. The first six name what this node signs only once, the last two what it has seen signed by others.
const (
	KindEntry   Kind = iota + 1 // an entry of an own DID log; key: scid, N: version number
	KindWitness                 // an entry of another's DID log, as its witness; key: scid, N: version number
	KindLog                     // a head of the own attestation log; key: organization DID, N: log size
	KindCosign                  // a head of another's log, cosigned; key: organization DID, N: log size
	KindSlot                    // a charter body; key: federation, N: seq × 8 + round
	KindBeacon                  // an own beacon; N: beacon n
	KindDID                     // the head of a DID; key: DID, N: version number
	KindHead                    // the head of a charter chain; key: federation, N: seq
)

var kindNames = [...]string{
	KindEntry: "entry", KindWitness: "witness", KindLog: "log", KindCosign: "cosign",
	KindSlot: "slot", KindBeacon: "beacon", KindDID: "did", KindHead: "head",
}

// String returns the word that stands for k in the file, or "invalid".
func (k Kind) String() string {
	if !k.valid() {
		return "invalid"
	}
	return kindNames[k]
}

func (k Kind) valid() bool { return k > 0 && int(k) < len(kindNames) }

// movable reports whether a later decision may replace the value of a slot: only for what was seen, never for what
// this node signed.
func (k Kind) movable() bool { return k == KindDID || k == KindHead }

func parseKind(word string) (Kind, bool) {
	for k := KindEntry; k.valid(); k++ {
		if kindNames[k] == word {
			return k, true
		}
	}
	return 0, false
}

// Slot is the place a value is pinned to.
type Slot struct {
	Kind Kind
	Key  string // 1 to MaxKey bytes of printable ASCII without space
	N    uint64 // version number, log size, seq × 8 + round, or beacon n
}

// Pins is the guard against signing twice and against rollback. Implementations are safe for concurrent use.
type Pins interface {
	// Put pins value to s. It is durable when Put returns nil. The same value for the highest slot again is nil;
	// another value is a *Taken; an N below the highest of the kind and key is a *Below, whatever the value. Values are
	// 1 to MaxValue bytes of printable ASCII without space, else ErrForm. Any other error means that the pin may or
	// may not be durable: nothing that depends on it may be signed, and the same Put may be tried again.
	Put(ctx context.Context, s Slot, value string) error

	// Move pins value to s like Put, but replaces another value of the highest slot. It is for KindDID and KindHead
	// only (ErrForm otherwise). decidedBy names what settles the matter, a charter's id or an audited act of the operator; it
	// must not be empty. It is not stored here: the charter or the audit row is its record. N still never falls.
	Move(ctx context.Context, s Slot, value, decidedBy string) error

	// Highest returns the slot with the greatest N pinned durably for k and key, and its value; false if there is none.
	Highest(k Kind, key string) (Slot, string, bool)

	// Line returns where the pin that Highest answers stands in the file, counted from 1, so that a person finds it; 0
	// where there is none or no file. A rewrite of the file changes it.
	Line(k Kind, key string) uint64
}
