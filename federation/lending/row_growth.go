package lending

import "trustnode/did/envelope"

// OpGrowth is the op of a GrowthRow.
const OpGrowth = "growth"

// GrowthRow tells that a loan reaches much more than it did when it was issued, or
// entries of a class that it did not reach then (H9).
type GrowthRow struct {
	At      envelope.Time `json:"at"`
	Classes []string      `json:"classes"` // not among the matches at issue, sorted
	Issued  uint64        `json:"issued"`  // matches at issue
	Matches uint64        `json:"matches"` // matches now
	Op      string        `json:"op"`
	Perm    envelope.ID   `json:"perm"`
	Salt    Salt          `json:"salt"`
}

func (GrowthRow) row() {}

// Check holds the row to its form.
func (r GrowthRow) Check() error {
	return first(
		oneOf("op", r.Op, OpGrowth),
		sortedSet("classes", r.Classes),
		when(len(r.Classes) == 0 && r.Matches <= 2*r.Issued, "matches", "%d are no growth over %d", r.Matches, r.Issued),
	)
}
