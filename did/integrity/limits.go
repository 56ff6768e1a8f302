package integrity

// Caps on the texts of a proof, in bytes. The document around it is capped by whoever parses it.
const (
	// maxProofValue is the longest base58btc text of 64 bytes, with its multibase letter.
	maxProofValue = 1 + 88
	// maxTime is a time to the nanosecond with an offset.
	maxTime = len("2006-01-02T15:04:05.999999999+00:00")
)
