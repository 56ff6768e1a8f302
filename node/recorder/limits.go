package recorder

import (
	"time"

	"trustnode/attestation"
)

const (
	// maxBacklog is how many outbox items may wait before new work is
	// refused: about eight seconds of the fastest decisions.
	maxBacklog = 100_000
	// failFor is how long draining may fail before new work is refused.
	failFor = 10 * time.Second
	// rowDelay is how long a row waits for others to share a commit.
	rowDelay = time.Second
	// coverAfter is when waiting rows go into the log without being asked for.
	coverAfter = time.Minute
	// maxCover is the most rows one audit.rows covers: a proof under it is made from all
	// their leaves in memory, 32 MiB of them.
	maxCover = 1 << 20
	// askEvery is the least time between two audit.rows made because asked.
	askEvery = time.Second
	// dropAt is how many drained items are dropped in one transaction.
	dropAt = 512
	// maxItem bounds one read of the outbox, in items.
	maxItem = 2048
	// maxOpened is how many opened events each half of the cache holds.
	maxOpened = 8192
	// bulk is how many events come at once that are logged before they are judged: what
	// takes longer to judge than to make durable. Fewer are judged as they come, so that
	// an event alone is authored with the same write that logs it.
	bulk = 32
	// maxUnjudged is how many events of one log may wait for their verdict: what two cores
	// judge in about three seconds. Whoever brings more waits, and so does an event that has
	// to be authored before it is delivered.
	maxUnjudged = 1 << 16
	// judgeStep is how many events are judged between two looks at the other logs.
	judgeStep = 4 * attestation.MaxBatch
	// quietAfter is how long nothing has come that waits, until judging no longer makes
	// way; maxYield how long it does at most between two steps, so that nobody keeps it
	// from going on; yieldEvery how often that is looked at.
	quietAfter = 50 * time.Millisecond
	maxYield   = 250 * time.Millisecond
	yieldEvery = 10 * time.Millisecond
	// maxCosignBody is the largest answer of a witness in bytes.
	maxCosignBody = 4 << 10
)

// maxPackageEntries is the most entry bytes of one package, so that its base64
// text fits a sync frame.
const maxPackageEntries = 1 << 20
