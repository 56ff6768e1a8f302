package lending

// Found is what one evaluation of a scope saw on one snapshot of a place. The
// memory fills Refs, Vis, Cursor and Subjects; the lender adds what it rendered
// of them.
type Found struct {
	// Refs are the revisions that match, in the order of the answer, at most the
	// limit asked for and no more than fit MaxEntriesBytes.
	Refs []Ref
	// Vis is the visibility epoch of the place on that snapshot: it rises with
	// every change that can take an entry out of a scope.
	Vis uint64
	// Cursor continues after the last entry in Refs; empty at the end.
	Cursor string
	// Subjects are the pseudonyms these entries carry, sorted, without
	// repetitions.
	Subjects []string
}
