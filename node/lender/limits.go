package lender

import "time"

const (
	// DefaultRate is how many reads a second one borrower may ask for.
	DefaultRate = 200
	// DefaultQueue is how many calls may be under way.
	DefaultQueue = 4096
	// MaxTagged is the most ids of one change of tags.
	MaxTagged = 1000

	callTime  = 5 * time.Second // a call that is not decided by then never is
	drainTime = 2 * time.Second // releases under way may take so long when a loan ends
)
