package lender

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/memory"
	"trustnode/node/self/selftest"
	"trustnode/node/store"
)

// Every optional member that an operator names stands in what is signed, and no other.
func TestIssueOptions(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	in := k.wish(5)
	window := uint64(600)
	in.Patterns, in.WriteTo = []string{"read", "downstream_write", "discover"}, []string{"https://b.example/x", "https://a.example/x", "https://b.example/x"}
	in.NotBefore, in.CacheS, in.Provenance, in.Sublend = "24h", &window, "allow", "ask"
	l, err := k.Issue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	p := l.Permission
	wantTexts(t, "patterns", p.Patterns, "discover", "downstream_write", "read")
	wantTexts(t, "destinations", p.WriteTo, "https://a.example/x", "https://b.example/x")
	if p.NotBefore.String() != "2026-12-03T09:15:30Z" || p.CacheS != 600 || p.Provenance != "allow" || p.Sublend != "ask" {
		t.Errorf("got %+v", p)
	}
	_, _, err = k.read(t.Context(), k.request(t, l))
	refusedWith(t, err, fault.Refused, "not_yet")
	if p := k.issue(t, 5).Permission; p.CacheS != 0 || p.Provenance+p.Sublend != "" || p.WriteTo != nil || !p.NotBefore.IsZero() {
		t.Errorf("without options: got %+v", p)
	}
}

// Policy turns each code that Lint gives into a refusal, and only those it names.
func TestRefuseHygiene(t *testing.T) {
	k := newKit(t, selftest.Option{}, Config{RefuseHygiene: []string{"H1", "H7"}})
	k.add(t, "One.", "client:acme")
	k.issue(t, 5)
	in := k.wish(5)
	in.Scope = "tag:client:acme age<90d"
	_, err := k.Issue(t.Context(), in)
	refusedWith(t, err, fault.Refused, "hygiene")
	in.Scope = "tag:client:none -tag:x age<90d"
	_, err = k.Issue(t.Context(), in)
	refusedWith(t, err, fault.Refused, "hygiene")
}

// A window that ends inside an import is told.
func TestIssueInsideAnImport(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	in, err := memory.NewPlace(tenant, folio)
	if err != nil {
		t.Fatal(err)
	}
	mcp := strings.NewReader(`{"type":"entity","name":"Acme","entityType":"client","observations":["A note."]}`)
	if _, err := k.Import(t.Context(), ImportInput{Agent: "research", Project: folio, Format: "mcp", File: mcp}); err != nil {
		t.Fatal(err) // what it remembers of lines lies beside the spans
	}
	at := selftest.Start
	for _, s := range []time.Duration{0, 60 * time.Second} { // two transactions of one import
		err := k.acme.DB.Update(t.Context(), func(tx store.Tx) error {
			return spanned(tx, in, at, []memory.Entry{{Created: at.Add(s)}, {Created: at.Add(s + time.Second)}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]bool{
		"created>=2026-12-02T09:15:30Z": false, "created>=2026-12-02T09:15:31Z": true, "created<2026-12-02T09:16:31Z": true,
		"created<2026-12-02T09:16:32Z": false, "age<1d": false, "updated<2026-12-02T09:16:00Z": false, "": false,
	} {
		wish := k.wish(5)
		wish.Scope, wish.Preview = "tag:client:acme -tag:x "+text, true
		l, err := k.Issue(t.Context(), wish)
		if err != nil || slices.Contains(l.Hygiene, "H8") != want {
			t.Errorf("%q: got %v, %v, want %v", text, l.Hygiene, err, want)
		}
	}
}

// A preview shows what the operator decides about, and counts nothing.
func TestPreviewSurvey(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "Old.", "client:acme")
	k.w.Clock.Add(25 * time.Hour)
	for _, s := range []string{"One.", "Two.", "Three.", "Four.", "Five."} {
		k.add(t, s, "client:acme", "kind:test")
		k.w.Clock.Add(time.Second)
	}
	k.add(t, "Secret.", "client:acme", "confidential")
	in := k.wish(500)
	in.Preview = true
	l, err := k.Issue(t.Context(), in)
	if err != nil || l.Survey == nil {
		t.Fatal(l, err)
	}
	v := l.Survey
	if v.Excluded["confidential"] != 1 || v.Tags["client:acme"] != 6 || v.Tags["kind:test"] != 5 || v.Tags["class:internal"] != 6 || v.Tags["confidential"] != 0 {
		t.Errorf("counts: got %+v", v)
	}
	if v.Daily[0] != 5 || v.Daily[1] != 1 {
		t.Errorf("by day: got %v", v.Daily)
	}
	var newest []string
	for _, e := range v.Newest {
		newest = append(newest, e.Statement)
	}
	wantTexts(t, "newest", newest, "Five.", "Four.", "Three.", "Two.", "One.")
}

// One that replaces another takes over what is not said anew, and ends it in one step.
func TestReplace(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	in := k.wish(5)
	window := uint64(60)
	in.CacheS, in.Provenance, in.Patterns, in.Sublend = &window, "allow", []string{"read", "discover"}, "ask"
	old, err := k.Issue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	k.mustRead(t, k.request(t, old))
	k.w.Clock.Add(time.Hour)
	l, err := k.Issue(t.Context(), IssueInput{Replaces: old.Compact, MaxReads: 9, Sublend: "none", Scope: "tag:client:acme -tag:confidential -tag:x age<90d"})
	if err != nil {
		t.Fatal(err)
	}
	p, was := l.Permission, old.Permission
	if p.MaxReads != 9 || p.Sublend != "" || p.Scope.String() != "tag:client:acme -tag:confidential -tag:x age<90d" {
		t.Errorf("what changed: got %+v", p)
	}
	if p.Borrower != was.Borrower || p.Lender != was.Lender || p.Purpose != was.Purpose || p.ExpiresAt != was.ExpiresAt || p.CacheS != 60 || p.Provenance != "allow" || !slices.Equal(p.Patterns, was.Patterns) {
		t.Errorf("what stayed: got %+v, want as %+v", p, was)
	}
	if l.Replaces != old.ID || p.IssuedAt == was.IssuedAt || p.Nonce == was.Nonce {
		t.Errorf("got %+v", l)
	}
	now, err := k.Loan(t.Context(), old.ID.String())
	if err != nil || now.State != lending.Revoked || now.Revocation.IsZero() {
		t.Errorf("the old one: got %+v, %v", now, err)
	}
	_, _, err = k.read(t.Context(), k.request(t, old))
	refusedWith(t, err, fault.Revoked, "ended")
	if _, r := k.mustRead(t, k.request(t, l)); r.Seq != 1 || r.Left != 8 {
		t.Errorf("got %+v", r)
	}
	wantTexts(t, "rows", k.rowsOf(t, old.ID), "issue", "read granted 1", "revoke ended", "read denied revoked ended")

	all, _ := k.Loans(t.Context())
	for name, wish := range map[string]IssueInput{
		"one that has ended": {Replaces: old.ID.String()}, "for another borrower": {Replaces: l.ID.String(), Borrower: "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"},
		"of another lender": {Replaces: l.ID.String(), Lender: "ghost"}, "with what is not allowed": {Replaces: l.ID.String(), Expires: "31d"},
	} {
		if got, err := k.Issue(t.Context(), wish); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	left, err := k.Loan(t.Context(), l.ID.String())
	if now, _ := k.Loans(t.Context()); err != nil || len(now) != len(all) || left.State != lending.Valid {
		t.Errorf("refusals left %d loans, was %d, and %v, %v", len(now), len(all), left.State, err)
	}
}

// An hour later a loan that reaches much more, or another class, is told once.
func TestGrowth(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	l := k.issue(t, 100)
	look := func(want ...string) Loan {
		t.Helper()
		k.w.Clock.Add(time.Hour)
		if err := k.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantTexts(t, "rows", k.rowsOf(t, l.ID), want...)
		got, err := k.Loan(t.Context(), l.ID.String())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	k.add(t, "Two.", "client:acme")
	if got := look("issue"); got.Growth != nil {
		t.Errorf("twice is no growth: %+v", got.Growth)
	}
	k.add(t, "Three.", "client:acme")
	got := look("issue", "growth 3 of 1")
	if got.Growth == nil || got.Growth.Matches != 3 || !slices.Contains(got.Hygiene, "H9") || len(got.Words) != len(got.Hygiene) {
		t.Errorf("got %+v", got)
	}
	if ns := k.notices(t); len(ns) != 1 || ns[0].Ref != l.ID.String() || ns[0].What != "loan_grown" || ns[0].Hint == "" {
		t.Errorf("notices: got %+v", ns)
	}
	look("issue", "growth 3 of 1") // told already
	k.add(t, "Four.", "client:acme", "class:personal")
	if got := look("issue", "growth 3 of 1", "growth 4 of 1 personal"); !slices.Equal(got.Growth.Classes, []string{"personal"}) {
		t.Errorf("got %+v", got.Growth)
	}
	p, err := k.Issue(t.Context(), IssueInput{Replaces: l.ID.String(), Preview: true})
	if err != nil || p.Growth == nil || p.Growth.Matches != 4 {
		t.Errorf("at renewal: got %+v, %v", p.Growth, err)
	}
	if _, err := k.Revoke(t.Context(), l.ID.String(), "ended", ""); err != nil {
		t.Fatal(err)
	}
	for range 9 {
		k.add(t, "More.", "client:acme")
	}
	look("issue", "growth 3 of 1", "growth 4 of 1 personal", "revoke ended") // nobody reads it any more
}

// A loan of an older version did not keep its classes: then none is new.
func TestGrowthOfAnOldLoan(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	l := k.issue(t, 100)
	err := k.acme.DB.Update(t.Context(), func(tx store.Tx) error {
		row, _, err := store.GetRow[issuedRow](tx, idKey(keyIssued, l.ID))
		row.Classes = nil
		return errors.Join(err, store.PutRow(tx, idKey(keyIssued, l.ID), row))
	})
	if err != nil {
		t.Fatal(err)
	}
	k.Lender = New(k.acme.Node, k.cfg)
	k.add(t, "Two.", "client:acme", "class:regulated")
	k.w.Clock.Add(time.Hour)
	if err := k.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, "rows", k.rowsOf(t, l.ID), "issue")
}
