package casefile

import (
	"context"
	"errors"
	"fmt"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/mediation"
)

// Build writes the file of a case whole, and verifies it before it is handed out: what
// it returns, Open accepts. What is not held here is left out, and the file then proves
// less. Errors: attestation.ErrNotFound where the dispute or its charter is not held,
// those of s, and *Fault for what would not verify.
func Build(ctx context.Context, s Source, id envelope.ID) ([]byte, error) {
	b := &builder{ctx: ctx, s: s, id: id, ring: newRing(), done: map[string]bool{}, orgs: map[did.DID]bool{}, known: map[did.DID]bool{}}
	for _, step := range []func() error{b.charters, b.didLogs, b.events, b.support} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	out, err := encode([]envelope.ID{id}, b.lines)
	if err != nil {
		return nil, err
	}
	if len(out) > MaxFile {
		return nil, fmt.Errorf("case file of %d bytes, limit %d: %w", len(out), MaxFile, attestation.ErrTooLarge)
	}
	if _, _, _, err := Open(ctx, out, Options{}); err != nil {
		return nil, err
	}
	return out, nil
}

type builder struct {
	ctx    context.Context
	s      Source
	id     envelope.ID
	bodies []charter.Head // charters by seq
	ring   *ring
	terms  mediation.Terms
	c      mediation.Case
	lines  []bundle.Line
	done   map[string]bool  // what was added, by kind and id
	orgs   map[did.DID]bool // whose logs have entries in the file
	known  map[did.DID]bool // agents whose object is in the file
	most   bool             // prefer the head that most have seen to the one seen first
}

// first says whether something is added for the first time.
func (b *builder) first(kind string, id fmt.Stringer) bool {
	key := kind + " " + id.String()
	was := b.done[key]
	b.done[key] = true
	return !was
}

func absent(err error) bool { return errors.Is(err, attestation.ErrNotFound) }

func (b *builder) charters() error {
	list, err := b.s.Charters(b.ctx)
	if err != nil {
		return err
	}
	for _, e := range list {
		c, err := envelope.Decode[charter.Body](e)
		if err != nil {
			return err
		}
		b.bodies = append(b.bodies, charter.Head{ID: e.ID(), Body: c})
		if e, err = trueSignatures(e, c); err != nil {
			return err
		}
		b.lines = append(b.lines, bundle.Envelope{Envelope: e})
	}
	if len(b.bodies) == 0 {
		return fmt.Errorf("charter: %w", attestation.ErrNotFound)
	}
	return nil
}

// trueSignatures leaves out what a stranger added to a charter: signatures that are false
// or under no key it names.
func trueSignatures(e envelope.Envelope, c charter.Body) (envelope.Envelope, error) {
	var keys []did.PublicKey
	for _, m := range c.Members {
		keys = append(keys, m.Key.Pub)
	}
	_, report, err := envelope.OpenSet[charter.Body](e, keys, func([]did.PublicKey) error { return nil })
	if err != nil {
		return envelope.Envelope{}, err
	}
	e.Signatures = nil
	for _, r := range report {
		if r.Verdict == envelope.Good {
			e.Signatures = append(e.Signatures, r.Signature)
		}
	}
	return e, nil
}

// didLogs adds the DID log of every organization the charters name.
func (b *builder) didLogs() error {
	for _, c := range b.bodies {
		for _, m := range c.Members {
			if m.DID.Method() != didwebvh.Method || !b.first("did", m.DID) {
				continue
			}
			if err := b.didLog(m.DID); err != nil {
				return err
			}
		}
	}
	return nil
}

// didLog adds one DID log.
func (b *builder) didLog(d did.DID) error {
	log, witness, err := b.s.DIDLog(b.ctx, d)
	if err != nil {
		return fmt.Errorf("DID log of %s: %w", d, err)
	}
	if _, err := b.ring.Offer(b.ctx, d, log, witness); err != nil {
		return fmt.Errorf("DID log of %s: %w", d, err)
	}
	for _, part := range bundle.DIDLogs(d, 1, log, witness) {
		b.lines = append(b.lines, part)
	}
	return nil
}

// facts gives all events that a query selects.
func (b *builder) facts(q attestation.Query) ([]attestation.Fact, error) {
	var out []attestation.Fact
	for f, err := range b.s.Facts(b.ctx, q) {
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// events adds the events of the case, and from each what its body names.
func (b *builder) events() error {
	facts, err := b.facts(attestation.Query{Subject: b.id.String()})
	if err != nil {
		return err
	}
	var ours []attestation.Fact
	for _, f := range facts {
		if ofCase(f.Event.Body().Type) {
			ours = append(ours, f)
		}
	}
	if err := b.govern(ours); err != nil {
		return err
	}
	for _, f := range ours {
		if err := b.fact(f, b.outside); err != nil {
			return err
		}
		if err := b.body(f.Event.Body().Body); err != nil {
			return err
		}
		if err := b.named(f); err != nil {
			return err
		}
	}
	return nil
}

// govern finds the charter of the dispute and folds the case, for its parties.
func (b *builder) govern(facts []attestation.Fact) error {
	for _, f := range facts {
		d, err := mediation.ParseDispute(f.Body)
		if f.Event.Body().Type != "dispute.filed" || err != nil || envelope.IDOf(f.Body) != b.id {
			continue
		}
		if d.Charter.Seq >= uint64(len(b.bodies)) {
			return fmt.Errorf("charter %d: %w", d.Charter.Seq, attestation.ErrNotFound)
		}
		b.terms = termsOf(b.bodies[d.Charter.Seq], b.bodies[len(b.bodies)-1].Body)
		b.c = mediation.Fold(b.terms, facts, endOfTime)
	}
	if b.c.State == "" {
		return fmt.Errorf("dispute %s: %w", b.id, attestation.ErrNotFound)
	}
	return nil
}

// counts says whose cosignature gives an entry of own its time.
type counts func(own, witness did.DID) bool

// outside is that of a step of the case: organizations that belong to neither party.
func (b *builder) outside(own, o did.DID) bool {
	return o != own && b.terms.Neither(o, b.c.Claimant, b.c.Respondent)
}

// others is that of what a log anchors: everybody but its owner.
func others(own, o did.DID) bool { return o != own }

// named adds what the body of an event of the case names.
func (b *builder) named(f attestation.Fact) error {
	switch f.Event.Body().Type {
	case "dispute.filed":
		d, err := mediation.ParseDispute(f.Body)
		if err != nil {
			return nil // without form it names nothing
		}
		for _, c := range d.Claims {
			if err := b.object(c.Perm); err != nil {
				return err
			}
		}
	case "dispute.evidence":
		m, err := mediation.ParseManifest(f.Body)
		if err != nil {
			return nil
		}
		for _, it := range m.Items {
			if err := b.item(it); err != nil {
				return err
			}
		}
	case "ruling.issued":
		r, err := mediation.ParseRuling(f.Body)
		if err != nil {
			return nil
		}
		return errors.Join(b.body(r.Reasons), b.body(r.Dissent))
	}
	return nil
}

func (b *builder) body(id envelope.ID) error {
	if id.IsZero() || !b.first("body", id) {
		return nil
	}
	body, err := b.s.Body(b.ctx, id)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	b.lines = append(b.lines, bundle.Body{Body: body})
	return nil
}
