package store

import "time"

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
	// maxForming is how long a group may take to form. A commit takes about as long as the
	// functions it commits took, so what is urgent and came just too late waits for twice this,
	// however many others wait; and the fsync stays a small part of a group that runs for so long.
	maxForming = 2 * time.Millisecond

	memTableBytes  = 32 << 20
	blockCacheSize = 24 << 20
	// tableBytes is the size of a table at every level. A compaction holds up to 14 new ones
	// in memory, each twice or, once its buffers doubled, four times; where tables grow with
	// their level that is 200 MB at 10^6 events, and at 2 MiB on a machine whose other work
	// holds compactions back a node had 900 MB resident, at 1 MiB less than 300.
	tableBytes    = 1 << 20
	valueLogBytes = 64 << 20

	// MaxSettled is how many events one Settle can make count that did not: each takes four
	// keys, and an Update has MaxUpdateKeys.
	MaxSettled = 8000
	// defaultPage is how many events a page has unless it is said.
	defaultPage = 100
	// maxLooked is how many events one page looks at: a query that finds little in much
	// takes several pages, and no page long.
	maxLooked = 20_000
	// maxCursor is the largest cursor in bytes: the sizes of more logs than a federation has
	// members.
	maxCursor = 12 << 10
)
