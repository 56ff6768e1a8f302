package verifier

import (
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/node/casefile"
)

// proof verifies a bundle that is about events, rows and bodies: all that a bundle is held to,
// the header over exactly these lines, each thing it names, and nothing beside what those rest on.
func (s *session) proof(b []byte) error {
	about, err := casefile.About(b)
	if err != nil {
		return s.faulty(err)
	}
	s.about = about
	if err := s.bundle(b); err != nil {
		return err
	}
	for i, id := range about {
		switch {
		case slices.Contains(about[:i], id):
			return broken("the header names %s twice", id).at(1)
		case !s.evidence.Proves(id) && len(s.waits) > 0:
			return nil // which says what is missing
		case !s.evidence.Proves(id):
			return broken("%s is not proven", id)
		}
	}
	return s.onlyNeeded(about)
}

// onlyNeeded fails the first line that the proof of what a file is about does not rest on.
func (s *session) onlyNeeded(about []envelope.ID) error {
	needed := map[envelope.ID]bool{} // events, rows and bodies
	for _, id := range about {
		needed[id] = true
	}
	logs := map[did.DID]bool{} // that have to tell whose key counted where
	for _, l := range s.own {
		if r, ok := l.Line.(bundle.Row); ok && needed[envelope.IDOf(r.Row)] {
			needed[r.Event] = true
		}
	}
	for _, e := range s.evidence.Set.Entries {
		b := e.Event.Body()
		logs[b.Org] = logs[b.Org] || needed[e.Event.ID()] || b.Type == "key.rotated"
		if rule, ok := attestation.RuleOf(b.Type); needed[e.Event.ID()] && ok && rule.Readers == attestation.ReadersPublic {
			needed[b.Body] = true
		}
	}
	for _, l := range s.own {
		rests := true
		switch k := l.Line.(type) {
		case bundle.DIDLog:
			rests = s.members == nil || s.members[k.DID] || slices.Contains(s.evidence.Orgs(), k.DID)
		case bundle.Entry:
			rests = needed[attestation.Entry(k.Entry).ID()] || supports(k, logs)
		case bundle.Body:
			rests = needed[k.ID()]
		case bundle.Row:
			rests = needed[envelope.IDOf(k.Row)]
		case bundle.Envelope:
			rests = k.Type == charter.Type
		case bundle.Compact:
			rests = false
		}
		if !rests {
			return broken("a line that the proof of %s does not rest on", about[0]).at(l.N)
		}
	}
	return nil
}

// supports says whether an entry tells whose key counted where in one of some logs.
func supports(k bundle.Entry, logs map[did.DID]bool) bool {
	_, e, err := attestation.Entry(k.Entry).Envelope()
	return err == nil && logs[e.Org] && (e.Type == "log.opened" || e.Type == "key.rotated" || e.Type == "charter.signed")
}
