package lending

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// wanted is a request that the golden permission answers exactly.
func wanted(t *testing.T) LoanRequest {
	t.Helper()
	p := body[Permission](t, "permission")
	return LoanRequest{At: p.IssuedAt, Aud: p.Lender, Borrower: p.Borrower, ExpiresAt: p.ExpiresAt, Kid: "key-1", MaxReads: p.MaxReads, Nonce: salt(1),
		Patterns: p.Patterns, Purpose: p.Purpose, Scope: p.Scope}
}

func TestCheckAnswers(t *testing.T) {
	id := mustID(goldenRow)
	for _, c := range []struct {
		name   string
		change func(p *Permission, r *LoanRequest)
		wider  bool
	}{
		{"exactly what was asked", func(*Permission, *LoanRequest) {}, false},
		{"less of everything", func(p *Permission, _ *LoanRequest) {
			p.MaxReads, p.ExpiresAt, p.Scope = 1, p.ExpiresAt.Add(-time.Second), MustParse("tag:terminal:north tag:x -tag:customs:hold age<1d")
		}, false},
		{"a scope left to the lender", func(_ *Permission, r *LoanRequest) { r.Scope = Scope{} }, false},
		{"one pattern of two", func(_ *Permission, r *LoanRequest) { r.Patterns = []string{PatternDiscover, PatternRead} }, false},
		{"another lender", func(_ *Permission, r *LoanRequest) { r.Aud = stranger }, true},
		{"another borrower", func(_ *Permission, r *LoanRequest) { r.Borrower = stranger }, true},
		{"the asker itself where it asks for another", func(_ *Permission, r *LoanRequest) { r.For, r.Parent = stranger, id }, true},
		{"another purpose", func(p *Permission, _ *LoanRequest) { p.Purpose = "x" }, true},
		{"a read more", func(p *Permission, _ *LoanRequest) { p.MaxReads++ }, true},
		{"a second more", func(p *Permission, _ *LoanRequest) { p.ExpiresAt = p.ExpiresAt.Add(time.Second) }, true},
		{"a pattern more", func(p *Permission, _ *LoanRequest) { p.Patterns = []string{PatternDiscover, PatternRead} }, true},
		{"an exclusion less", func(p *Permission, _ *LoanRequest) { p.Scope = MustParse("tag:terminal:north age<30d") }, true},
		{"a parent nobody named", func(p *Permission, _ *LoanRequest) { p.Parent = id }, true},
	} {
		p, r := body[Permission](t, "permission"), wanted(t)
		c.change(&p, &r)
		wantReason(t, c.name, CheckAnswers(p, r), c.wider, ReasonWider)
	}
}

func wantReason(t *testing.T, name string, err error, refused bool, reason string) {
	t.Helper()
	var den *Denial
	if refused && (!errors.As(err, &den) || den.Code != CodeRefused || den.Reason != reason || den.Hint == "") || !refused && err != nil {
		t.Errorf("%s: got %v, want %s: %v", name, err, reason, refused)
	}
}

func TestCheckChild(t *testing.T) {
	parentID := mustID(goldenPerm)
	cap := func(amount string) *Money { return &Money{Amount: amount, Asset: "EUR"} }
	for _, c := range []struct {
		name   string
		change func(p, parent *Permission)
		wider  bool
	}{
		{"the same", func(*Permission, *Permission) {}, false},
		{"less of everything", func(p, parent *Permission) {
			p.MaxReads, p.ExpiresAt, p.Scope, p.CacheS, parent.CacheS = 1, p.ExpiresAt.Add(-time.Second), MustParse("tag:terminal:north tag:x -tag:customs:hold age<1d"), 1, 2
		}, false},
		{"less of a cost cap", func(p, parent *Permission) { p.CostCap, parent.CostCap = cap("99"), cap("100") }, false},
		{"a parent that provides for none", func(_, parent *Permission) { parent.Sublend = "" }, true},
		{"the parent's own borrower", func(p, parent *Permission) { p.Borrower = parent.Borrower }, true},
		{"another lender", func(p, _ *Permission) { p.Lender = stranger }, true},
		{"another parent", func(p, _ *Permission) { p.Parent = mustID(goldenRow) }, true},
		{"a wider scope", func(p, _ *Permission) { p.Scope = MustParse("tag:terminal:north age<30d") }, true},
		{"a read more", func(p, _ *Permission) { p.MaxReads++ }, true},
		{"a second more", func(p, _ *Permission) { p.ExpiresAt = p.ExpiresAt.Add(time.Second) }, true},
		{"before its parent begins", func(_, parent *Permission) { parent.NotBefore = parent.IssuedAt.Add(time.Hour) }, true},
		{"a pattern more", func(p, _ *Permission) { p.Patterns = []string{PatternDiscover, PatternRead} }, true},
		{"a destination more", func(p, _ *Permission) { p.WriteTo = []string{"lender:inbox"} }, true},
		{"a longer caching window", func(p, _ *Permission) { p.CacheS = 1 }, true},
		{"provenance that the parent has not", func(p, _ *Permission) { p.Provenance = ProvenanceAllow }, true},
		{"another pact", func(_, parent *Permission) { parent.Pact = mustID(goldenRow) }, true},
		{"other prices", func(p, _ *Permission) { p.Terms = mustID(goldenRow) }, true},
		{"no cap where the parent has one", func(_, parent *Permission) { parent.CostCap = cap("100") }, true},
		{"more of a cost cap", func(p, parent *Permission) { p.CostCap, parent.CostCap = cap("101"), cap("100") }, true},
		{"more of it by digits", func(p, parent *Permission) { p.CostCap, parent.CostCap = cap("1000"), cap("999") }, true},
		{"a cost cap in another asset", func(p, parent *Permission) {
			p.CostCap, parent.CostCap = cap("1"), &Money{Amount: "100", Asset: "USD"}
		}, true},
	} {
		parent := body[Permission](t, "permission")
		parent.Sublend = SublendAsk
		p := body[Permission](t, "permission")
		p.Parent, p.Borrower = parentID, stranger
		c.change(&p, &parent)
		wantReason(t, c.name, CheckChild(p, parent, parentID), c.wider, ReasonParent)
	}
}

func TestNextRound(t *testing.T) {
	for round, want := range map[uint64]uint64{0: 1, 1: 2, 7: 8, 8: 0, 9: 0} {
		got, err := NextRound(round)
		if got != want {
			t.Errorf("after %d: got %d, want %d", round, got, want)
		}
		wantReason(t, fmt.Sprint("after ", round), err, want == 0, ReasonRounds)
	}
}

func TestGrowthRule(t *testing.T) {
	at := Census{Matches: 2, Classes: []string{"internal"}}
	for _, c := range []struct {
		name    string
		now     Census
		classes string
		grown   bool
	}{
		{"as it was", at, "", false},
		{"twice", Census{4, []string{"internal"}}, "", false},
		{"more than twice", Census{5, []string{"internal"}}, "", true},
		{"a class less", Census{1, nil}, "", false},
		{"another class", Census{2, []string{"internal", "personal"}}, "personal", true},
	} {
		classes, grown := Growth(at, c.now)
		if strings.Join(classes, " ") != c.classes || grown != c.grown {
			t.Errorf("%s: got %v %v", c.name, classes, grown)
		}
	}
	row := GrowthRow{At: stamp("2026-12-01T10:00:00Z"), Classes: []string{}, Issued: 2, Matches: 5, Op: OpGrowth, Perm: mustID(goldenPerm), Salt: salt(1)}
	b, _, err := MarshalRow(row)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseRow(b); err != nil || got.(GrowthRow).Matches != 5 {
		t.Errorf("got %+v, %v", got, err)
	}
	row.Matches = 4
	if _, _, err := MarshalRow(row); err == nil {
		t.Error("no growth is a row of growth")
	}
}

func TestAskedForm(t *testing.T) {
	good := Asked{ID: mustID(goldenRow), Round: 1, State: AskRequested, Until: stamp("2026-12-02T10:00:00Z")}
	for name, c := range map[string]struct {
		change func(a *Asked)
		ok     bool
	}{
		"one that waits":               {func(*Asked) {}, true},
		"declined, with a reason":      {func(a *Asked) { a.State, a.Reason = AskDeclined, "no" }, true},
		"issued":                       {func(a *Asked) { a.State, a.Permission = AskIssued, "x.y" }, true},
		"issued without permission":    {func(a *Asked) { a.State = AskIssued }, false},
		"a permission while it waits":  {func(a *Asked) { a.Permission = "x.y" }, false},
		"a state that is none":         {func(a *Asked) { a.State = "maybe" }, false},
		"no round":                     {func(a *Asked) { a.Round = 0 }, false},
		"a ninth round":                {func(a *Asked) { a.Round = 9 }, false},
		"a reason of 201 bytes":        {func(a *Asked) { a.State, a.Reason = AskDeclined, strings.Repeat("x", 201) }, false},
		"a reason that moves a cursor": {func(a *Asked) { a.State, a.Reason = AskDeclined, "\x1b[2J" }, false},
	} {
		a := good
		c.change(&a)
		b, err := a.Bytes()
		if err == nil {
			var got Asked
			if got, err = ParseAsked(b); err == nil && got != a {
				t.Errorf("%s: got %+v, want %+v", name, got, a)
			}
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	until := good.Until
	for at, want := range map[string]AskState{"2026-12-02T09:59:59Z": AskRequested, "2026-12-02T10:00:00Z": AskLapsed} {
		if got := AskRequested.AskAt(until, clock(at)); got != want {
			t.Errorf("at %s: got %s", at, got)
		}
		if got := AskDeclined.AskAt(until, clock(at)); got != AskDeclined {
			t.Errorf("declined at %s: got %s", at, got)
		}
	}
}

func TestTagsAnswer(t *testing.T) {
	c, err := JoinTags([]string{"a", "b:c"}, true, salt(3))
	if err != nil {
		t.Fatal(err)
	}
	b, err := ReplyTags(c, "x.y")
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		text string
		ok   bool
	}{
		"as it was made":     {string(b), true},
		"with blanks":        {strings.ReplaceAll(string(b), ",", ", "), true},
		"tags not sorted":    {strings.Replace(string(b), `"a","b:c"`, `"b:c","a"`, 1), false},
		"a tag twice":        {strings.Replace(string(b), `"a"`, `"a","a"`, 1), false},
		"a tag that is none": {strings.Replace(string(b), `"a"`, `"A"`, 1), false},
		"a number":           {strings.Replace(string(b), `"a"`, `1`, 1), false},
		"withheld of text":   {strings.Replace(string(b), `true`, `"true"`, 1), false},
		"no withheld":        {strings.Replace(string(b), `,"withheld":true`, ``, 1), false},
		"a member twice":     {strings.Replace(string(b), `{`, `{"withheld":true,`, 1), false},
		"a member more":      {strings.Replace(string(b), `{`, `{"more":true,`, 1), false},
		"no salt":            {strings.Replace(string(b), `"salt"`, `"salz"`, 1), false},
		"nothing":            {``, false},
	} {
		got, err := ParseTags([]byte(x.text))
		if (err == nil) != x.ok || x.ok && (got.Hash() != c.Hash || !got.Withheld || strings.Join(got.Tags, " ") != "a b:c") || !x.ok && !errors.Is(err, ErrAnswer) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	many := make([]string, MaxTags+1)
	for i := range many {
		many[i] = fmt.Sprintf("t%05d", i)
	}
	if _, err := JoinTags(many, false, salt(3)); !errors.Is(err, ErrAnswer) {
		t.Errorf("too many tags: %v", err)
	}
	full, err := JoinTags(many[:MaxTags], false, salt(3))
	if answer, rerr := ReplyTags(full, strings.Repeat("x", 1000)); err != nil || rerr != nil || len(AnswerFrame(answer)) > MaxAnswer {
		t.Errorf("all tags: %d bytes, %v, %v", len(answer), err, rerr)
	}
}

func TestFoundScope(t *testing.T) {
	looked := MustParse("tag:client:acme -tag:x age<30d")
	for _, c := range []struct {
		name string
		tags []string
		want string
	}{
		{"one tag", []string{"b"}, "tag:b tag:client:acme -tag:x age<30d"},
		{"one of several", []string{"c", "b"}, "tag:client:acme any(b,c) -tag:x age<30d"},
		{"none", nil, ""},
		{"one that is excluded", []string{"x"}, ""},
		{"one that is none", []string{"a b"}, ""},
		{"what would break out", []string{"b) tag:y any(c"}, ""},
	} {
		got, err := FoundScope(looked, c.tags)
		if got.String() != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v", c.name, got, err)
		}
		if err == nil && !got.Within(looked) {
			t.Errorf("%s: %s goes beyond", c.name, got)
		}
	}
}

// A frame of a discovery of the longest tags fits what a lender may answer.
func TestTagsFit(t *testing.T) {
	many := make([]string, MaxTags)
	for i := range many {
		many[i] = fmt.Sprintf("%064d", i)
	}
	c, err := JoinTags(many, true, salt(3))
	if err != nil || len(c.Bytes) > MaxAnswer-8<<10 {
		t.Errorf("%d bytes, %v", len(c.Bytes), err)
	}
}

func FuzzAsked(f *testing.F) {
	f.Add([]byte(`{"id":"` + goldenRow + `","round":1,"state":"requested","until":"2026-12-02T10:00:00Z"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := ParseAsked(b); err == nil {
			if again, err := a.Bytes(); err != nil || string(again) != string(b) {
				t.Errorf("got %s, %v, want %s", again, err, b)
			}
		}
	})
}

func FuzzTags(f *testing.F) {
	f.Add([]byte(`{"receipt":"x.y","salt":"AAECAwQFBgcICQoLDA0ODw","tags":["a"],"withheld":false}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ParseTags(b)
		if err != nil {
			return
		}
		c, err := JoinTags(got.Tags, got.Withheld, got.Salt)
		if err != nil || c.Hash != got.Hash() {
			t.Errorf("joined again: %v", err)
		}
	})
}
