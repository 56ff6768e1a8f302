package charter

import (
	"fmt"
	"strings"

	"trustnode/did"
)

// Count is how many signatures are needed of a group, who gave one, and who could.
type Count struct {
	Need    int
	Signed  []did.DID // counted, each organization once, sorted
	Missing []did.DID // could still sign, sorted
}

// Enough tells whether the need is met.
func (c Count) Enough() bool { return len(c.Signed) >= c.Need }

// Ignored is a signature that was not counted.
type Ignored struct {
	KeyID  string  // the hint it carries
	Org    did.DID // whose key it verifies under; zero if under none
	Reason string  // in words
}

// Tally is what became of the signatures on a charter.
type Tally struct {
	Count             // voters of the parent (A4); of a genesis: every member
	Own     Count     // voters of the charter itself (A5); zero for a genesis
	Consent []did.DID // whose own signature is required and missing (A6), sorted
	Ignored []Ignored // in the order of the signatures
}

// Missed lists everybody whose signature is needed or could help, sorted, each once.
func (t Tally) Missed() []did.DID {
	var list []did.DID
	for _, group := range [][]did.DID{t.Missing, t.Own.Missing, t.Consent} {
		list = append(list, group...)
	}
	return sortedOnce(list)
}

// String says need, signed, missing and ignored in one line.
func (t Tally) String() string {
	s := fmt.Sprintf("%d of %d signatures needed: signed %s; missing %s", len(t.Signed), t.Need, join(t.Signed), join(t.Missing))
	if len(t.Consent) > 0 {
		s += "; must sign itself " + join(t.Consent)
	}
	for _, i := range t.Ignored {
		s += fmt.Sprintf("; ignored %s: %s", i.KeyID, i.Reason)
	}
	return s
}

func join(list []did.DID) string {
	if len(list) == 0 {
		return "none"
	}
	var words []string
	for _, d := range list {
		words = append(words, d.String())
	}
	return strings.Join(words, ", ")
}
