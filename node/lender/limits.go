package lender

import "time"

const (
	// DefaultRate is how many reads a second one borrower may ask for.
	DefaultRate = 200
	// DefaultQueue is how many calls may be under way.
	DefaultQueue = 4096
	// MaxTagged is the most ids of one change of tags.
	MaxTagged = 1000
	// MaxStatTags is the most tags that statistics list one by one.
	MaxStatTags = 100
	// maxBackups is the most backups that a report of forgetting names.
	maxBackups = 100
	// MaxAuditGone is the most rows of one loan that are looked up by their hashes alone.
	MaxAuditGone = 100_000
	// MaxLoans is the most loans of one list.
	MaxLoans = 10_000
	// MaxCheck is the longest file to check, in bytes: more than any answer.
	MaxCheck = 2 << 20
	// MaxReasonText is the longest text to go with a revocation, in bytes.
	MaxReasonText = 1024
	// MaxAsks is how many loan requests of one borrower may wait for an answer, and
	// MaxAsksOfOrg how many of all agents of one organization: an operator reads them.
	MaxAsks      = 16
	MaxAsksOfOrg = 64
	// MaxAsksKept is how many of one organization that led to no loan are kept, those included
	// that wait: some dozens of members leave room for each in one list.
	MaxAsksKept = 256
	// DefaultDiscoverMin is on how many entries a tag must be for a discovery to tell it.
	DefaultDiscoverMin = 5

	// keepAsks is how long a request that lapsed is kept, keepDeclined how long one that was
	// declined, for its borrower to learn why, and keepCountered how long one to which another
	// one replied.
	keepAsks      = 30 * 24 * time.Hour
	keepDeclined  = 7 * 24 * time.Hour
	keepCountered = 24 * time.Hour
	// growthEvery is how often it is looked whether open loans have grown.
	growthEvery = time.Hour

	// callTime bounds a call: what is not decided by then never is.
	callTime = 5 * time.Second
	// drainTime is what releases under way are given when a loan ends.
	drainTime = 2 * time.Second
	// maxObject is the longest signed object read back, in bytes.
	maxObject = 32 << 10
	// maxAttempts is how often a read is evaluated anew when memory changed meanwhile.
	maxAttempts = 4
	// maxKnown is how many verified permissions and signers are kept in memory.
	maxKnown = 4096
	// maxUnder is how many calls of one borrower may be under way: a quarter of all.
	maxUnder = DefaultQueue / 4
	// maxBuckets is how many borrowers' rates are kept in memory.
	maxBuckets = 4096

	// sweepEvery is how often ended loans and old nonces are looked for.
	sweepEvery = time.Minute
	// lentGrace is how long expired entries learnt under a loan are left to the client's sweep.
	lentGrace = 24 * time.Hour
	// restEvery is how often content that nobody reads is packed, and what was read comes up.
	restEvery = time.Hour
	// sweepBatch is how many keys one transaction of a sweep changes.
	sweepBatch = 512
	// maxSides is how many answers one sweep looks at for whether their row is gone: a point
	// Get or two each.
	maxSides = 4096
	// maxIndexRows and maxIndexKeys bound what one transaction of the index of readers takes
	// up: an answer of 100 entries adds 116 keys at most, of store.MaxUpdateKeys.
	maxIndexRows = 1024
	maxIndexKeys = 8192
	// violationEvery is the least time between two events of one class about one loan.
	violationEvery = time.Hour
	// maxRequests is how many requests one violation names: each denial reads them.
	maxRequests = 100

	// flushTime is how long an audit waits for the log to take what is committed.
	flushTime = 2 * time.Second
	// appendTime is how long issue waits for its event to be in the own log.
	appendTime = 2 * time.Second
	// arriveTime is how long what a sync brought may take to be known here.
	arriveTime = 2 * time.Second
)
