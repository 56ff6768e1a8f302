package casefile

import (
	"cmp"
	"context"
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
)

// charters walks the chain from the genesis. Each signature must count.
func (p *opener) charters() error {
	type one struct {
		line int
		env  envelope.Envelope
		body charter.Body
	}
	var all []one
	for l, e := range of[bundle.Envelope](p) {
		if e.Type != charter.Type {
			continue
		}
		b, err := envelope.Decode[charter.Body](e.Envelope)
		if err != nil {
			return fault(l.n, "charter: %v", err)
		}
		p.newer(b.IssuedAt)
		p.newer(b.NotBefore)
		for _, m := range b.Members {
			p.names.Add(m.DID)
		}
		all = append(all, one{l.n, e.Envelope, b})
	}
	if len(all) == 0 {
		return fault(1, "no charter is in the file")
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(a.body.Seq, b.body.Seq), cmp.Compare(a.line, b.line)) })
	p.ring.now = p.Newest.Time()
	keys := charter.NewRing(p.ring.Ring, positions{&p.Set})
	for i, c := range all {
		var t charter.Tally
		var err error
		if i == 0 {
			p.Chain, t, err = charter.Genesis(c.env, keys, p.ring.now)
		} else {
			p.Chain, t, err = p.Chain.Next(c.env, nil, keys, p.ring.now)
		}
		if len(t.Ignored) > 0 {
			return fault(c.line, "charter %d: signature %.12s… %s", c.body.Seq, t.Ignored[0].KeyID, t.Ignored[0].Reason)
		}
		if err != nil {
			return fault(c.line, "charter %d: %v", c.body.Seq, err)
		}
		p.used[c.line] = true
	}
	return nil
}

// positions answers from the entries of the file which keys ended where.
type positions struct{ *Set }

// Ended implements charter.Positions.
func (p positions) Ended(d did.DID, k did.PublicKey) (uint64, bool) {
	for _, e := range p.Entries {
		var r attestation.KeyRotated
		if e.event().Org != d || e.event().Type != "key.rotated" || e.event().Decode(&r) != nil {
			continue
		}
		was, _ := p.ring.Keys(context.Background(), d, r.Previous)
		for _, kid := range r.Retired {
			if was[kid] == k {
				return e.Index, true
			}
		}
	}
	return 0, false
}

// Signed implements charter.Positions.
func (p positions) Signed(d did.DID, s pins.Slot, body envelope.ID) (uint64, bool) {
	for _, e := range p.Entries {
		var c attestation.CharterSigned
		if e.event().Org == d && e.event().Type == "charter.signed" && e.event().Decode(&c) == nil && c.Body == body && s.N == c.Seq*8+c.Round {
			return e.Index, true
		}
	}
	return 0, false
}

// Members are the organizations that the charters of a chain name, from its genesis on, by each name that the log of one in r
// has or had.
func Members(ctx context.Context, chain charter.Chain, r *keyring.Ring) map[did.DID]bool {
	named := map[did.DID]bool{}
	for seq := uint64(0); ; seq++ {
		c, ok := chain.At(seq)
		if !ok {
			return named
		}
		for _, m := range c.Members {
			named[m.DID] = true
			if h, err := r.History(ctx, m.DID); err == nil {
				for _, d := range h.DIDs() {
					named[d] = true
				}
			}
		}
	}
}

// members holds everybody who says something in the file to the charters: organizations
// they name, and no other.
func (p *opener) members() error {
	named := Members(p.ctx, p.Chain, p.ring.Ring)
	for l, d := range of[bundle.DIDLog](p) {
		if !named[d.DID] {
			return fault(l.n, "%s is no member, its DID log is not needed", d.DID)
		}
		p.used[l.n] = true
	}
	for _, e := range p.Entries {
		if !named[e.event().Org] {
			return fault(e.line, "%s is no member", e.event().Org)
		}
	}
	return p.witnessedBy(named)
}

// witnessedBy fails the first entry that an organization beside those named has cosigned: anybody can put a line under a
// head, so that one who asks for witnesses would count strangers.
func (s Set) witnessedBy(named map[did.DID]bool) error {
	for _, e := range s.Entries {
		for _, w := range e.Witnessed {
			if !named[w.Org] {
				return fault(e.line, "%s cosigned and is no member", w.Org)
			}
		}
	}
	return nil
}
