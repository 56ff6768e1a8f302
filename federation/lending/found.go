package lending

import "time"

// Found is what one evaluation of a scope saw on one snapshot of a place. The
// memory fills all but Content and Replay; the lender adds what it rendered.
type Found struct {
	// At is the time at which the scope was evaluated.
	At time.Time
	// Refs are the revisions that match, in the order of the answer, at most the
	// limit asked for and no more than fit MaxEntriesBytes.
	Refs []Ref
	// Vis is the visibility epoch of the place on that snapshot: it rises with
	// every change that can take an entry out of a scope.
	Vis uint64
	// Cursor continues after the last entry in Refs; empty at the end. It is made
	// of characters that need no escaping: base64url and - . _ ~ :
	Cursor string
	// Subjects are the pseudonyms these entries carry, sorted, without
	// repetitions.
	Subjects []string
	// Content is what the answer would hold, rendered of Refs on that snapshot.
	Content Content
	// Replay says that Refs are the entries recorded for an earlier answer and
	// Content is rendered of them with the recorded salt; both are empty, whatever
	// Vis, where one of these entries is no longer in scope.
	Replay bool
}
