package log

const (
	// MaxLines is the most signature lines of a note: the log's, and one
	// for each of 64 organizations.
	MaxLines = 65
	// MaxName is the longest key name in bytes: a DID and a word.
	MaxName = 256
	// MaxProof is the most hashes of an inclusion or consistency proof.
	MaxProof = 63
	// MaxText is the largest note or proof text in bytes that is read.
	MaxText = 64 << 10
)
