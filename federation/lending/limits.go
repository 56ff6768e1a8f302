package lending

import "time"

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

const (
	// MaxPermission is the longest body of a permission, in bytes: it rides in a
	// header.
	MaxPermission = 4096
	// MaxRequest is the longest body of a readrequest or loanrequest, in bytes: a
	// scope or filter, a query and a purpose with room for long DIDs.
	MaxRequest = 8192
	// MaxReceipt is the longest body of a receipt or revocation, in bytes.
	MaxReceipt = 4096
	// MaxRow is the longest audit row, in bytes: 100 references and long DIDs.
	MaxRow = 16384
	// MaxAnswer is the longest answer read, in bytes: the frame that carries it.
	MaxAnswer = 1 << 20
	// MaxFrame is the longest frame of a borrower, in bytes: two compact objects.
	MaxFrame = 32 << 10
	// MaxPurpose and MaxQuery bound what a person or model writes, in bytes.
	MaxPurpose = 200
	MaxQuery   = 256
	// MaxLimit is the most entries one answer holds; DefaultLimit is what a
	// request that names no limit gets.
	MaxLimit     = 100
	DefaultLimit = 20
	// MaxCacheS is the longest caching window that can be signed in, in seconds.
	MaxCacheS = 86400
	// MaxParents is how many permissions may stand above one: the Gets of one
	// decision are bounded by it.
	MaxParents = 3
	// ClockSkewS is how far a request or receipt may be dated from now, in
	// seconds, either way.
	ClockSkewS = 60
	// NonceLifeS is how long after a request's date its nonce is remembered, in
	// seconds: longer than any clock within ClockSkewS can take to repeat it.
	NonceLifeS = 120

	// MaxRounds is how many requests one talk about a loan may take, the first
	// included.
	MaxRounds = 8
	// RequestLifeS is how long a request waits for an answer, in seconds; then it has
	// lapsed.
	RequestLifeS = 24 * 3600
	// MaxReason is the longest reason that goes with a declined request, in bytes.
	MaxReason = 200

	maxKid        = 256 // a fragment; the longest is a multikey of 48 bytes or what a foreign document calls it
	maxCursor     = 256 // place in an order: a time and an id, with room for a seal
	maxDigits     = 78  // 2^256-1
	maxAsset      = 64
	maxChain      = 64
	maxRevocation = 512 // a URL
	maxWriteTo    = 4
	maxTo         = 256               // one destination
	maxTTLS       = 100 * 365 * 86400 // no charter allows more seconds; a time.Duration holds it
)

const (
	answerDepth = 8 // an entry's view is an object of objects and lists
	rowDepth    = 4
)

// maxFoundAge is how old an evaluation may be when it is decided: the deadline
// of a queued read. A scope that moves with the clock is evaluated at most this
// much earlier.
const maxFoundAge = 5 * time.Second
