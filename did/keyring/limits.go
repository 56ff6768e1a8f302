package keyring

// Caps on what is kept and parsed.
const (
	maxPinned = 10_000  // DIDs of one ring: every member ever, and the partners of their agents
	maxAgent  = 4 << 10 // bytes of an agent body
	listPage  = 256     // records read from the store at a time

	maxCapabilities = 16  // of one agent
	maxName         = 32  // bytes of an agent's name or of a capability
	maxDisplay      = 64  // bytes of a display text
	maxKid          = 256 // bytes of a verification method's fragment
	maxVersion      = 128 // bytes of a document version
)
