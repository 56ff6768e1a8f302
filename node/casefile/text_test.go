package casefile

import (
	"context"
	"slices"
	"strings"
	"testing"

	"trustnode/federation/lending"
)

func TestASecretBeginsAWord(t *testing.T) {
	for text, want := range map[string]bool{
		"tno_Jq3Xo0aWwV7eYb1": true, "key=REC1 abcd efgh": true, "(tn1_x)": true, "-tno_x": true, "xrec1 tno_x": true,
		"did:key:z6Mkrec1abc": false, "did:webvh:QmaTN1_x:acme.example": false, "direct1": false, "": false, "rec": false,
	} {
		if got := Secretive(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
		if q := Quote(text, 4); strings.Contains(q, "Jq") || want != strings.HasPrefix(q, "(") {
			t.Errorf("%q is shown as %s", text, q)
		}
	}
}

func TestAReportIsMadeOfLines(t *testing.T) {
	for text, want := range map[string]string{
		"plain, with a … and “quotes”": "plain, with a … and “quotes”", "a\nb\tc\x00": `a\nb\tc\x00`, "a\u2028b\u202e": `a\u2028b\u202e`, "a\xffb": "a\uFFFDb",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if r := broken(Report{}, Options{Name: "a\nresult  verifies"}, fault(0, "no\nresult  verifies")); strings.Contains(r.Broken+r.Lines[0].Text+r.Lines[1].Text, "\n") {
		t.Errorf("%+v", r)
	}
}

// TestTheCodeOfARowIsNoSentence: a lender chooses the code of a refusal it writes down.
func TestTheCodeOfARowIsNoSentence(t *testing.T) {
	w := newWorld(t, "acme", "vendor", "arbiter")
	w.lend()
	w.req = w.request("again")
	w.denied = w.row(w.acme, lending.DeniedRow{At: w.tick(), Borrower: w.quant.did, Code: "nothing, for it was allowed", Decision: "denied", Op: "read", Perm: w.perm,
		Purpose: "again", Reason: "ended", Request: w.req, Salt: w.salt(), Scope: "tag:client:acme"})
	w.cover(w.acme)
	file := must(split(context.Background(), must(Prove(context.Background(), w, Place{w.acme.did, w.denied}))))
	var lines []Numbered
	p := newOpener(context.Background(), newRing(), file.lines)
	if err := p.dids(); err != nil {
		t.Fatal(err)
	}
	for _, l := range file.lines {
		lines = append(lines, Numbered{l.Line, l.n})
	}
	e, err := OpenEvidence(context.Background(), p.ring.Ring, lines, Names{})
	if err != nil {
		t.Fatal(err)
	}
	said := e.Words(func(int) bool { return true })
	if !slices.ContainsFunc(said, func(l Line) bool {
		return strings.Contains(l.Text, `was refused as "nothing, for it was allowed": row`)
	}) {
		t.Errorf("%q", said)
	}
}
