package verifier

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/charter"
	"trustnode/node/casefile"
)

// short is how a report names an organization.
func (s *session) short(d did.DID) string { return s.names.Short(d) }

// call takes note of the organizations that lines are of, and of those that charters name.
func (s *session) call(lines []casefile.Numbered) {
	for _, l := range lines {
		if d := orgOf(l.Line); !d.IsZero() {
			s.names.Add(d)
		}
		e, ok := asEnvelope(l.Line)
		if !ok || e.Type != charter.Type {
			continue
		}
		if b, err := envelope.Decode[charter.Body](e); err == nil {
			for _, m := range b.Members {
				s.names.Add(m.DID)
			}
		}
	}
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
