package lender

import (
	"testing"

	"trustnode/federation/lending"
)

// TestWhatIsReceivedIsCounted: a borrower keeps what two reads at once bring as it comes.
func TestWhatIsReceivedIsCounted(t *testing.T) {
	rows := func(seqs ...uint64) []AuditRow {
		out := []AuditRow{{Row: lending.GrantedRow{Seq: 1}}} // of a loan of its own
		for _, n := range seqs {
			out = append(out, AuditRow{Row: lending.ReceivedRow{Seq: n}})
		}
		return out
	}
	for _, c := range []struct {
		name string
		rows []AuditRow
		n    uint64
		ok   bool
	}{
		{"nothing", rows(), 0, true},
		{"as they came", rows(2, 1, 3), 3, true},
		{"one that did not arrive", rows(1, 3), 2, false},
	} {
		if n, ok := received(c.rows); n != c.n || ok != c.ok {
			t.Errorf("%s: %d, %v", c.name, n, ok)
		}
	}
}

// TestAReadWithoutARowIsAGap: every read that is counted needs a row, or one that is gone.
func TestAReadWithoutARowIsAGap(t *testing.T) {
	k := memoryKit(t)
	rows := func(seqs ...uint64) (out []AuditRow) {
		for i, n := range seqs {
			out = append(out, AuditRow{N: uint64(i) + 1, Row: lending.GrantedRow{Seq: n}})
		}
		return append(out, AuditRow{Row: lending.ReceivedRow{Seq: 1}}) // of a loan within the organization
	}
	for _, c := range []struct {
		name  string
		reads uint64
		rows  []AuditRow
		n     uint64
		ok    bool
	}{
		{"none", 0, rows(), 0, true},
		{"each with its row", 3, rows(1, 2, 3), 3, true},
		{"one more while it was looked", 2, rows(1, 2, 3), 3, true},
		{"a hole", 3, rows(1, 3), 3, false},
		{"none of the last", 3, rows(1, 2), 3, false},
		{"none of the first", 2, rows(2), 2, false},
		{"one twice", 2, rows(1, 2, 2), 2, false},
		{"out of order", 2, rows(2, 1), 2, false},
	} {
		n, gone, ok, err := k.granted(t.Context(), c.reads, c.rows)
		if err != nil || n != c.n || ok != c.ok || gone != nil {
			t.Errorf("%s: %d, %v, %+v (%v)", c.name, n, ok, gone, err)
		}
	}
}
