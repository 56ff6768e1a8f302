package main

import (
	"strings"
	"testing"

	"trustnode/did/envelope"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// A person lends to an agent with a key that no node opens, and ends it with that key.
func TestAPersonLendsAndEnds(t *testing.T) {
	dir := home(t)
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "ines-alone-knows-this")
	must := func(args ...string) answer {
		t.Helper()
		a := call(append(args, "--data", dir)...)
		if a.code != exitDone {
			t.Fatal(a)
		}
		return a
	}
	must("agent", "add", "ines", "--kind", "human", "--can", "lend", "--project", "p")
	must("agent", "add", "quant", "--can", "borrow")
	must("memory", "add", "--agent", "ines", "--tag", "open", "What Ines knows.")
	var l httpapi.Loan
	issue := []string{"loan", "issue", "--lender", "ines", "--borrower", "quant", "--scope", "tag:open", "--purpose", "a check", "--json"}
	if a := call(append(issue, "--data", dir)...); a.code == exitDone || !strings.Contains(a.err, "--can receipts") {
		t.Errorf("without an agent that signs receipts: %s", a)
	}
	must("agent", "add", "desk", "--can", "receipts")
	must(issue...).into(t, &l)
	read := []string{"loan", "read", "--as", "quant", "--purpose", "now", l.ID, "--data", dir}
	if a := call(read...); a.code != exitDone || !strings.Contains(a.out, "What Ines knows.") {
		t.Errorf("%s", a)
	}
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "somebody else's words")
	if a := call(append(issue, "--data", dir)...); a.code == exitDone {
		t.Errorf("with another passphrase: %s", a)
	}
	if a := call("loan", "revoke", l.ID, "--data", dir); a.code == exitDone {
		t.Errorf("with another passphrase: %s", a)
	}
	t.Setenv("TRUSTNODE_PERSON_PASSPHRASE", "ines-alone-knows-this")
	if a := call(append(issue, "--data", dir, "--replaces", l.ID)...); a.code == exitDone || !strings.Contains(a.err, "loan revoke") {
		t.Errorf("in place of another: %s", a)
	}
	another := envelope.IDOf([]byte("another")).String()
	liar, beside := lyingNode(t, map[string]any{"/api/v1/permissions/" + another: l})
	if _, err := revokePerson(t.Context(), nil, liar, another, httpapi.LoanRevoke{Reason: "ended"}); fault.From(err).Reason != "permission" || *beside != 0 {
		t.Errorf("a node that shows another loan than was named: %v, and it was asked %d more times", err, *beside)
	}
	if a := must("loan", "revoke", l.ID); !strings.Contains(a.out, "after 1 read") {
		t.Errorf("%s", a)
	}
	if a := call(read...); a.code != exitRefused {
		t.Errorf("after its end: %s", a)
	}
	if a := must("loan", "show", l.ID); !strings.Contains(a.out, "It is revoked: nothing can be read any more.") {
		t.Errorf("%s", a)
	}
}
