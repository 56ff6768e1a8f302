package lending

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Errors of the scope language. A wrapping error names the term at fault.
var (
	// ErrScope is wrapped by every refusal of a scope text: it does not follow
	// the grammar, or exceeds its limits.
	ErrScope = errors.New("invalid scope")
	// ErrNotCanonical means the text is a scope, but not spelled in the one way
	// that signed bodies take.
	ErrNotCanonical = errors.New("scope is not in canonical form")
	// ErrDisjoint means that two scopes have provably nothing in common,
	// whatever entries there are.
	ErrDisjoint = errors.New("scopes have nothing in common")
)

// Scope is a query over entries (scope language, version 1): tags that an
// entry must have, groups of which it must have one, tags it must not have,
// and windows of time. The zero Scope matches nothing and prints as "".
// A Scope is immutable and safe for concurrent use.
type Scope struct {
	text string
	t    terms
}

// terms holds the parts of a scope in canonical order. The slices are never
// written after the scope was made.
type terms struct {
	all     []string
	any     [][]string
	none    []string
	created Window
	updated Window
	newer   int64 // seconds; zero: no such term
}

// Window is a half-open span of time in whole seconds UTC: From ≤ t < To. A
// zero From or To leaves that side open.
type Window struct{ From, To time.Time }

// IsZero reports whether both sides are open.
func (w Window) IsZero() bool { return w.From.IsZero() && w.To.IsZero() }

// Contains reports whether t lies in the window.
func (w Window) Contains(t time.Time) bool {
	return (w.From.IsZero() || !t.Before(w.From)) && (w.To.IsZero() || t.Before(w.To))
}

// and is the intersection of two windows; it may be empty.
func (w Window) and(o Window) Window {
	if o.From.After(w.From) {
		w.From = o.From
	}
	if !o.To.IsZero() && (w.To.IsZero() || o.To.Before(w.To)) {
		w.To = o.To
	}
	return w
}

// empty reports whether no time lies in the window.
func (w Window) empty() bool {
	return !w.From.IsZero() && !w.To.IsZero() && !w.From.Before(w.To)
}

// String returns the canonical text; Parse of it gives the same scope.
func (s Scope) String() string { return s.text }

// IsZero reports whether s is the zero Scope, which matches nothing.
func (s Scope) IsZero() bool { return s.text == "" }

// Equal reports whether two scopes have the same canonical text.
func (s Scope) Equal(o Scope) bool { return s.text == o.text }

// MarshalText returns the canonical text.
func (s Scope) MarshalText() ([]byte, error) {
	if s.IsZero() {
		return nil, fmt.Errorf("%w: empty", ErrScope)
	}
	return []byte(s.text), nil
}

// UnmarshalText takes canonical text alone, as ParseCanonical does.
func (s *Scope) UnmarshalText(b []byte) error {
	got, err := ParseCanonical(string(b))
	if err != nil {
		return err
	}
	*s = got
	return nil
}

// All returns the tags an entry must have, sorted.
func (s Scope) All() []string { return slices.Clone(s.t.all) }

// Any returns the groups of 2..16 tags of each of which an entry must have at
// least one; groups and members are sorted.
func (s Scope) Any() [][]string {
	out := make([][]string, 0, len(s.t.any))
	for _, g := range s.t.any {
		out = append(out, slices.Clone(g))
	}
	return out
}

// None returns the tags an entry must not have, sorted. They win over all
// others.
func (s Scope) None() []string { return slices.Clone(s.t.none) }

// Created returns the window for the time of ingestion; the age term, which
// moves with the clock, is not in it.
func (s Scope) Created() Window { return s.t.created }

// Updated returns the window for the time of the last change of metadata.
func (s Scope) Updated() Window { return s.t.updated }

// NewerThan returns the age term in seconds: an entry's creation lies no
// further back than that. Zero means there is no such term.
func (s Scope) NewerThan() int64 { return s.t.newer }

// AgeFrom returns the earliest creation time that the age term lets through
// at now, in whole seconds and never before 1970, and false where the scope has
// no such term.
func (s Scope) AgeFrom(now time.Time) (time.Time, bool) {
	if s.t.newer == 0 {
		return time.Time{}, false
	}
	return time.Unix(max(now.Unix()-s.t.newer, 0), 0).UTC(), true
}

// Matches reports whether an entry with these tags and times is in scope at
// now. The tags need no order. It says nothing of the entry's place or state,
// which are decided before.
func (s Scope) Matches(tags []string, created, updated, now time.Time) bool {
	if s.IsZero() || !s.MatchesTags(tags) {
		return false
	}
	if from, ok := s.AgeFrom(now); ok && created.Before(from) {
		return false
	}
	return s.t.created.Contains(created) && s.t.updated.Contains(updated)
}

// MatchesTags reports whether an entry with these tags passes the terms about
// tags; the zero Scope passes none.
func (s Scope) MatchesTags(tags []string) bool {
	has := func(t string) bool { return slices.Contains(tags, t) }
	if s.IsZero() || slices.ContainsFunc(s.t.none, has) {
		return false
	}
	for _, t := range s.t.all {
		if !has(t) {
			return false
		}
	}
	for _, g := range s.t.any {
		if !slices.ContainsFunc(g, has) {
			return false
		}
	}
	return true
}

// And returns the scope that matches what both match. It fails with
// ErrDisjoint where the two texts alone prove that nothing can match both, so
// that two signed texts prove an attempt; that no entry matches today is no
// such proof. The result may be up to twice as long as a scope in a signed body
// may be; use Parse on its text to hold it to the limits.
func (s Scope) And(f Scope) (Scope, error) {
	if s.IsZero() || f.IsZero() {
		return Scope{}, ErrDisjoint
	}
	t := terms{
		all:     append(s.All(), f.t.all...),
		any:     append(s.Any(), f.Any()...),
		none:    append(s.None(), f.t.none...),
		created: s.t.created.and(f.t.created),
		updated: s.t.updated.and(f.t.updated),
		newer:   tighter(s.t.newer, f.t.newer),
	}
	t.sort()
	if t.contradicts() {
		return Scope{}, ErrDisjoint
	}
	return t.scope(), nil
}

// Within reports whether s is written as an intersection of outer with
// something: it then matches nothing that outer does not.
func (s Scope) Within(outer Scope) bool {
	both, err := outer.And(s)
	return err == nil && both.Equal(s)
}

// tighter returns the smaller of two ages, zero meaning none.
func tighter(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// contradicts reports whether the text alone shows that nothing matches.
func (t terms) contradicts() bool {
	out := func(tag string) bool { return slices.Contains(t.none, tag) }
	if t.created.empty() || t.updated.empty() || slices.ContainsFunc(t.all, out) {
		return true
	}
	for _, g := range t.any {
		if !slices.ContainsFunc(g, func(tag string) bool { return !out(tag) }) {
			return true
		}
	}
	return false
}

// sort brings terms and members into canonical order and drops repetitions.
func (t *terms) sort() {
	set := func(s []string) []string { slices.Sort(s); return slices.Compact(s) }
	var groups [][]string
	for _, g := range t.any {
		if g = set(g); len(g) == 1 {
			t.all = append(t.all, g[0])
			continue
		}
		groups = append(groups, g)
	}
	t.all, t.none = set(t.all), set(t.none)
	byText := func(a, b []string) int { return strings.Compare(anyTerm(a), anyTerm(b)) }
	slices.SortFunc(groups, byText)
	t.any = slices.CompactFunc(groups, slices.Equal)
}

// scope makes the Scope of sorted terms.
func (t terms) scope() Scope { return Scope{text: strings.Join(t.words(), " "), t: t} }

// WithoutExclusions returns s without its exclusions: what they take out is what it
// matches and s does not.
func (s Scope) WithoutExclusions() Scope {
	t := s.t
	t.none = nil
	return t.scope()
}
