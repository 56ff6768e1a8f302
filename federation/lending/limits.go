package lending

// Caps on foreign input. Each is checked before anything is built from the
// input.
const (
	// MaxScopeBytes is the longest scope text, in bytes: it must fit a header
	// together with the rest of a permission.
	MaxScopeBytes = 512
	// MaxTerms is the most terms of one scope: a wish for more is two loans.
	MaxTerms = 16
	// MaxAny is the most members of one any() term; the least is two.
	MaxAny = 16
	// MaxTag is the longest tag, in bytes.
	MaxTag = 64
	// maxAge is the largest number an age term carries: six digits.
	maxAge = 999_999
)

const (
	// maxRefBytes is the longest text of a Ref: 23 bytes of id, "@", 16 digits.
	maxRefBytes = 40
	// MaxEntriesBytes is where the entries of one answer end, in bytes: a frame
	// of 1 MiB holds them with receipt and framing.
	MaxEntriesBytes = 960 << 10
)
