package lender

import (
	"testing"

	"trustnode/federation/lending"
	"trustnode/node/fault"
)

// A request that is denied whatever is found costs no look through the memory, and has the
// row and receipt of any other denial.
func TestARefusalIsNotEvaluated(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	evaluated := 0
	k.testingOnlyEvaluate = func() { evaluated++ }
	issue := func(patterns ...string) Loan {
		in := k.wish(1)
		in.Patterns = patterns
		return must(k.Issue(t.Context(), in))
	}
	revoked, used, discover, read := issue("discover", "read"), issue("discover", "read"), issue("discover"), issue("read")
	k.revoke(t, revoked)
	k.mustRead(t, k.request(t, used))
	if evaluated != 1 {
		t.Fatalf("one read was evaluated %d times", evaluated)
	}
	for _, c := range []struct {
		name    string
		l       Loan
		op      string
		code    fault.Code
		receipt bool
	}{
		{"revoked", revoked, lending.OpRead, fault.Revoked, true},
		{"revoked, a discovery", revoked, lending.OpDiscover, fault.Revoked, true},
		{"used up", used, lending.OpRead, fault.Exhausted, true},
		{"used up, a discovery", used, lending.OpDiscover, fault.Exhausted, true},
		{"not lent to be read", discover, lending.OpRead, fault.Refused, false},
		{"not lent to be discovered", read, lending.OpDiscover, fault.Refused, false},
	} {
		evaluated = 0
		rows := len(k.keyed(t, c.l.ID.String()))
		rq := k.request(t, c.l, func(r *lending.ReadRequest) {
			if r.Op = c.op; c.op == lending.OpRead {
				r.Query = "one"
			}
		})
		call, do := Call{Request: rq, Send: &taker{}}, k.Read
		if c.op == lending.OpDiscover {
			do = k.Discover
		}
		d := fault.From(do(t.Context(), call))
		if d.Code != c.code || (d.Receipt != "") != c.receipt {
			t.Errorf("%s: got %+v", c.name, d)
		}
		if evaluated != 0 {
			t.Errorf("%s: evaluated %d times", c.name, evaluated)
		}
		if got := len(k.keyed(t, c.l.ID.String())); got != rows+1 {
			t.Errorf("%s: %d rows, then %d", c.name, rows, got)
		}
	}
}

// A look that says no holds for nothing but the look: what changed until the decision is
// found and evaluated then.
func TestADecisionEvaluatesWhatALookHadGivenUp(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	in := k.wish(5)
	in.NotBefore = "1h"
	l := must(k.Issue(t.Context(), in))
	rq := k.request(t, l, func(r *lending.ReadRequest) { r.At = r.At.Add(3600e9) })
	k.w.Clock.Add(3600e9 - 1e9)
	k.testingOnlyFound = func() {
		k.testingOnlyFound = nil
		k.w.Clock.Add(1e9) // it begins between the look and the decision
	}
	if a, _ := k.mustRead(t, rq); len(a.Entries) != 1 {
		t.Errorf("got %d entries", len(a.Entries))
	}
}
