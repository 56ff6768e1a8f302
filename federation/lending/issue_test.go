package lending

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

func TestLint(t *testing.T) {
	clean := Stats{Matches: 100, Project: 1000}
	for _, c := range []struct {
		name   string
		change func(p *Permission, s *Stats)
		cross  bool
		want   []string
	}{
		{"a narrow loan", func(*Permission, *Stats) {}, false, []string{}},
		{"no exclusion", func(p *Permission, _ *Stats) { p.Scope = MustParse("tag:a age<1d") }, false, []string{"H1"}},
		{"no window", func(p *Permission, _ *Stats) { p.Scope = MustParse("tag:a -tag:b") }, false, []string{"H2"}},
		{"a window of change is one", func(p *Permission, _ *Stats) { p.Scope = MustParse("tag:a -tag:b updated<2026-01-01T00:00:00Z") }, false, []string{}},
		{"an eleventh of a hundred", func(_ *Permission, s *Stats) { s.Project = 999 }, false, []string{"H3"}},
		{"30 days and a second", func(p *Permission, _ *Stats) { p.ExpiresAt = p.IssuedAt.Add(30*24*time.Hour + time.Second) }, false, []string{"H4"}},
		{"30 days", func(p *Permission, _ *Stats) { p.ExpiresAt = p.IssuedAt.Add(30 * 24 * time.Hour) }, false, []string{}},
		{"reads beyond a hundred per match", func(p *Permission, _ *Stats) { p.MaxReads = 10_001 }, false, []string{"H5"}},
		{"personal entries", func(_ *Permission, s *Stats) { s.Personal = true }, false, []string{"H6"}},
		{"no match", func(_ *Permission, s *Stats) { s.Matches = 0 }, false, []string{"H5", "H7"}},
		{"a window that ends in an import", func(_ *Permission, s *Stats) { s.InImport = true }, false, []string{"H8"}},
		{"another organization", func(*Permission, *Stats) {}, true, []string{"H10"}},
		{"another organization with a pact", func(p *Permission, _ *Stats) { p.Pact = mustID(goldenRow) }, true, []string{}},
		{"several, sorted by bytes", func(p *Permission, s *Stats) { p.Scope, s.Personal = MustParse("tag:a"), true }, true, []string{"H1", "H10", "H2", "H6"}},
	} {
		p, s := body[Permission](t, "permission"), clean
		c.change(&p, &s)
		if got := Lint(p, s, c.cross); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestCheckIssue(t *testing.T) {
	at := clock("2026-12-01T10:00:00Z")
	golden := body[Permission](t, "permission")
	rules := IssueRules{Cross: true, Charter: *golden.GoverningCharter, MaxTTLS: 30 * 86400, MaxReads: 5000, Mediator: true, Refused: []string{"H7"}}
	for _, c := range []struct {
		name    string
		change  func(p *Permission, r *IssueRules)
		hygiene []string
		code    Code
		reason  string
	}{
		{"within all limits", func(*Permission, *IssueRules) {}, []string{"H1"}, "", ""},
		{"no caps in the charter", func(_ *Permission, r *IssueRules) { r.MaxTTLS, r.MaxReads = 0, 0 }, nil, "", ""},
		{"inside one organization nothing of a charter counts", func(p *Permission, r *IssueRules) { p.GoverningCharter, *r = nil, IssueRules{} }, nil, "", ""},
		{"no charter", func(p *Permission, _ *IssueRules) { p.GoverningCharter = nil }, nil, CodeRefused, ReasonNoCharter},
		{"a charter that is not in force", func(_ *Permission, r *IssueRules) { r.Charter.Seq++ }, nil, CodeRefused, ReasonNoCharter},
		{"no mediator", func(_ *Permission, r *IssueRules) { r.Mediator = false }, nil, CodeRefused, ReasonNoMediator},
		{"a loan too long", func(p *Permission, _ *IssueRules) { p.ExpiresAt = p.IssuedAt.Add(30*24*time.Hour + time.Second) }, nil, CodeRefused, ReasonTTL},
		{"too many reads", func(p *Permission, _ *IssueRules) { p.MaxReads = 5001 }, nil, CodeRefused, ReasonMaxReads},
		{"a hygiene code that policy refuses", func(*Permission, *IssueRules) {}, []string{"H1", "H7"}, CodeRefused, ReasonHygiene},
		{"an end that has passed", func(p *Permission, _ *IssueRules) {
			p.IssuedAt, p.ExpiresAt = p.IssuedAt.Add(-time.Hour), envelope.TimeOf(at)
		}, nil, CodeInvalid, ""},
	} {
		p, r := golden, rules
		c.change(&p, &r)
		err := CheckIssue(p, r, c.hygiene, at)
		var den *Denial
		if c.code == "" && err != nil || c.code != "" && (!errors.As(err, &den) || den.Code != c.code || den.Reason != c.reason) {
			t.Errorf("%s: got %v, want %s %s", c.name, err, c.code, c.reason)
		}
	}
	bad := golden
	bad.MaxReads = 0
	var form *envelope.FormError
	if err := CheckIssue(bad, rules, nil, at); !errors.As(err, &form) {
		t.Errorf("a bad form: got %v", err)
	}
}

func TestTargetsAndEnds(t *testing.T) {
	p := opened(t, body[Permission](t, "permission"))
	parent := mustID(goldenRow)
	want := []Target{{TargetPermission, goldenPerm}, {TargetPermission, goldenRow}, {TargetBorrower, borrower.String()}, {TargetBorrower, org.String()}}
	if got := Targets(p, []envelope.ID{parent}, org); !reflect.DeepEqual(got, want) {
		t.Errorf("targets: got %v, want %v", got, want)
	}
	if got := Targets(p, nil, did.DID{}); len(got) != 2 {
		t.Errorf("without organization: got %v", got)
	}
	golden := body[Revocation](t, "revocation")
	for _, c := range []struct {
		name   string
		change func(r *Revocation)
		want   bool
	}{
		{"of the permission", func(*Revocation) {}, true},
		{"of the borrower", func(r *Revocation) { r.TargetKind, r.Target = TargetBorrower, borrower.String() }, true},
		{"of the borrower's organization", func(r *Revocation) { r.TargetKind, r.Target = TargetBorrower, org.String() }, true},
		{"of another permission", func(r *Revocation) { r.Target = goldenRow }, false},
		{"of an approval with that id", func(r *Revocation) { r.TargetKind = TargetApproval }, false},
		{"of another borrower", func(r *Revocation) { r.TargetKind, r.Target = TargetBorrower, stranger.String() }, false},
		{"by somebody else", func(r *Revocation) { r.Issuer = stranger }, false},
	} {
		r := golden
		c.change(&r)
		if got := r.Ends(p, org); got != c.want {
			t.Errorf("a revocation %s: got %v, want %v", c.name, got, c.want)
		}
	}
}
