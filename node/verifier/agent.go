package verifier

import (
	"errors"
	"fmt"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/casefile"
)

// agentLine verifies an agent object that no event here names: at the head of its
// organization's DID.
func (s *session) agentLine(n int, e envelope.Envelope) error {
	a, err := envelope.Decode[keyring.Agent](e)
	if err != nil {
		return broken("agent object: %v", err).at(n)
	}
	what := "agent object " + e.ID().String()
	if len(e.Signatures) == 0 {
		return pending("%s is a draft: nobody has signed it yet, and it grants nothing", what).at(n).
			hinted("the holder of %s signs it: trustnode agent request --key-dir DIR FILE -o REQUEST; then %s does: trustnode agent add %s --request REQUEST, with the words that made the draft", a.Key.Kid, s.short(a.Org), a.Name)
	}
	if _, err := keyring.OpenRequest(e); err == nil {
		return pending("%s is a request: the agent's own key signed it, %s did not", what, s.short(a.Org)).at(n).
			hinted("the organization countersigns it: trustnode agent add %s --request FILE", a.Name)
	}
	var v envelope.Verified[keyring.Agent]
	err = s.stands(signature{line: n, what: what, org: a.Org, kid: a.Kid, version: a.DIDVersion}, func(src envelope.KeySource) (err error) {
		v, err = keyring.OpenAgent(s.ctx, e, src)
		return err
	})
	if err != nil {
		return err
	}
	s.agents = append(s.agents, v)
	if n < 0 {
		return nil
	}
	s.line("ok", "%s signed by %s under key %s%s, and by the agent's own key", what, s.short(a.Org), a.Kid, ofVersion(a.DIDVersion))
	s.agentClaim(a)
	return nil
}

func ofVersion(v string) string {
	if v == "" {
		return ""
	}
	return " of version " + v
}

// anchored says what the log of the file proves of agent objects.
func (s *session) anchored() {
	for _, a := range s.evidence.Agents() {
		s.agents = append(s.agents, a.Verified)
		if a.N < 0 {
			continue
		}
		b := a.Body()
		if index, ok := s.evidence.Tainted(b.Org, a.Issued); ok {
			s.wait(pending("agent object %s is disputed: it was issued at index %d, and the key.rotated at index %d says that the key was not safe then", a.ID(), a.Issued, index).at(a.N).
				hinted("only what others cosigned before they learned of it stands: a case file shows that"))
		}
		s.line("ok", "agent object %s signed by %s and by the agent's own key, issued at index %d of its log", a.ID(), s.short(b.Org), a.Issued)
		s.agentClaim(b)
	}
}

// agentClaim says what an agent object says.
func (s *session) agentClaim(a keyring.Agent) {
	var can, unknown []string
	for _, c := range a.Capabilities {
		if c.Known() {
			can = append(can, string(c))
		} else {
			unknown = append(unknown, string(c))
		}
	}
	may := "may do nothing that is known here"
	if len(can) > 0 {
		may = "may " + list(can)
	}
	s.line("claim", "%s %s (%s) acts for %s from %s until %s and %s; serial %d", a.Kind, a.Name, a.Agent, s.short(a.Org), a.NotBefore, a.NotAfter, may, a.Serial)
	if len(unknown) > 0 {
		s.line("unsaid", "what %s means for %s: it is not known here and grants nothing", list(unknown), a.Name)
	}
	if index, ok := s.revoked(a); ok {
		s.line("claim", "%s revoked agent %s, serial %d, at index %d of its log", s.short(a.Org), a.Name, a.Serial, index)
	}
	if err := a.LiveError(s.at); err != nil && s.report.Kind == KindBundle {
		s.line("claim", "%s", s.lifeWords(a, err))
	}
}

// revoked gives the index of the event that ended an agent object, false if none here did.
func (s *session) revoked(a keyring.Agent) (uint64, bool) {
	for _, r := range s.evidence.Revocations() {
		if r.Covers(a) {
			return r.Index, true
		}
	}
	return 0, false
}

// lifeWords says why an agent object does not hold.
func (s *session) lifeWords(a keyring.Agent, err error) string {
	if errors.Is(err, keyring.ErrNotYet) {
		return fmt.Sprintf("agent %s of %s begins at %s", a.Name, s.short(a.Org), a.NotBefore)
	}
	return fmt.Sprintf("agent %s of %s ended at %s", a.Name, s.short(a.Org), a.NotAfter)
}

// agentFile is a file of one agent object: it must hold at the moment asked for.
func (s *session) agentFile(e envelope.Envelope) error {
	var a *keyring.Agent
	for _, v := range s.agents {
		if v.ID() == e.ID() {
			b := v.Body()
			a = &b
		}
	}
	if a == nil {
		return nil // it is pending
	}
	s.orgVoucher(a.Org)
	if index, ok := s.revoked(*a); ok {
		return broken("agent %s of %s was revoked at index %d of its log", a.Name, s.short(a.Org), index)
	}
	if v, err := s.ring.Head(s.ctx, a.Org); err == nil && v.State == did.Deactivated {
		return s.ended(signature{what: "agent object " + e.ID().String(), org: a.Org})
	}
	for _, v := range s.agents {
		if o := v.Body(); o.Org == a.Org && o.Name == a.Name && o.Serial > a.Serial {
			return broken("agent %s of %s has a newer object, serial %d replaces %d", a.Name, s.short(a.Org), o.Serial, a.Serial)
		}
	}
	if err := a.LiveError(s.at); err != nil {
		r := broken("%s", s.lifeWords(*a, err))
		if errors.Is(err, keyring.ErrEnded) {
			return r.hinted("trustnode agent add --name %s renews it", a.Name)
		}
		return r
	}
	s.line("unsaid", "whether %s has revoked it since, or issued another object of this name", s.short(a.Org))
	s.unsaidHead(a.Org)
	return nil
}

// agentsAlone verifies the agent objects no event here names, those of the material too.
func (s *session) agentsAlone(alone []casefile.Numbered) error {
	for _, l := range alone {
		e, ok := asEnvelope(l.Line)
		if !ok {
			continue
		}
		err := s.agentLine(l.N, e)
		if l.N < 0 {
			continue // the material is used as far as it proves something
		}
		if err := s.refuse(err); err != nil {
			return err
		}
	}
	return nil
}

// article writes a word with "a" or "an".
func article(word string) string {
	if word == "" {
		return "an object of no name"
	}
	if strings.ContainsAny(word[:1], "aeiou") {
		return "an " + word
	}
	return "a " + word
}
