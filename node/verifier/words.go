package verifier

import (
	"strings"

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

func idOf(b []byte) string { return envelope.IDOf(b).String() }

// quote shows foreign text on one line.
func quote(s string) string { return casefile.Quote(s, maxText) }

// list joins texts: "a, b and c".
func list(all []string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
}
