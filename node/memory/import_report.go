package memory

import (
	"cmp"
	"slices"
	"strings"
)

// Rejected is a line, or one statement of it, that was not imported.
type Rejected struct {
	Line   int
	Item   int // as in Line
	Reason string
	Detail string
}

// Report says what an import did, or what it would do.
type Report struct {
	Imported int            // entries brought in, or that a dry run would bring in
	Repeated int            // statements that were there from an earlier line or run
	Rejected []Rejected     // at most MaxRejected, in the order of the file
	More     int            // rejected beyond those
	Reasons  map[string]int // all that were rejected, by reason
	Left     map[string]int // what the format's rules leave out, by what it is
	Tags     map[string]int // entries by tag; past 10,000 tags the others under ""
}

func newReport() Report {
	return Report{Rejected: []Rejected{}, Reasons: map[string]int{}, Left: map[string]int{}, Tags: map[string]int{}}
}

func (r *Report) reject(l Line) {
	tally(r.Reasons, l.Reason, maxReportWords)
	if len(r.Rejected) == MaxRejected {
		r.More++
		return
	}
	r.Rejected = append(r.Rejected, Rejected{l.Number, l.Item, l.Reason, clip(l.Detail)})
}

func (r *Report) leave(what string) { tally(r.Left, clip(what), maxReportWords) }

func (r *Report) tags(tags []string) {
	for _, t := range tags {
		tally(r.Tags, t, maxReportTags)
	}
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Rejected, func(a, b Rejected) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Item, b.Item))
	})
}

// tally counts a word; a file chooses some of them, so no more than most are kept
// apart.
func tally(counts map[string]int, word string, most int) {
	if _, known := counts[word]; !known && len(counts) >= most {
		word = ""
	}
	counts[word]++
}

// clip keeps what a file says of itself short in a report.
func clip(s string) string {
	if len(s) <= maxDetail {
		return s
	}
	return strings.ToValidUTF8(s[:maxDetail-4], "") + "…"
}
