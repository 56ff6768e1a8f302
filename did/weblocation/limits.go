package weblocation

// Caps on foreign input, checked before anything is decoded further.
const (
	maxText     = 2048 // bytes of the whole text, as much as a DID has
	maxHost     = 253  // bytes of a host name in its ASCII form: RFC 1035
	maxSegments = 32   // path segments; identifiers in use have at most three
)
