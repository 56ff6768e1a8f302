package attestation

// Caps on what one organization may say at once.
const (
	// MaxEvent is the largest event body in bytes: text is kept in a body
	// of its own and named by id, so that logs stay small.
	MaxEvent = 16 << 10
	// MaxEntry is the largest entry in bytes, since tile bundles count an
	// entry with 16 bits.
	MaxEntry = 1<<16 - 1
	// MaxBody is the largest attached body in bytes.
	MaxBody = 64 << 10
	// MaxEvidence is the largest body of a type that carries evidence.
	MaxEvidence = 512 << 10
	// MaxRow is the largest audit row in bytes.
	MaxRow = 64 << 10
	// MaxType is the longest event type name in bytes.
	MaxType = 48
	// MaxRefs is the most ids an event may rest on.
	MaxRefs = 8
	// MaxBatch is the most entries of one package and of one append.
	MaxBatch = 256
	// MaxBatchBytes is the most entry and row bytes of one append, well
	// below what one database transaction takes.
	MaxBatchBytes = 3 << 20
	// MaxRows is the most rows of one append.
	MaxRows = 1024
	// MaxNote is the largest signed note in bytes: a head and 65 lines.
	MaxNote = 32 << 10
	// MaxPackage is the largest package in bytes that is gossiped.
	MaxPackage = 256 << 10
	// MaxSyncPackage is the largest package in bytes on a sync stream.
	MaxSyncPackage = 2 << 20
	// MaxRange is the most hashes of a compact range: two borders of a
	// tree of 2^63 leaves.
	MaxRange = 126
	// MaxPage is the most results of one query.
	MaxPage = 1000

	nonceBytes = 16
)
