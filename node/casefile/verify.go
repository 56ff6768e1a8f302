package casefile

import (
	"bytes"
	"cmp"
	"context"

	"trustnode/did/envelope"
)

func name(o Options) string { return cmp.Or(o.Name, "(unnamed)") }

// verifyBytes verifies a file that says it is one of a case.
func verifyBytes(ctx context.Context, b []byte, o Options) Report {
	var r Report
	r.add("file", "%s  %d lines  %s bytes  %s", name(o), bytes.Count(b, []byte("\n")), Thousands(len(b)), envelope.IDOf(b))
	s, c, w, err := Open(ctx, b, o)
	if err != nil {
		return broken(r, o, err)
	}
	r.Lines = append(r.Lines, s.Words(c, w)...)
	r.OK = true
	r.add("result", "verifies (%s)%s", Count(r.claims(), "claim"), s.caveat())
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
