package didwebvh

import (
	"bytes"
	"time"
)

// Compare verifies a log beside h, which may be the zero History. The log may
// start at any entry that h holds or the one after; what h already verified is
// not verified again. It answers the other history and how many versions, from
// the first, the two share:
//
//   - common == other.Len(): the log says nothing new;
//   - common == h.Len(): the log continues h, and other is h continued;
//   - otherwise both histories are valid and differ from version common+1 on.
//
// Versions are told apart by their versionId, which covers all of an entry but
// its proofs. Every refusal is an *Error; ReasonGap says that the log starts
// past h, or on another branch: only the whole log can tell.
func (h History) Compare(log, witness []byte, now time.Time) (other History, common int, err error) {
	lines, err := splitLog(log)
	if err != nil {
		return History{}, 0, err
	}
	before, err := h.start(lines)
	if err != nil {
		return History{}, 0, err
	}
	known := before
	for known < h.Len() && known-before < len(lines) && bytes.Equal(lines[known-before], h.nodes[known].Line) {
		known++
	}
	rest := bytes.Join(lines[known-before:], []byte("\n"))
	if len(rest) == 0 {
		return h.Prefix(known), known, nil
	}
	other, err = h.Prefix(known).Extend(rest, witness, now)
	if err != nil && before > 0 && known == before && ReasonOf(err) == ReasonHash {
		return History{}, 0, refuse(ReasonGap, "entry %d does not follow the one held before it", before+1)
	}
	if err != nil {
		return History{}, 0, err
	}
	common = h.common(other)
	if common == h.Len() && known < common {
		// The same entries under other proofs: the lines held first are kept.
		other, err = h.Extend(other.After(common), witness, now)
	}
	return other, common, err
}

// start is the number of entries before the first of the lines.
func (h History) start(lines [][]byte) (int, error) {
	if len(lines) == 0 {
		return 0, refuse(ReasonForm, "the log is empty")
	}
	first, err := parseLine(lines[0])
	if err != nil {
		return 0, at(h.Len()+1, err)
	}
	if first.number > h.Len()+1 {
		return 0, refuse(ReasonGap, "the lines start at entry %d, held are %d", first.number, h.Len())
	}
	return first.number - 1, nil
}

func (h History) common(o History) int {
	n := 0
	for n < h.Len() && n < o.Len() && h.nodes[n].ID == o.nodes[n].ID {
		n++
	}
	return n
}
