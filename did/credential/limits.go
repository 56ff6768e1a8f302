package credential

// Caps on a foreign credential, checked before or while it is parsed.
const (
	// MaxCredential is the length of a credential in bytes. Those of agents have about 1 KiB; the rest is room for other
	// people's claims, without pictures.
	MaxCredential = 64 << 10
	// maxDepth is the nesting of a credential's JSON, as that of a DID document.
	maxDepth = 32
)
