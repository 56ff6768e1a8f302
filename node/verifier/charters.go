package verifier

import (
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/node/casefile"
)

// charters walks the charters of a bundle from the genesis on, or else opens its joins.
func (s *session) charters(pin *bundle.Pin) error {
	f, top := s.charterFile()
	ring := charter.NewRing(s.ring, s.evidence.Positions())
	if len(f.Charters) == 0 {
		if pin != nil {
			s.wait(pending("the header pins charter %d, which is not in the file", pin.Seq).at(1))
		}
		return s.joins(ring)
	}
	f, err := charter.Merge(f)
	if err != nil {
		return broken("%v", err)
	}
	res, err := charter.Review(s.ctx, charter.Chain{}, f, ring, s.late)
	if err != nil {
		return s.charterRefusal(err, top)
	}
	if err := s.counted(f, ring); err != nil {
		return err
	}
	if len(res.Tally.Ignored) > 0 {
		g := res.Tally.Ignored[0]
		return broken("charter %d: signature %s %s", res.Draft.Seq, quote(g.KeyID), g.Reason).at(top)
	}
	if res.Outcome != nil {
		s.wait(pending("charter %d: %v; %s", res.Draft.Seq, res.Outcome, res.Tally).at(top))
	}
	return s.sayCharters(res, pin)
}

// charterFile gathers the charters of the file with those of the material below them, and
// the line of the highest of the file.
func (s *session) charterFile() (f charter.File, top int) {
	var highest uint64
	for _, l := range s.pool() {
		e, ok := l.Line.(bundle.Envelope)
		if !ok {
			continue
		}
		switch e.Type {
		case charter.JoinType:
			if l.N > 0 {
				f.Joins = append(f.Joins, e.Envelope)
			}
		case charter.AbandonType:
			f.Abandons = append(f.Abandons, e.Envelope)
		case charter.Type:
			b, err := envelope.Decode[charter.Body](e.Envelope)
			if l.N > 0 {
				f.Charters = append(f.Charters, e.Envelope)
				if top == 0 || b.Seq >= highest {
					highest, top = b.Seq, l.N
				}
			} else if err == nil && top > 0 && b.Seq < highest {
				f.Charters = append(f.Charters, e.Envelope)
			}
		}
	}
	return f, top
}

// charterRefusal says why a walk ended.
func (s *session) charterRefusal(err error, top int) error {
	var p *charter.Pending
	var fault *charter.Fault
	switch {
	case errors.As(err, &p), errors.Is(err, charter.ErrUnknownVersion):
		return s.refuse(pending("charter: %v", err).at(top).hinted("give the boot file or the DID logs it lacks with --with FILE"))
	case errors.As(err, &fault):
		return broken("charter: %v", fault).at(top)
	}
	return broken("charter: %v", err).at(top)
}

// counted wants each signature on each charter to count: a signature that is false or of
// nobody could have been added on the way.
func (s *session) counted(f charter.File, ring charter.Ring) error {
	var chain charter.Chain
	for i, e := range f.Charters {
		for _, sig := range e.Signatures { // a keyid is not signed: any other would be a second spelling
			if k, err := did.DecodeKey(sig.KeyID); err != nil || k.Verify(e.Preimage().Bytes(), sig.Sig) != nil {
				return broken("charter %d: signature %s is not by the key its keyid names", i, quote(sig.KeyID))
			}
		}
		var t charter.Tally
		var err error
		if i == 0 {
			chain, t, err = charter.Genesis(e, ring, s.late)
		} else {
			chain, t, err = chain.Next(e, nil, ring, s.late)
		}
		if len(t.Ignored) > 0 {
			return broken("charter %d: signature %s %s", i, quote(t.Ignored[0].KeyID), t.Ignored[0].Reason)
		}
		if err != nil {
			return nil // Review has judged it, with the abandons this walk leaves out
		}
	}
	return nil
}

func (s *session) sayCharters(res charter.Result, pin *bundle.Pin) error {
	if !res.Chain.IsZero() {
		s.members = casefile.Members(s.ctx, res.Chain, s.ring)
		if err := s.evidence.WitnessedBy(s.members); err != nil {
			return s.faulty(err)
		}
		known := voucher{text: charter.Fingerprint(res.Chain.Federation()), of: quote(res.Chain.Head().Name)}
		upTo, ok, err := s.pinned.Charter(res.Chain)
		if err != nil {
			return s.faulty(err)
		}
		if ok {
			known.by = "whose genesis the pins know"
			if upTo > 0 {
				known.by = fmt.Sprintf("the pins know, up to charter %d", upTo)
			}
		}
		s.voucher(known)
		for seq := uint64(0); seq <= res.Chain.Head().Seq; seq++ {
			c, _ := res.Chain.At(seq)
			s.line("ok", "charter %d %s of %s, in force from %s", c.Seq, c.ID, quote(c.Name), c.NotBefore)
		}
	}
	for _, j := range res.Joins {
		s.line("ok", "join of %s, signed under the key its DID lists at version %s", s.short(j.Org), j.DIDVersion)
	}
	for _, w := range res.Words() {
		if res.Outcome != nil {
			s.line("unsaid", "whether this will be agreed: %s", w)
		} else {
			s.line("claim", "%s", w)
		}
	}
	s.line("unsaid", "whether a later charter follows %d: nothing here says that none does", res.Draft.Seq)
	if pin == nil {
		return nil
	}
	c, ok := res.Chain.At(pin.Seq)
	if !ok || c.ID != pin.ID {
		return broken("the header pins charter %d as %s, which is not in the chain below", pin.Seq, pin.ID).at(1)
	}
	s.line("unsaid", "whether charter %d was the newest at %s: the header says so, and nobody signed that", pin.Seq, pin.AsOf)
	return nil
}

// joins opens the join cards of a bundle: the log verifies, its head is the version the
// join names, and the key is an assertion key there.
func (s *session) joins(ring charter.Ring) error {
	for _, l := range s.own {
		e, ok := l.Line.(bundle.Envelope)
		if !ok || e.Type != charter.JoinType {
			continue
		}
		if err := s.refuse(s.join(l.N, e.Envelope, ring)); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) join(n int, e envelope.Envelope, ring charter.Ring) error {
	j, err := envelope.Decode[charter.Join](e)
	if err != nil {
		return broken("join: %v", err).at(n)
	}
	f := charter.File{Joins: []envelope.Envelope{e}}
	log, err := s.ring.Log(s.ctx, j.Org, 0)
	switch {
	case errors.Is(err, keyring.ErrAbsent):
		return s.lacks("join "+e.ID().String(), j.Org).at(n)
	case errors.Is(err, keyring.ErrFrozen):
		return s.frozen(j.Org).at(n)
	case err != nil:
		return broken("join of %s: %v", j.Org, err).at(n)
	case len(log) > 0:
		witness, err := s.ring.Witness(s.ctx, j.Org)
		if err != nil {
			return broken("join of %s: %v", j.Org, err).at(n)
		}
		f.Logs = []bundle.DIDLog{{DID: j.Org, From: 1, Log: log, Witness: witness}}
	}
	cards, err := charter.Cards(s.ctx, f, ring)
	if errors.Is(err, charter.ErrUnknownVersion) {
		return pending("%v", err).at(n).hinted("give a newer DID log of %s with --with FILE", s.short(j.Org))
	}
	if err != nil {
		return broken("%v", err).at(n)
	}
	card := cards[0].Join.Body()
	s.line("ok", "join %s signed by %s under key %s%s, the newest here", e.ID(), s.short(card.Org), card.Kid, ofVersion(card.DIDVersion))
	s.line("claim", "%s asked to join as %s, dated %s, with the charter key %s; contact %s", s.short(card.Org), quote(card.Name), card.At, card.Key.Pub.Multikey(), quote(card.Contact))
	return nil
}
