package casefile

const (
	// MaxFile caps a case file in bytes: 64 MiB of exhibits in base64, twice over, and
	// what they rest on.
	MaxFile = 256 << 20
	// maxNotes caps the notes of one log that are looked at for one proof; each holds at
	// least one cosignature more than the one before it.
	maxNotes = 256
	// maxText caps the quoted text of one report line in bytes.
	maxText = 1200
)
