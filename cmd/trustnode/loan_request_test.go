package main

import (
	"fmt"
	"strings"
	"testing"

	"trustnode/node/httpapi"
)

// Two organizations on two nodes: look which tags there are, ask for one, be declined, ask
// for less, be given it, read, be shown what happened.
func TestAskingForALoan(t *testing.T) {
	t.Parallel()
	f := newFolk(t)
	f.found()
	f.join()
	f.up()
	f.must("agent", "add", "--data", "acme", "research", "--can", "lend")
	f.must("agent", "add", "--data", "vendor", "quant", "--can", "borrow")
	quant := f.agentDID("vendor", "quant")
	for i := range 6 {
		f.must("memory", "add", "--data", "acme", "--agent", "research", "--project", "portfolio", "--tag", "client:acme", "--tag", fmt.Sprintf("week:%d", 49+i/5), fmt.Sprint("Back-test ", i, "."))
	}
	looks := f.id("loan", "issue", "--data", "acme", "--lender", "research", "--borrower", quant, "--scope", "tag:client:acme -tag:confidential", "--purpose", "look around", "--pattern", "discover", "--json")

	a := f.must("loan", "discover", "--data", "vendor", "--as", "quant", "--purpose", "what is there", looks)
	for _, want := range []string{"client:acme\n", "week:49\n", "more tags are withheld", "2 tags by read 1, 99 left", "trustnode loan request --as quant --from z"} {
		if !strings.Contains(a.out, want) {
			t.Errorf("discover does not say %q: %s", want, a)
		}
	}
	if strings.Contains(a.out, "week:50") {
		t.Errorf("a rare tag is told: %s", a)
	}
	var tags httpapi.LoanTags
	f.must("loan", "discover", "--data", "vendor", "--as", "quant", "--purpose", "what is there", looks, "--json").into(t, &tags)

	ask := []string{"loan", "request", "--data", "vendor", "--as", "quant", "--from", tags.Receipt.ID, "--tags", "week:49", "--purpose", "plan the week", "--max-reads", "50", "--expires", "48h"}
	if p := f.must(append(ask, "--preview")...); strings.Contains(p.out, "request   ") || !strings.Contains(p.out, "trust     the lender has") || !strings.Contains(p.out, "past      1 loan with its organization, 1 valid, 0 revoked, 2 reads") {
		t.Errorf("preview: %s", p)
	}
	first := f.id(append(ask, "--json")...)
	if l := f.must("loan", "list", "--data", "acme", "--requests"); !strings.Contains(l.out, first+"  lender    requested  50 reads") {
		t.Errorf("%s", l)
	}
	shown := f.must("loan", "show", "--data", "acme", first)
	for _, want := range []string{"purpose   plan the week", "scope     tag:client:acme tag:week:49 -tag:confidential", "asks      50 reads until ", "trust     the borrower has", "past      1 loan", "trustnode loan issue --request " + first} {
		if !strings.Contains(shown.out, want) {
			t.Errorf("show does not say %q: %s", want, shown)
		}
	}
	f.must("loan", "decline", "--data", "acme", first, "--reason", "ten reads are enough")
	if s := f.must("loan", "show", "--data", "vendor", first); !strings.Contains(s.out, "declined: ten reads are enough") {
		t.Errorf("%s", s)
	}
	second := f.id("loan", "request", "--data", "vendor", "--as", "quant", "--in-reply-to", first, "--purpose", "plan the week", "--max-reads", "10", "--expires", "24h", "--json")
	if s := f.must("loan", "show", "--data", "acme", second); !strings.Contains(s.out, "round     2, in reply to "+first) {
		t.Errorf("%s", s)
	}
	if p := f.must("loan", "issue", "--data", "acme", "--request", second, "--preview"); !strings.Contains(p.out, "matches   5 entries now, 5 internal") || !strings.Contains(p.out, "excluded  0 entries by -tag:confidential") || !strings.Contains(p.out, "5 came in within 30 days") || !strings.Contains(p.out, `"Back-test 4."`) {
		t.Errorf("%s", p)
	}
	f.code(exitRefused, "loan", "issue", "--data", "acme", "--request", second, "--as", "research")
	f.code(exitRefused, "loan", "issue", "--data", "acme", "--request", second, "--max-reads", "11")
	perm := f.id("loan", "issue", "--data", "acme", "--request", second, "--max-reads", "3", "--json")
	if s := f.must("loan", "show", "--data", "vendor", second); !strings.Contains(s.out, "loan      "+perm) {
		t.Errorf("%s", s)
	}
	f.must("loan", "read", "--data", "vendor", "--as", "quant", "--purpose", "Monday's plan", "--limit", "2", perm)
	if s := f.must("loan", "show", "--data", "acme", perm); !strings.Contains(s.out, quant+` has read once, under the purpose "plan the week".`) || !strings.Contains(s.out, "it read 2 entries (e") || !strings.Contains(s.out, `to "Monday's plan".`) || !strings.Contains(s.out, "2 reads are left, until ") || !strings.Contains(s.out, "answers   "+second) {
		t.Errorf("%s", s)
	}
	next := f.id("loan", "issue", "--data", "acme", "--replaces", perm, "--max-reads", "8", "--provenance", "--json")
	f.code(exitRefused, "loan", "read", "--data", "vendor", "--as", "quant", "--purpose", "again", perm)
	if s := f.must("loan", "show", "--data", "acme", perm); !strings.Contains(s.out, "1 attempt was refused: revoked.") || !strings.Contains(s.out, "It is revoked: nothing can be read any more.") {
		t.Errorf("%s", s)
	}
	if s := f.must("loan", "show", "--data", "acme", next); !strings.Contains(s.out, "replaces  "+perm) || !strings.Contains(s.out, "names     the borrower may name the lender") || !strings.Contains(s.out, "Nobody has read under it") {
		t.Errorf("%s", s)
	}
	f.must("loan", "read", "--data", "vendor", "--as", "quant", "--purpose", "Tuesday's plan", next)
}
