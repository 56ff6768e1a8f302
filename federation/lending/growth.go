package lending

import "slices"

// Census is what a scope matches at one moment.
type Census struct {
	Matches uint64
	Classes []string // of the matches, sorted, such as "internal"
}

// Growth judges what a loan matches now against what it matched when it was issued: the
// classes among the matches that were not there then, and whether an operator has to be
// told, of these or of more than twice the matches (04, section 3).
func Growth(issued, now Census) (classes []string, grown bool) {
	for _, c := range now.Classes {
		if !slices.Contains(issued.Classes, c) {
			classes = append(classes, c)
		}
	}
	return classes, len(classes) > 0 || now.Matches > 2*issued.Matches
}
