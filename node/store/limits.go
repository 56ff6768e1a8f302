package store

// The limits of what one database takes. They keep a batch below the 15 % of
// a memtable at which Badger refuses a transaction, and every value below the
// size from which Badger would keep it outside the LSM tree, in files whose
// sync errors it only logs.
const (
	// MaxKeyBytes is the longest key.
	MaxKeyBytes = 4096
	// MaxValueBytes is the longest value.
	MaxValueBytes = 1<<20 - 1
	// MaxUpdateBytes is the most one Update may write, counted as key plus
	// value plus entryOverhead for each Set or Delete.
	MaxUpdateBytes = 4608 << 10
	// MaxUpdateKeys is the most keys one Update may write.
	MaxUpdateKeys = 32768
	// entryOverhead is what a write is counted beyond its key and value.
	entryOverhead = 16

	// maxGroup is the most Updates that share one commit: at 4,096 the
	// fsync is a negligible part of each, and a caller waits for few others.
	maxGroup = 4096

	memTableBytes  = 32 << 20
	blockCacheSize = 24 << 20
	valueLogBytes  = 64 << 20
)
