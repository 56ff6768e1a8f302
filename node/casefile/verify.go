package casefile

import (
	"bytes"
	"context"
	"path/filepath"

	"trustnode/did/envelope"
)

func name(o Options) string {
	if o.Name == "" {
		return "(unnamed)"
	}
	return filepath.Base(o.Name)
}

// verifyBytes verifies a file that says it is one of a case.
func verifyBytes(ctx context.Context, b []byte, o Options) Report {
	var r Report
	r.add("file", "%s  %d lines  %s bytes  %s", name(o), bytes.Count(b, []byte("\n")), thousands(len(b)), envelope.IDOf(b))
	return verifyCase(ctx, r, b, o)
}

func verifyCase(ctx context.Context, r Report, b []byte, o Options) Report {
	s, c, w, err := Open(ctx, b, o)
	if err != nil {
		return broken(r, o, err)
	}
	r.Lines = append(r.Lines, s.Words(c, w)...)
	r.OK = true
	r.add("result", "verifies (%s)%s", count(r.claims(), "claim"), s.caveat())
	return r
}

func (r Report) claims() (n int) {
	for _, l := range r.Lines {
		if l.Kind == "claim" {
			n++
		}
	}
	return n
}

// caveat says what trust rests on where no fingerprint was given.
func (s Set) caveat() string {
	if s.Vouched != "" {
		return ""
	}
	return " against the genesis in this file only, compare " + fingerprint(s)
}

// count writes a number with its noun; "one|many" names both forms.
func count(n int, noun string) string {
	one, many := noun, noun+"s"
	if i := bytes.IndexByte([]byte(noun), '|'); i >= 0 {
		one, many = noun[:i], noun[i+1:]
	}
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}
