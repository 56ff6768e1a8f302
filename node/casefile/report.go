package casefile

import (
	"context"
	"fmt"
	"io"
	"time"

	"trustnode/mediation"
)

// Options say how a file is looked at.
type Options struct {
	Name        string    // of the file, to be shown; nothing is read from it
	Fingerprint string    // fed1-… the federation must have; "" trusts the file's own genesis
	Known       Known     // what was seen before, and has to agree; it vouches for a genesis as a fingerprint does
	Witnesses   int       // organizations that must have cosigned each entry, beside its own; 0 asks for none
	Strict      bool      // refuse a file that only its own genesis vouches for
	AsOf        time.Time // when the case is looked at; zero: the newest statement in the file
}

// Line is one line of a report. Kind is one of file, trust, ok, claim, unsaid, result,
// and broken in a file that does not verify. Text is one line, whatever the texts in the file hold.
type Line struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Report is what a file proves, in plain sentences made from its data alone.
type Report struct {
	Broken string `json:"broken,omitempty"` // what does not verify, with its line; "" if OK
	Lines  []Line `json:"lines"`
	OK     bool   `json:"ok"`
}

func (r *Report) add(kind, format string, args ...any) {
	r.Lines = append(r.Lines, Line{kind, OneLine(fmt.Sprintf(format, args...))})
}

// Fault says what of a file does not verify. Line counts from 1; 0 is the file as a whole.
type Fault struct {
	Line int
	What string

	// Pending says that nothing was found false: what is missing could decide it. A case
	// file that is pending does not verify.
	Pending bool
}

// Error names the line.
func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.What
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.What)
}

func fault(line int, format string, args ...any) error {
	return &Fault{Line: line, What: fmt.Sprintf(format, args...)}
}

func pending(line int, format string, args ...any) error {
	return &Fault{Line: line, What: fmt.Sprintf(format, args...), Pending: true}
}

// Verify reads a file and says what it proves. It never fails: what does not verify is
// in the report. Other files are for node/verifier.
func Verify(ctx context.Context, r io.Reader, o Options) Report {
	b, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return broken(Report{}, o, fault(0, "the file cannot be read: %v", err))
	}
	if len(b) > MaxFile {
		return broken(Report{}, o, fault(0, "the file is longer than %d bytes", MaxFile))
	}
	return verifyBytes(ctx, b, o)
}

// broken ends the report of a file that does not verify.
func broken(r Report, o Options, err error) Report {
	if len(r.Lines) == 0 {
		r.add("file", "%s", name(o))
	}
	r.Broken = OneLine(err.Error())
	r.add("broken", "%s", r.Broken)
	r.add("result", "does not verify")
	return r
}

// Open verifies the bytes of a case file and folds the case in it, with the finding on
// each exhibit and claim. Errors are *Fault, and those of ctx.
func Open(ctx context.Context, b []byte, o Options) (Set, mediation.Case, mediation.Report, error) {
	s, err := open(ctx, b, o)
	if err != nil {
		return Set{}, mediation.Case{}, mediation.Report{}, err
	}
	s.asOf = s.Newest.Time()
	if !o.AsOf.IsZero() {
		s.asOf = o.AsOf
	}
	c, r := s.fold()
	if c.State == "" {
		return Set{}, mediation.Case{}, mediation.Report{}, fault(1, "no dispute in the file has the id %s", s.Case)
	}
	return s, c, r, nil
}
