package pins

// Caps of the file and its fields, in bytes.
const (
	// MaxKey is that of a DID (2,048), the longest key there is.
	MaxKey = 2048
	// MaxValue holds a version id, a root or an object id (all below 128) with room for longer hashes.
	MaxValue = 512
	// RewriteAt is the size at which the file is rewritten with the newest line of each kind and key.
	RewriteAt = 16 << 20
	// MaxFile is the largest file that is read. With a rewrite at RewriteAt it takes more than 100,000 of the longest
	// keys to reach it; a file above it was not written by this package.
	MaxFile = 512 << 20

	// maxLine is kind, key, 20 digits, value, 20 bytes of time, 8 of checksum and the separators, rounded up.
	maxLine = MaxKey + MaxValue + 128
)
