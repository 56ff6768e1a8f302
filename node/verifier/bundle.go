package verifier

import (
	"bytes"
	"errors"

	"trustnode/attestation"
	"trustnode/attestation/trust"
	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/federation/lending"
	"trustnode/node/casefile"
)

// bundle verifies every line of a bundle that is about no case.
func (s *session) bundle(b []byte) error {
	header, err := s.split(b)
	if err != nil {
		return err
	}
	if len(s.own) == 0 {
		return broken("the file says nothing")
	}
	s.call(s.own)
	for _, step := range []func() error{s.ownLogs, s.evidenceLines, func() error { return s.charters(header.Pin) }, s.objects} {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	s.vouchOrgs()
	return nil
}

// split reads the lines of the file: each canonical, of a known kind, once and in its place.
func (s *session) split(b []byte) (bundle.Header, error) {
	head, rest, ok := bytes.Cut(b, []byte("\n"))
	header, err := bundle.ParseHeader(head)
	if err != nil || !ok {
		return header, broken("not the header of a bundle").at(1)
	}
	var lines []bundle.Line
	for n := 2; len(rest) > 0; n++ {
		var raw []byte
		if raw, rest, ok = bytes.Cut(rest, []byte("\n")); !ok {
			return header, broken("the last line does not end with a newline").at(n)
		}
		l, err := bundle.ParseLine(raw)
		if err != nil {
			return header, broken("%v", err).at(n)
		}
		if l.Kind() == bundle.KindUnknown {
			return header, broken("a line of a kind that is not known here").at(n)
		}
		lines = append(lines, l)
		s.own = append(s.own, casefile.Numbered{Line: l, N: n})
	}
	again, err := bundle.Encode(header, lines...)
	if err != nil {
		return header, broken("%v", err)
	}
	if n := firstOther(b, again); n > 0 {
		return header, broken("a line is not in its place, or stands twice").at(n)
	}
	return header, nil
}

// firstOther gives the first line, from 1, in which two texts differ; 0 if none.
func firstOther(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	n := 1
	for i := 0; i < min(len(a), len(b)) && a[i] == b[i]; i++ {
		if a[i] == '\n' {
			n++
		}
	}
	return n
}

// evidenceLines verifies what logs and organizations say: events, rows, bodies, what agents signed,
// and the agents.
func (s *session) evidenceLines() error {
	var lines []casefile.Numbered
	for _, l := range s.pool() {
		if e, ok := asEnvelope(l.Line); ok {
			l.Line = bundle.Envelope{Envelope: e} // a compact object is the same object
		}
		lines = append(lines, l)
	}
	s.clock = s.at
	var err error
	if s.evidence, err = casefile.OpenEvidence(s.ctx, s.ring, lines, s.names); err != nil {
		return s.faulty(err)
	}
	if err := s.evidence.Against(s.pinned); err != nil {
		return s.faulty(err)
	}
	s.anchored()
	if err := s.agentsAlone(s.evidence.Alone); err != nil {
		return err
	}
	for _, f := range s.evidence.Pending {
		if f.Line > 0 {
			s.wait(pending("%s", f.What).at(f.Line).hinted("%s", evidenceHint))
		}
	}
	for _, f := range s.evidence.Unwitnessed(s.o.Witnesses, s.about) {
		if f.Line > 0 {
			s.wait(pending("%s", f.What).at(f.Line).hinted("a proof written later may hold more cosignatures: trustnode event prove ID"))
		}
	}
	for _, n := range s.evidence.Unnamed() {
		if n > 0 {
			s.wait(pending("no event here names this body").at(n).hinted("%s", evidenceHint))
		}
	}
	s.report.Lines = append(s.report.Lines, s.evidence.Words(func(n int) bool { return n > 0 })...)
	return nil
}

const evidenceHint = "add the events it rests on (log.opened, each key.rotated, agent.issued) and the DID logs, or give a bundle that holds them with --with FILE"

// faulty says which line of which file is false.
func (s *session) faulty(err error) error {
	var f *casefile.Fault
	if !errors.As(err, &f) {
		return err
	}
	if file, ok := s.from[f.Line]; ok {
		return broken("%s, given with --with: %s", base(file), f.What)
	}
	return broken("%s", f.What).at(f.Line)
}

func asEnvelope(l bundle.Line) (envelope.Envelope, bool) {
	switch l := l.(type) {
	case bundle.Envelope:
		return l.Envelope, true
	case bundle.Compact:
		e, err := l.Envelope()
		return e, err == nil
	}
	return envelope.Envelope{}, false
}

// objects verifies what is left: objects of organizations that lie in no log.
func (s *session) objects() error {
	for _, l := range s.own {
		e, ok := asEnvelope(l.Line)
		if !ok {
			continue
		}
		if err := s.refuse(s.other(l.N, e)); err != nil {
			return err
		}
	}
	return nil
}

// other verifies one object, unless evidenceLines or charters did.
func (s *session) other(n int, e envelope.Envelope) error {
	switch e.Type {
	case keyring.AgentType, charter.Type, charter.JoinType,
		lending.PermissionType, lending.RevocationType, lending.ReadRequestType, lending.ReceiptType:
		return nil
	case federation.BindingType:
		return s.binding(n, e)
	case federation.BeaconType:
		return s.beacon(n, e)
	case charter.AbandonType:
		return s.abandon(n, e)
	case lending.LoanRequestType, attestation.TypeEvent, trust.Answer{}.Payload():
	default:
		return broken("%s is no kind of object that is known here: a byte of its type was changed, or a later version of this program made it", quote(e.Type.What())).at(n)
	}
	return (&refusal{outcome: Unsupported, what: article(e.Type.What()) + " is for whoever it is addressed to, and not verified from a file"}).at(n)
}

// vouchOrgs adds the fingerprints that a bundle can be compared by where no charter in it vouches for an organization, and
// says of each organization what is not known.
func (s *session) vouchOrgs() {
	said := map[did.DID]bool{}
	for _, l := range s.own {
		d := orgOf(l.Line)
		if d.IsZero() || said[d] {
			continue
		}
		said[d] = true
		if !s.members[d] {
			s.outsider(d)
		}
		s.unsaidHead(d)
	}
	s.strangers()
}

// strangers adds whoever speaks in the log of its own beside charters that do not name it: whatever vouches for the
// federation says nothing of it, though its DID may name the domain of a member.
func (s *session) strangers() {
	for _, d := range s.evidence.Orgs() {
		if s.members == nil || s.members[d] {
			continue
		}
		s.outsider(d)
		for i := range s.vouchers {
			s.vouchers[i].stranger = s.vouchers[i].stranger || s.vouchers[i].org == d
		}
	}
}

// outsider adds what an organization can be compared by that no charter names. Beside a federation that of a did:key is asked
// for too: the DID itself.
func (s *session) outsider(d did.DID) {
	if s.members == nil || d.Method() != didkey.Method {
		s.orgVoucher(d)
		return
	}
	s.voucher(voucher{text: d.String(), of: d.String(), org: d})
}

// orgOf is the organization a DID log, a join or an agent object is of.
func orgOf(l bundle.Line) did.DID {
	if d, ok := l.(bundle.DIDLog); ok {
		return d.DID
	}
	e, _ := asEnvelope(l)
	switch e.Type {
	case charter.JoinType:
		return signerOf[charter.Join](e)
	case keyring.AgentType:
		return signerOf[keyring.Agent](e)
	case federation.BindingType:
		return signerOf[federation.Binding](e)
	case federation.BeaconType:
		return signerOf[federation.Beacon](e)
	case charter.AbandonType:
		return signerOf[charter.Abandon](e)
	}
	return did.DID{}
}

func signerOf[T envelope.Body](e envelope.Envelope) did.DID {
	body, err := envelope.Decode[T](e)
	if err != nil {
		return did.DID{}
	}
	d, _ := body.Signer()
	return d
}
