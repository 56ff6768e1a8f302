package verifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"trustnode/did/pins"
	"trustnode/node/casefile"
)

// Outcome is what became of a file. Values are printed: never reuse one.
type Outcome string

// The outcomes. Verifies alone is a success.
const (
	Verifies    Outcome = "verifies"
	Pending     Outcome = "pending"     // nothing is false; something that is not here could decide
	Unproven    Outcome = "unproven"    // such a file proves nothing by itself
	Unsupported Outcome = "unsupported" // other rules govern it, nothing was decided
	Broken      Outcome = "broken"      // it is false, or no file that is known
)

// Options say how a file is looked at.
type Options struct {
	Name        string    // of the file, to be shown; nothing is read from it
	Fingerprint string    // fed1-… of the federation or org1-… of the organization it must be of; "" for none
	Strict      bool      // refuse what only the file itself vouches for
	Now         time.Time // the clock; must be set
	At          time.Time // when objects are to hold; zero: Now, and for a case the newest statement in it
	With        []Material
	Witnesses   int       // organizations that must have cosigned each event a proof is about, or each entry, beside its own; 0 asks for none
	Pins        pins.Pins // what was seen before, with which the file has to agree; nil: nothing was

	// Witness gives the did-witness.json of the file, nil if there is none. It is called at
	// most once, and for a DID log alone. nil: there is none.
	Witness func() ([]byte, error)
}

// Material is a file that is taken along: a DID log, a bundle, a signed object, or the
// did.json of a did:web, whose keys nothing but the caller vouches for.
type Material struct {
	Name    string
	Bytes   []byte
	Witness []byte // of a DID log; nil if there is none
}

// Report is what a file proves, in plain sentences made from its bytes and the material.
// Kinds of lines are file, trust, ok, claim, unsaid, then what kept it from verifying
// (pending, unproven, unsupported, broken) with a hint, and result.
type Report struct {
	Hint    string          `json:"hint,omitempty"`
	Kind    Kind            `json:"kind,omitempty"` // "" where the bytes are of no known kind
	Lines   []casefile.Line `json:"lines"`
	Name    string          `json:"name"`
	OK      bool            `json:"ok"`
	Outcome Outcome         `json:"outcome"`
	Why     string          `json:"why,omitempty"` // why it does not verify; "" if OK
}

// refusal is why a file, or a line of it, does not verify.
type refusal struct {
	outcome Outcome
	line    int // of a bundle, from 1; 0 the file as a whole; below 0 a line of the material
	what    string
	hint    string
}

// Error names the line.
func (r *refusal) Error() string {
	if r.line > 0 {
		return fmt.Sprintf("line %d: %s", r.line, r.what)
	}
	return r.what
}

func broken(format string, args ...any) *refusal {
	return &refusal{outcome: Broken, what: fmt.Sprintf(format, args...)}
}

func pending(format string, args ...any) *refusal {
	return &refusal{outcome: Pending, what: fmt.Sprintf(format, args...)}
}

func (r *refusal) at(line int) *refusal { r.line = line; return r }

func (r *refusal) hinted(format string, args ...any) *refusal {
	r.hint = fmt.Sprintf(format, args...)
	return r
}

// Verify reads a file and says what it proves. It never fails: what does not verify is in
// the report. ctx ends it early. Nothing is read but r, the options, and what Witness reads.
func Verify(ctx context.Context, r io.Reader, o Options) Report {
	s := newSession(ctx, o)
	if o.Now.IsZero() {
		return s.finish(broken("no time is given to judge at"))
	}
	kind, b, err := read(r)
	if err != nil {
		s.line("file", "%s", s.name)
		return s.finish(err)
	}
	s.report.Kind = kind
	if kind == KindCase {
		return s.caseFile(b)
	}
	s.line("file", "%s  %s  %s bytes  %s", s.name, kind.words(), casefile.Thousands(len(b)), idOf(b))
	if err := s.material(); err != nil {
		return s.finish(err)
	}
	if err := s.judge(kind, b); err != nil {
		return s.finish(err)
	}
	return s.finish(s.vouch())
}

// caseFile leaves the file of a case to its own package.
func (s *session) caseFile(b []byte) Report {
	c := casefile.Verify(s.ctx, strings.NewReader(string(b)), casefile.Options{Name: s.o.Name, Fingerprint: s.o.Fingerprint, Known: s.pinned, Witnesses: s.o.Witnesses, Strict: s.o.Strict, AsOf: s.o.At})
	out := s.report
	out.Lines, out.OK, out.Why, out.Outcome = c.Lines, c.OK, c.Broken, Verifies
	if !c.OK {
		out.Outcome = Broken
	}
	return out
}

// lineOrder is the order of the kinds of lines in a report.
var lineOrder = []string{"file", "trust", "ok", "claim", "unsaid", "pending", "unproven", "unsupported", "broken", "hint", "result"}

func (s *session) line(kind, format string, args ...any) {
	s.report.Lines = append(s.report.Lines, casefile.Line{Kind: kind, Text: casefile.OneLine(fmt.Sprintf(format, args...))})
}

// finish puts the lines in order and says the outcome.
func (s *session) finish(err error) Report {
	all := s.waits
	var r *refusal
	switch {
	case errors.As(err, &r):
		all = []*refusal{r}
	case err != nil:
		all = []*refusal{broken("%v", err)}
	}
	out := &s.report
	out.OK, out.Outcome = len(all) == 0, Verifies
	for i, r := range all {
		s.line(string(r.outcome), "%s", r)
		if r.hint != "" && (i == 0 || r.hint != all[i-1].hint) {
			s.line("hint", "%s", r.hint)
		}
	}
	if len(all) > 0 {
		out.Outcome, out.Why, out.Hint = all[0].outcome, casefile.OneLine(all[0].Error()), casefile.OneLine(all[0].hint)
	}
	s.result(all)
	slices.SortStableFunc(out.Lines, func(a, b casefile.Line) int {
		return cmp.Compare(slices.Index(lineOrder, a.Kind), slices.Index(lineOrder, b.Kind))
	})
	return *out
}

func (s *session) result(all []*refusal) {
	switch s.report.Outcome {
	case Verifies:
		s.line("result", "verifies (%s)%s", casefile.Count(s.claims(), "claim"), s.caveat())
	case Pending:
		s.line("result", "pending: %s for what is not here", casefile.Count(len(all), "thing waits|things wait"))
	case Unproven:
		s.line("result", "proves nothing by itself")
	case Unsupported:
		s.line("result", "undecided: it is governed by rules that are not kept here")
	default:
		s.line("result", "does not verify")
	}
}

func (s *session) claims() (n int) {
	for _, l := range s.report.Lines {
		if l.Kind == "claim" {
			n++
		}
	}
	return n
}

func base(name string) string { return filepath.Base(named(name)) }

// named is a file as it is shown: as the caller names it.
func named(name string) string { return cmp.Or(name, "(unnamed)") }
