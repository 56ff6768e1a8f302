package keyring

// Caps on what is kept and parsed.
const (
	maxPinned = 10_000  // DIDs of one ring: every member ever, and the partners of their agents
	maxAgent  = 4 << 10 // bytes of an agent body
	listPage  = 32      // records read from the store at a time: at the largest they have 8 MiB each

	maxCapabilities = 16  // of one agent
	maxName         = 32  // bytes of an agent's name or of a capability
	maxDisplay      = 64  // bytes of a display text
	maxKid          = 256 // bytes of a verification method's fragment
	maxVersion      = 128 // bytes of a document version

	// maxBranches is how many branches of one DID are kept beside the held one. Two prove a fork; the others are kept so that
	// a decision for one of them finds it. Whoever makes more holds the DID's keys.
	maxBranches    = 8
	maxBranchBytes = 16 << 20 // bytes of all of them, so that the first always fits: a log has 8 MiB, its witness file 1 MiB

	maxSnapshots = 1024    // trusted documents of one did:web DID: a change a week for twenty years
	maxWeb       = 8 << 20 // bytes of them, as of a log
	maxOffered   = 4       // documents seen and not trusted; nobody compares more than the newest
	maxSource    = 512     // bytes of who approved a document, or of a hash of a TLS key
)
