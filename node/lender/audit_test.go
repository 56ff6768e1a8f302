package lender

import (
	"testing"

	"trustnode/federation/lending"
)

// TestWhatIsWholeIsCountedOnItsSide: a lender's answers are in order; a borrower keeps what two
// reads at once bring as it comes.
func TestWhatIsWholeIsCountedOnItsSide(t *testing.T) {
	granted := func(seqs ...uint64) (out []AuditRow) {
		for _, n := range seqs {
			out = append(out, AuditRow{Row: lending.GrantedRow{Seq: n}})
		}
		return out
	}
	received := func(seqs ...uint64) (out []AuditRow) {
		for _, n := range seqs {
			out = append(out, AuditRow{Row: lending.ReceivedRow{Seq: n}})
		}
		return out
	}
	for _, c := range []struct {
		name     string
		rows     []AuditRow
		borrowed bool
		n        uint64
		ok       bool
	}{
		{"nothing", nil, false, 0, true},
		{"granted in order", granted(1, 2, 3), false, 3, true},
		{"granted out of order", granted(2, 1), false, 2, false},
		{"granted with a hole", granted(1, 3), false, 2, false},
		{"received as they came", received(2, 1, 3), true, 3, true},
		{"one that did not arrive", received(1, 3), true, 2, false},
		{"both on one node, its own loan", append(granted(1, 2), received(1)...), false, 2, true},
	} {
		if n, ok := whole(c.rows, c.borrowed); n != c.n || ok != c.ok {
			t.Errorf("%s: %d, %v", c.name, n, ok)
		}
	}
}
