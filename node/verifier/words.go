package verifier

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/node/casefile"
)

// short is how a report names an organization: the domain and path of a did:webvh, unless
// two DIDs go by it in these files; any other DID in full.
func (s *session) short(d did.DID) string {
	name := short(d)
	if len(s.called[name]) > 1 {
		return d.String()
	}
	return name
}

// call takes note of the DIDs that lines are of.
func (s *session) call(lines []casefile.Numbered) {
	for _, l := range lines {
		if d := orgOf(l.Line); !d.IsZero() {
			if s.called[short(d)] == nil {
				s.called[short(d)] = map[did.DID]bool{}
			}
			s.called[short(d)][d] = true
		}
	}
}

// short is the domain and path of a did:webvh, which need not be its alone.
func short(d did.DID) string {
	if d.Method() != didwebvh.Method {
		return d.String()
	}
	if _, domain, ok := strings.Cut(d.ID(), ":"); ok {
		return domain
	}
	return d.String()
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func idOf(b []byte) string { return envelope.IDOf(b).String() }

// secrets are what this project's secrets begin with: the token of an operator, that of an agent, and recovery keys.
// The dashes of a recovery key may be left out.
var secrets = []string{"tno_", "tn1_", "rec1"}

// secretive tells a text that may hold a secret. A report is read by others than whoever holds the file.
func secretive(s string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(secrets, func(mark string) bool { return strings.Contains(s, mark) })
}

// quote shows foreign text on one line, cut where it is long, and nothing of one that may hold a secret.
func quote(s string) string {
	if secretive(s) {
		return "(a text that looks like a secret)"
	}
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return strconv.Quote(s)
}

// thousands writes a number with separators.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count writes a number with its noun; "one|many" names both forms.
func count(n int, noun string) string {
	one, many, ok := strings.Cut(noun, "|")
	if !ok {
		many = noun + "s"
	}
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

// list joins texts: "a, b and c".
func list(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}
