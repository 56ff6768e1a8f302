package vault

const (
	// MaxName is the longest name of a part, in bytes: a path inside a data directory.
	MaxName = 256

	// piece is the largest payload of a frame, in bytes, and the size of every buffer.
	piece = 256 << 10
	// window is how far back the compression looks, in bytes: what it costs in memory on
	// both sides.
	window = 1 << 20
)
