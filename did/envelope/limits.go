package envelope

// Caps on foreign input, checked before parsing.
const (
	// DefaultMaxBytes is the size of a body in bytes whose type names no other: room for any object of one page.
	DefaultMaxBytes = 64 << 10
	// MaxDepth is how deep objects and arrays may be nested in a body.
	MaxDepth = 8
	// MaxInteger is the greatest integer in a body, 2^53-1: JSON readers that use doubles still read it exactly.
	MaxInteger = 1<<53 - 1
	// MaxSignatures is the number of signatures on one object: a charter has at most 128 member records. It also bounds
	// what a stranger can make OpenSet verify by adding signatures that name no key: this many times the keys given.
	MaxSignatures = 128
	// MaxKeyID is the length of a keyid in bytes. Multikey texts have 48; the rest is for other people's fragments.
	MaxKeyID = 256
	// maxType is the length of a payload type in bytes; the longest of this project has 48.
	maxType = 96
	// maxFields is the number of members of one body struct, one bit each in a uint64.
	maxFields = 64
	// maxNamed is how much of a foreign key a FormError repeats, in bytes.
	maxNamed = 64
)
