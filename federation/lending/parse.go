package lending

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"trustnode/did/envelope"
)

// timeLayout is the one spelling of a time: UTC, whole seconds.
const timeLayout = "2006-01-02T15:04:05Z"

// Units of an age term in seconds. Canonical text uses the largest of d, h, m
// and s that divides; w is for typing alone.
var ageUnits = []struct {
	unit byte
	s    int64
}{{'w', 604800}, {'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}

// Parse reads a scope as people type it: terms in any order, repeated, with
// spaces where they like, ages in any unit. What it returns prints in canonical
// form. Errors wrap ErrScope.
//
//	scope = term *(SP term)     ; 1..16 terms, ≤ 512 bytes, at least one "tag:" or "any("
//	term  = "tag:" tag / "any(" tag 1*15("," tag) ")" / "-tag:" tag
//	      / ("created" / "updated") (">=" / "<") time / "age<" 1*6DIGIT ("s" / "m" / "h" / "d" / "w")
func Parse(text string) (Scope, error) {
	if len(text) > MaxScopeBytes {
		return Scope{}, fmt.Errorf("%w: %d bytes, at most %d", ErrScope, len(text), MaxScopeBytes)
	}
	var t terms
	words, err := split(text)
	if err != nil {
		return Scope{}, err
	}
	for _, w := range words {
		if err := t.add(w); err != nil {
			return Scope{}, err
		}
	}
	t.sort()
	return t.checked()
}

// ParseCanonical reads a scope as signed bodies carry it. A scope spelled in
// another way gives ErrNotCanonical.
func ParseCanonical(text string) (Scope, error) {
	s, err := Parse(text)
	if err != nil {
		return Scope{}, err
	}
	if s.text != text {
		return Scope{}, fmt.Errorf("%w: want %q", ErrNotCanonical, s.text)
	}
	return s, nil
}

// MustParse is Parse for constants of a program; it panics on an error.
func MustParse(text string) Scope {
	s, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

// checked holds sorted terms to the limits of the language.
func (t terms) checked() (Scope, error) {
	s := t.scope()
	if len(t.all)+len(t.any) == 0 {
		return Scope{}, fmt.Errorf(`%w: nothing is included, at least one "tag:" or "any(" is needed`, ErrScope)
	}
	if n := len(t.words()); n > MaxTerms {
		return Scope{}, fmt.Errorf("%w: %d terms, at most %d", ErrScope, n, MaxTerms)
	}
	if len(s.text) > MaxScopeBytes {
		return Scope{}, fmt.Errorf("%w: %d bytes, at most %d", ErrScope, len(s.text), MaxScopeBytes)
	}
	return s, nil
}

// split cuts a text into terms at white space outside parentheses.
func split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	open := false
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	for _, c := range []byte(text) {
		space := c == ' ' || c == '\t' || c == '\n' || c == '\r'
		switch {
		case space && !open:
			flush()
		default:
			open = (open || c == '(') && c != ')'
			word.WriteByte(c)
		}
	}
	if flush(); open {
		return nil, fmt.Errorf("%w: a parenthesis is not closed", ErrScope)
	}
	return words, nil
}

// add takes one term.
func (t *terms) add(word string) error {
	if tag, ok := strings.CutPrefix(word, "tag:"); ok {
		t.all = append(t.all, tag)
		return CheckTag(tag)
	}
	if tag, ok := strings.CutPrefix(word, "-tag:"); ok {
		t.none = append(t.none, tag)
		return CheckTag(tag)
	}
	if list, ok := strings.CutPrefix(word, "any("); ok {
		return t.addAny(list)
	}
	if age, ok := strings.CutPrefix(word, "age<"); ok {
		s, err := parseAge(age)
		t.newer = tighter(t.newer, s)
		return err
	}
	return t.addTime(word)
}

// addAny takes the members of an any() term up to the closing parenthesis.
func (t *terms) addAny(list string) error {
	list, ok := strings.CutSuffix(list, ")")
	if !ok {
		return fmt.Errorf(`%w: "any(" without ")" at its end`, ErrScope)
	}
	group := strings.Split(list, ",")
	for i, tag := range group {
		group[i] = strings.Trim(tag, " \t\r\n")
		if err := CheckTag(group[i]); err != nil {
			return err
		}
	}
	if len(group) > MaxAny {
		return fmt.Errorf("%w: any() of %d tags, at most %d", ErrScope, len(group), MaxAny)
	}
	t.any = append(t.any, group)
	return nil
}

// addTime takes a created or updated term.
func (t *terms) addTime(word string) error {
	for _, x := range []struct {
		name string
		w    *Window
	}{{"created", &t.created}, {"updated", &t.updated}} {
		rest, ok := strings.CutPrefix(word, x.name)
		if !ok {
			continue
		}
		if text, ok := strings.CutPrefix(rest, ">="); ok {
			at, err := parseTime(text)
			*x.w = x.w.and(Window{From: at})
			return err
		}
		if text, ok := strings.CutPrefix(rest, "<"); ok {
			at, err := parseTime(text)
			*x.w = x.w.and(Window{To: at})
			return err
		}
	}
	return fmt.Errorf("%w: unknown term %q", ErrScope, word)
}

// CheckTag reports whether a text is a tag: 1..64 bytes of a-z 0-9 : _ - . /
func CheckTag(tag string) error {
	if tag == "" || len(tag) > MaxTag {
		return fmt.Errorf("%w: tag of %d bytes, 1 to %d are allowed", ErrScope, len(tag), MaxTag)
	}
	for _, c := range []byte(tag) {
		if !tagByte(c) {
			return fmt.Errorf("%w: tag %q holds a character other than a-z 0-9 : _ - . /", ErrScope, tag)
		}
	}
	return nil
}

func tagByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == ':' || c == '_' || c == '-' || c == '.' || c == '/'
}

// parseTime reads the one spelling of a time.
func parseTime(text string) (time.Time, error) {
	at, err := envelope.ParseTime(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %q is no time like 2026-12-01T10:00:00Z", ErrScope, text)
	}
	return at.Time(), nil
}

// parseAge reads 1..6 digits and a unit, and returns seconds.
func parseAge(text string) (int64, error) {
	bad := fmt.Errorf("%w: %q is no age like 30d", ErrScope, text)
	if len(text) < 2 || len(text) > 7 {
		return 0, bad
	}
	digits, unit := text[:len(text)-1], text[len(text)-1]
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n == 0 {
		return 0, bad
	}
	for _, u := range ageUnits {
		if u.unit == unit {
			return int64(n) * u.s, checkAge(int64(n) * u.s)
		}
	}
	return 0, bad
}

// checkAge reports whether an age has a canonical spelling of six digits.
func checkAge(s int64) error {
	if n, unit := age(s); s < 1 || n > maxAge {
		return fmt.Errorf("%w: age of %d%c, 1 to %d are allowed", ErrScope, n, unit, maxAge)
	}
	return nil
}

// age splits seconds into a number and the largest of d, h, m, s that divides.
func age(s int64) (int64, byte) {
	for _, u := range ageUnits[1:] {
		if s%u.s == 0 {
			return s / u.s, u.unit
		}
	}
	return s, 's'
}

// words prints sorted terms in the order of the grammar.
func (t terms) words() []string {
	var out []string
	for _, tag := range t.all {
		out = append(out, "tag:"+tag)
	}
	for _, g := range t.any {
		out = append(out, anyTerm(g))
	}
	for _, tag := range t.none {
		out = append(out, "-tag:"+tag)
	}
	out = append(out, t.created.words("created")...)
	out = append(out, t.updated.words("updated")...)
	if t.newer > 0 {
		n, unit := age(t.newer)
		out = append(out, fmt.Sprintf("age<%d%c", n, unit))
	}
	return out
}

// words prints the sides of a window; "<" sorts before ">=".
func (w Window) words(name string) []string {
	var out []string
	if !w.To.IsZero() {
		out = append(out, name+"<"+w.To.Format(timeLayout))
	}
	if !w.From.IsZero() {
		out = append(out, name+">="+w.From.Format(timeLayout))
	}
	return out
}

func anyTerm(group []string) string { return "any(" + strings.Join(group, ",") + ")" }

// Twin is the JSON form of a scope for programs; absent members are empty.
// Signed bodies carry the text.
type Twin struct {
	All       []string   `json:"all,omitempty"`
	Any       [][]string `json:"any,omitempty"`
	None      []string   `json:"none,omitempty"`
	Created   *TwinSpan  `json:"created,omitempty"`
	Updated   *TwinSpan  `json:"updated,omitempty"`
	NewerThan int64      `json:"newer_than_s,omitempty"` // seconds
}

// TwinSpan is a Window in a Twin, its times as in scope text.
type TwinSpan struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Twin returns the JSON form of s.
func (s Scope) Twin() Twin {
	return Twin{All: s.All(), Any: s.Any(), None: s.None(), NewerThan: s.t.newer,
		Created: s.t.created.twin(), Updated: s.t.updated.twin()}
}

func (w Window) twin() *TwinSpan {
	if w.IsZero() {
		return nil
	}
	var out TwinSpan
	if !w.From.IsZero() {
		out.From = w.From.Format(timeLayout)
	}
	if !w.To.IsZero() {
		out.To = w.To.Format(timeLayout)
	}
	return &out
}

// Scope makes the scope a twin stands for, under the rules and limits of
// Parse.
func (tw Twin) Scope() (Scope, error) {
	var t terms
	for _, tag := range slices.Concat(tw.All, tw.None, slices.Concat(tw.Any...)) {
		if err := CheckTag(tag); err != nil {
			return Scope{}, err
		}
	}
	t.all, t.none = slices.Clone(tw.All), slices.Clone(tw.None)
	for _, g := range tw.Any {
		if len(g) == 0 || len(g) > MaxAny {
			return Scope{}, fmt.Errorf("%w: any() of %d tags, 1 to %d are allowed", ErrScope, len(g), MaxAny)
		}
		t.any = append(t.any, slices.Clone(g))
	}
	if err := tw.times(&t); err != nil {
		return Scope{}, err
	}
	t.sort()
	return t.checked()
}

func (tw Twin) times(t *terms) (err error) {
	if t.newer = tw.NewerThan; t.newer != 0 {
		if err := checkAge(t.newer); err != nil {
			return err
		}
	}
	if t.created, err = tw.Created.window(); err != nil {
		return err
	}
	t.updated, err = tw.Updated.window()
	return err
}

func (s *TwinSpan) window() (w Window, err error) {
	if s == nil {
		return Window{}, nil
	}
	if s.From != "" {
		if w.From, err = parseTime(s.From); err != nil {
			return Window{}, err
		}
	}
	if s.To != "" {
		if w.To, err = parseTime(s.To); err != nil {
			return Window{}, err
		}
	}
	return w, nil
}
