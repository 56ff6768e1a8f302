package memory

import (
	"slices"
	"testing"

	"trustnode/federation/lending"
)

// TestWhatCameOfALoanIsNotLentOn: an agent's note of what it read, and what is derived from
// it, match for the own agents alone.
func TestWhatCameOfALoanIsNotLentOn(t *testing.T) {
	e, _ := newEntries(t)
	agent := writer(t, north, ByAgent)
	plain := put(t, e, agent, Draft{Statement: "Own.", Tags: []string{"berth:7"}})
	lent := put(t, e, agent, Draft{Statement: "Lent.", Tags: []string{"berth:7"}, Source: Source{Type: SourceLoan, ID: "zQmReceipt"}})
	child := put(t, e, agent, Draft{Statement: "Summed up.", Tags: []string{"berth:7"}, DerivedFrom: []string{lent.ID}})
	by := put(t, e, writer(t, north, ByOperator), Draft{Statement: "Summed up by hand.", Tags: []string{"berth:7"}, DerivedFrom: []string{lent.ID}})
	if lent.Trust != TrustLent || child.Trust != TrustLent || by.Trust != TrustLent {
		t.Errorf("trusts %v %v %v", lent.Trust, child.Trust, by.Trust)
	}
	for _, x := range []Entry{lent, child, by} {
		if !slices.Contains(x.Tags, lentTag) {
			t.Errorf("%s is not marked: %v", x.Statement, x.Tags)
		}
	}
	got := find(t, e, north, "tag:berth:7", Query{Count: true}, testNow)
	wantRefs(t, got, plain)
	if got.Total != 1 {
		t.Errorf("%d are counted for another reader", got.Total)
	}
	own := find(t, e, north, "tag:berth:7", Query{Asker: agent.Who(), Count: true}, testNow)
	if own.Total != 4 || !slices.ContainsFunc(own.Refs, func(r lending.Ref) bool { return r.Entry == lent.ID }) {
		t.Errorf("an own agent finds %v of %d", own.Refs, own.Total)
	}
}
