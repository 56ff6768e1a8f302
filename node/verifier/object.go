package verifier

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/node/casefile"
)

// object verifies a file of one signed object, as the only line of a bundle.
func (s *session) object(b []byte) error {
	e, err := envelope.ParseDSSE(bytes.TrimSuffix(b, []byte("\n")), maxObject)
	if err != nil {
		return broken("%v", err)
	}
	s.own = []casefile.Numbered{{Line: bundle.Envelope{Envelope: e}, N: 1}}
	s.call(s.own)
	for _, step := range []func() error{s.evidenceLines, func() error { return s.charters(nil) }, s.objects} {
		if err := step(); err != nil {
			return alone(err)
		}
	}
	for _, w := range s.waits {
		w.line = 0
	}
	s.singular(e)
	if e.Type == keyring.AgentType {
		return s.agentFile(e)
	}
	s.vouchOrgs()
	return nil
}

// alone takes the line off a refusal: the file has one.
func alone(err error) error {
	var r *refusal
	if errors.As(err, &r) {
		r.line = 0
	}
	return err
}

// singular says of an object that needs a log around it where it is verified.
func (s *session) singular(e envelope.Envelope) {
	for _, w := range s.waits {
		if w.hint == evidenceHint {
			w.what = article(e.Type.What()) + " is verified as part of a case file: " + w.what
			w.hint = "dispute export writes a case file; or give a bundle with the events it rests on with --with FILE"
		}
	}
}

// compact is an object without its type, which the place where it stands would name.
func (s *session) compact() error {
	return pending("an object in compact form does not name what it is, and is verified where it stands").
		hinted("a receipt or permission is verified as part of a case file: dispute export writes one")
}

func (s *session) binding(n int, e envelope.Envelope) error {
	b, err := envelope.Decode[federation.Binding](e)
	if err != nil {
		return broken("binding: %v", err).at(n)
	}
	c := signature{line: n, what: "binding " + e.ID().String(), org: b.Org, kid: b.Kid, version: b.DIDVersion}
	if err := s.stands(c, func(src envelope.KeySource) error {
		_, err := federation.OpenBinding(s.ctx, e, src)
		return err
	}); err != nil {
		return err
	}
	s.line("ok", "%s signed by %s under key %s%s, and by the node's own key", c.what, s.short(b.Org), b.Kid, ofVersion(b.DIDVersion))
	var roles []string
	for _, r := range b.Roles {
		roles = append(roles, string(r))
	}
	s.line("claim", "node %s serves %s as %s, from %s until %s%s", b.PeerID, s.short(b.Org), list(roles), b.NotBefore, b.ExpiresAt, over(s.at, b.ExpiresAt))
	return nil
}

// over says that a time is past.
func over(at time.Time, end envelope.Time) string {
	if at.Before(end.Time()) {
		return ""
	}
	return ", which is over"
}

func (s *session) beacon(n int, e envelope.Envelope) error {
	b, err := envelope.Decode[federation.Beacon](e)
	if err != nil {
		return broken("beacon: %v", err).at(n)
	}
	if err := opened[federation.Beacon](s, n, e, b.DIDVersion); err != nil {
		return err
	}
	s.line("claim", "%s said at %s that it follows charter %d %s of federation %s", s.short(b.Org), b.At, b.Charter.Seq, b.Charter.ID, charter.Fingerprint(b.Federation))
	return nil
}

func (s *session) abandon(n int, e envelope.Envelope) error {
	b, err := envelope.Decode[charter.Abandon](e)
	if err != nil {
		return broken("abandon: %v", err).at(n)
	}
	if err := opened[charter.Abandon](s, n, e, b.DIDVersion); err != nil {
		return err
	}
	s.line("claim", "%s will sign no other charter %d, round %d, of federation %s", s.short(b.Org), b.Seq, b.Round, charter.Fingerprint(b.Federation))
	return nil
}

// opened verifies an object with the one signature of its organization.
func opened[T envelope.Body](s *session, n int, e envelope.Envelope, version string) error {
	body, err := envelope.Decode[T](e)
	if err != nil {
		return broken("%s: %v", e.Type.What(), err).at(n)
	}
	org, kid := body.Signer()
	c := signature{line: n, what: strings.TrimSpace(e.Type.What() + " " + e.ID().String()), org: org, kid: kid, version: version}
	if err := s.stands(c, func(src envelope.KeySource) error {
		_, err := envelope.Open[T](s.ctx, e, src)
		return err
	}); err != nil {
		return err
	}
	s.line("ok", "%s signed by %s under key %s%s", c.what, s.short(org), kid, ofVersion(version))
	return nil
}
