package bundle

const (
	// MaxLine caps one line in bytes, without its newline. What travels whole is
	// at most 1 MiB; base64 and its frame fit twice that.
	MaxLine = 2 << 20
	// maxLogPart caps the log bytes in one line: in base64, with a witness file of
	// 1 MiB beside it, the line stays below MaxLine.
	maxLogPart = 448 << 10
	// MaxHeader caps the header line in bytes: MaxAbout ids of 47 bytes and a pin.
	MaxHeader = 64 << 10
	// MaxAbout caps the ids a proof file may be about.
	MaxAbout = 1024
	// maxUnknownDepth caps the nesting of a line of unknown shape.
	maxUnknownDepth = 8
)
