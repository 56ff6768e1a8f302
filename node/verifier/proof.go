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

// proof verifies a bundle that is about one event: all that a bundle is held to, the header
// over exactly these lines, the event, and nothing beside what it rests on.
func (s *session) proof(b []byte) error {
	about, err := casefile.About(b)
	if err != nil {
		return s.faulty(err)
	}
	if err := s.bundle(b); err != nil {
		return err
	}
	i := slices.IndexFunc(s.evidence.Set.Entries, func(e casefile.Entry) bool { return e.Event.ID() == about })
	if i < 0 {
		if len(s.waits) > 0 {
			return nil // which says what is missing
		}
		return broken("the event %s is not proven", about)
	}
	return s.onlyNeeded(s.evidence.Set.Entries[i].Event.Body(), about)
}

// onlyNeeded fails the first line that the proof of an event does not rest on.
func (s *session) onlyNeeded(ev attestation.Event, about envelope.ID) error {
	logs := map[did.DID]bool{ev.Org: true} // that have to tell whose key counted where
	for _, e := range s.evidence.Set.Entries {
		if b := e.Event.Body(); b.Type == "key.rotated" {
			logs[b.Org] = true
		}
	}
	for _, l := range s.own {
		needed := true
		switch k := l.Line.(type) {
		case bundle.Entry:
			needed = attestation.Entry(k.Entry).ID() == about || supports(k, logs)
		case bundle.Body:
			needed = k.ID() == ev.Body
		case bundle.Envelope:
			needed = k.Type == charter.Type
		case bundle.Row, bundle.Compact:
			needed = false
		}
		if !needed {
			return broken("a line that the proof of %s does not rest on", about).at(l.N)
		}
	}
	return nil
}

// supports says whether an entry tells whose key counted where in one of some logs.
func supports(k bundle.Entry, logs map[did.DID]bool) bool {
	_, e, err := attestation.Entry(k.Entry).Envelope()
	return err == nil && logs[e.Org] && (e.Type == "log.opened" || e.Type == "key.rotated" || e.Type == "charter.signed")
}
