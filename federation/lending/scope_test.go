package lending

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParsePrints(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"canonical text stays as it is", "tag:terminal:north -tag:customs:hold age<30d", "tag:terminal:north -tag:customs:hold age<30d"},
		{"terms are put in the order of the grammar", "age<90d -tag:z tag:b created>=2026-01-01T00:00:00Z any(y,x) tag:a", "tag:a tag:b any(x,y) -tag:z created>=2026-01-01T00:00:00Z age<90d"},
		{"upper side of a window sorts first", "tag:a created>=2026-01-01T00:00:00Z created<2026-02-01T00:00:00Z", "tag:a created<2026-02-01T00:00:00Z created>=2026-01-01T00:00:00Z"},
		{"repetitions fall away", "tag:a tag:a any(b,c,b) any(c,b) -tag:d -tag:d", "tag:a any(b,c) -tag:d"},
		{"a group of one is an inclusion", "any(a) any(b,b)", "tag:a tag:b"},
		{"groups sort by their bytes", "any(a:b,c) any(a,b) any(a-b,c)", "any(a,b) any(a-b,c) any(a:b,c)"},
		{"white space is free", "  tag:a\t any( b , c )\n-tag:d ", "tag:a any(b,c) -tag:d"},
		{"weeks become days", "tag:a age<2w", "tag:a age<14d"},
		{"the largest unit that divides is used", "tag:a age<7200s", "tag:a age<2h"},
		{"a number that no larger unit divides stays", "tag:a age<90m", "tag:a age<90m"},
		{"leading zeros fall away", "tag:a age<007d", "tag:a age<7d"},
		{"of two ages the tighter counts", "tag:a age<7d age<1d", "tag:a age<1d"},
		{"of two windows the intersection counts", "tag:a updated<2026-02-01T00:00:00Z updated<2026-01-01T00:00:00Z", "tag:a updated<2026-01-01T00:00:00Z"},
		{"a tag may look like another term", "tag:age any(created,updated) -tag:tag:a", "tag:age any(created,updated) -tag:tag:a"},
		{"a scope that matches nothing is still a scope", "tag:a -tag:a", "tag:a -tag:a"},
		{"the greatest age", "tag:a age<999999d", "tag:a age<999999d"},
	} {
		s, err := Parse(c.text)
		if err != nil || s.String() != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, s.String(), err, c.want)
		}
		if _, err := ParseCanonical(c.text); (err == nil) != (c.text == c.want) {
			t.Errorf("%s: as canonical: %v", c.name, err)
		} else if err != nil && !errors.Is(err, ErrNotCanonical) {
			t.Errorf("%s: got %v, want ErrNotCanonical", c.name, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	many := func(n int, f string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(f, i))
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ name, text string }{
		{"an empty text", ""},
		{"no inclusion", "-tag:a age<30d"},
		{"an empty tag", "tag:"},
		{"a tag of 65 bytes", "tag:" + strings.Repeat("a", 65)},
		{"an upper-case tag", "tag:A"},
		{"an upper-case operator", "TAG:a"},
		{"a wildcard", "tag:a*"},
		{"a tag with a quote", `tag:a"`},
		{"a tag outside ASCII", "tag:é"},
		{"a NUL", "tag:a\x00"},
		{"a term that is not known", "tag:a since:2026"},
		{"a bare word", "a"},
		{"or", "tag:a or tag:b"},
		{"a group without end", "any(a,b"},
		{"a group with something after it", "any(a,b)c"},
		{"an empty group", "any()"},
		{"an empty member", "any(a,,b)"},
		{"a member of two words", "any(a b,c)"},
		{"a group in a group", "any(a,any(b,c))"},
		{"a negated group", "tag:c -any(a,b)"},
		{"a group of 17", "any(a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q)"},
		{"17 terms", many(17, "tag:t%d")},
		{"513 bytes", "tag:a" + strings.Repeat(" ", 508)},
		{"text that is too long once printed", many(7, "tag:"+strings.Repeat("a", 57)+"%d") + " tag:" + strings.Repeat("b", 60) + " age<9w"},
		{"age zero", "tag:a age<0d"},
		{"an age of seven digits", "tag:a age<1000000d"},
		{"an age whose days have seven digits", "tag:a age<999999w"},
		{"an age without unit", "tag:a age<30"},
		{"an age of months", "tag:a age<1M"},
		{"a signed age", "tag:a age<+1d"},
		{"an age from below", "tag:a age>30d"},
		{"a time of day without zone", "tag:a created<2026-01-01T00:00:00"},
		{"a time with an offset", "tag:a created<2026-01-01T00:00:00+00:00"},
		{"a time with a fraction", "tag:a created<2026-01-01T00:00:00.5Z"},
		{"a day that is none", "tag:a created<2026-02-30T00:00:00Z"},
		{"a leap second", "tag:a created<2016-12-31T23:59:60Z"},
		{"a window closed above", "tag:a created<=2026-01-01T00:00:00Z"},
		{"a window open below", "tag:a created>2026-01-01T00:00:00Z"},
	} {
		if s, err := Parse(c.text); !errors.Is(err, ErrScope) || !s.IsZero() {
			t.Errorf("%s: got %q, %v, want ErrScope", c.name, s, err)
		}
	}
}

func TestMatches(t *testing.T) {
	now := clock("2026-12-02T09:15:30Z").Add(700 * time.Millisecond)
	old, recent := clock("2026-11-02T09:15:29Z"), clock("2026-11-02T09:15:30Z")
	for _, c := range []struct {
		name, scope, tags string
		created, updated  time.Time
		want              bool
	}{
		{"a tag that is there", "tag:a", "a b", recent, recent, true},
		{"a tag that is not", "tag:a", "b", recent, recent, false},
		{"no prefix of a tag", "tag:a", "a:b", recent, recent, false},
		{"all of several", "tag:a tag:b", "b c a", recent, recent, true},
		{"not all of several", "tag:a tag:b", "a c", recent, recent, false},
		{"one of a group", "any(a,b)", "b", recent, recent, true},
		{"none of a group", "any(a,b)", "c", recent, recent, false},
		{"one of each group", "any(a,b) any(c,d)", "a", recent, recent, false},
		{"an exclusion wins", "tag:a -tag:b", "a b", recent, recent, false},
		{"a scope against itself", "tag:a -tag:a", "a", recent, recent, false},
		{"an age to the second, in whole seconds of now", "tag:a age<30d", "a", recent, recent, true},
		{"a second too old", "tag:a age<30d", "a", old, recent, false},
		{"an age beyond 1970", "tag:a age<999999d", "a", old, recent, true},
		{"from its first second", "tag:a created>=2026-11-02T09:15:30Z", "a", recent, recent, true},
		{"before its first second", "tag:a created>=2026-11-02T09:15:30Z", "a", old, recent, false},
		{"up to, not including, its last second", "tag:a created<2026-11-02T09:15:30Z", "a", recent, recent, false},
		{"the second before", "tag:a created<2026-11-02T09:15:30Z", "a", old, recent, true},
		{"the time of the last change", "tag:a updated>=2026-11-02T09:15:30Z", "a", recent, old, false},
	} {
		if got := MustParse(c.scope).Matches(strings.Fields(c.tags), c.created, c.updated, now); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if (Scope{}).Matches([]string{"a"}, recent, recent, now) || (Scope{}).MatchesTags(nil) {
		t.Error("the zero scope matches something")
	}
}

func TestAnd(t *testing.T) {
	for _, c := range []struct{ name, a, b, want string }{
		{"inclusions add up", "tag:a", "tag:b", "tag:a tag:b"},
		{"exclusions add up", "tag:a -tag:x", "tag:a -tag:y", "tag:a -tag:x -tag:y"},
		{"groups stand side by side", "any(a,b)", "any(b,c)", "any(a,b) any(b,c)"},
		{"windows meet", "tag:a created<2026-03-01T00:00:00Z", "tag:a created<2026-02-01T00:00:00Z created>=2026-01-01T00:00:00Z", "tag:a created<2026-02-01T00:00:00Z created>=2026-01-01T00:00:00Z"},
		{"the tighter age counts", "tag:a age<30d", "tag:a age<1d", "tag:a age<1d"},
		{"one age is enough", "tag:a", "tag:a age<1d", "tag:a age<1d"},
		{"part of a group may be excluded", "any(a,b)", "tag:c -tag:a", "tag:c any(a,b) -tag:a"},
		{"other tags prove nothing", "tag:terminal:north", "tag:terminal:south", "tag:terminal:north tag:terminal:south"},
		{"an included tag is excluded", "tag:a", "tag:b -tag:a", ""},
		{"all of a group is excluded", "any(a,b)", "tag:c -tag:a -tag:b", ""},
		{"windows do not meet", "tag:a created<2026-01-01T00:00:00Z", "tag:a created>=2026-01-01T00:00:00Z", ""},
		{"windows of change do not meet", "tag:a updated<2026-01-01T00:00:00Z", "tag:a updated>=2026-01-01T00:00:00Z", ""},
	} {
		for _, p := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			got, err := MustParse(p[0]).And(MustParse(p[1]))
			if got.String() != c.want || (c.want == "") != errors.Is(err, ErrDisjoint) {
				t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
			}
		}
	}
	if _, err := MustParse("tag:a").And(Scope{}); !errors.Is(err, ErrDisjoint) {
		t.Errorf("the zero scope: got %v", err)
	}
	outer := MustParse("tag:a age<30d")
	for text, want := range map[string]bool{"tag:a age<30d": true, "tag:a tag:b age<1d": true, "tag:a": false, "tag:b age<1d": false, "tag:a age<31d": false} {
		if got := MustParse(text).Within(outer); got != want {
			t.Errorf("%s within %s: got %v", text, outer, got)
		}
	}
}

func TestTwin(t *testing.T) {
	const text = "tag:a any(b,c) -tag:d created<2026-02-01T00:00:00Z created>=2026-01-01T00:00:00Z age<30d"
	const want = `{"all":["a"],"any":[["b","c"]],"none":["d"],"created":{"from":"2026-01-01T00:00:00Z","to":"2026-02-01T00:00:00Z"},"newer_than_s":2592000}`
	b, err := json.Marshal(MustParse(text).Twin())
	if err != nil || string(b) != want {
		t.Errorf("got %s, %v, want %s", b, err, want)
	}
	for _, c := range []struct {
		name string
		tw   Twin
	}{
		{"nothing included", Twin{None: []string{"a"}}},
		{"a tag that is none", Twin{All: []string{"a b"}}},
		{"an empty group", Twin{All: []string{"a"}, Any: [][]string{{}}}},
		{"a negative age", Twin{All: []string{"a"}, NewerThan: -1}},
		{"a time that is none", Twin{All: []string{"a"}, Updated: &TwinSpan{From: "2026"}}},
	} {
		if s, err := c.tw.Scope(); !errors.Is(err, ErrScope) {
			t.Errorf("%s: got %q, %v", c.name, s, err)
		}
	}
}

// scopes draws scopes, written loosely, over few tags so that they meet.
func scopes() *rapid.Generator[string] {
	tag := rapid.SampledFrom([]string{"a", "b", "c", "d:e", "f-1"})
	day := rapid.SampledFrom([]string{"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"})
	term := rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 5).Draw(t, "term") {
		case 0:
			return "-tag:" + tag.Draw(t, "tag")
		case 1:
			return "any(" + strings.Join(rapid.SliceOfN(tag, 1, 3).Draw(t, "group"), " , ") + ")"
		case 2:
			return rapid.SampledFrom([]string{"created<", "created>=", "updated<", "updated>="}).Draw(t, "side") + day.Draw(t, "day")
		case 3:
			return fmt.Sprintf("age<%d%s", rapid.IntRange(1, 200).Draw(t, "n"), rapid.SampledFrom([]string{"s", "m", "h", "d", "w"}).Draw(t, "unit"))
		}
		return "tag:" + tag.Draw(t, "tag")
	})
	return rapid.Custom(func(t *rapid.T) string {
		return "tag:" + tag.Draw(t, "first") + "  " + strings.Join(rapid.SliceOfN(term, 0, 5).Draw(t, "terms"), "\t")
	})
}

func TestScopeProperties(t *testing.T) {
	tags := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d:e", "f-1"}), 0, 5)
	hour := rapid.IntRange(0, 72)
	rapid.Check(t, func(t *rapid.T) {
		a, b := MustParse(scopes().Draw(t, "a")), MustParse(scopes().Draw(t, "b"))
		if again, err := ParseCanonical(a.String()); err != nil || !reflect.DeepEqual(again, a) {
			t.Fatalf("printed and read: got %q, %v, want %q", again, err, a)
		}
		if back, err := a.Twin().Scope(); err != nil || !back.Equal(a) {
			t.Fatalf("by its twin: got %q, %v, want %q", back, err, a)
		}
		if rebuilt := a.rebuilt(); !rebuilt.Equal(a) {
			t.Fatalf("from its parts: got %q, want %q", rebuilt, a)
		}
		ts, now := tags.Draw(t, "tags"), clock("2026-01-04T00:00:00Z")
		created := now.Add(-time.Duration(hour.Draw(t, "created")) * time.Hour)
		updated := created.Add(time.Duration(hour.Draw(t, "updated")) * time.Hour)
		both := a.Matches(ts, created, updated, now) && b.Matches(ts, created, updated, now)
		ab, err := a.And(b)
		if ab.Matches(ts, created, updated, now) != both || err != nil && both {
			t.Fatalf("%q and %q is %q, %v; both match: %v", a, b, ab, err, both)
		}
		if err == nil && (!ab.Within(a) || !ab.Within(b)) {
			t.Fatalf("%q is not within %q and %q", ab, a, b)
		}
	})
}

// rebuilt makes the scope from what its accessors tell.
func (s Scope) rebuilt() Scope {
	var words []string
	for _, t := range s.All() {
		words = append(words, "tag:"+t)
	}
	for _, g := range s.Any() {
		words = append(words, anyTerm(g))
	}
	for _, t := range s.None() {
		words = append(words, "-tag:"+t)
	}
	words = append(words, s.Created().words("created")...)
	words = append(words, s.Updated().words("updated")...)
	if n, unit := age(s.NewerThan()); n > 0 {
		words = append(words, fmt.Sprintf("age<%d%c", n, unit))
	}
	slices.Reverse(words)
	return MustParse(strings.Join(words, " "))
}

func FuzzScope(f *testing.F) {
	for _, s := range []string{"tag:terminal:north -tag:customs:hold age<30d", "any(a, b) created<2026-01-01T00:00:00Z", "age<2w tag:a", "any(", "tag:", "-tag:a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := ParseCanonical(s.String())
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%q: got %q, %v, want %q", text, again, err, s)
		}
		if back, err := s.Twin().Scope(); err != nil || !back.Equal(s) {
			t.Errorf("%q: twin gives %q, %v", text, back, err)
		}
		s.Matches(s.All(), time.Unix(0, 0), time.Unix(0, 0), time.Unix(1, 0))
	})
}
