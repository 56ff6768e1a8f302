package casefile

import (
	"context"
	"fmt"
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
)

// Place names something that a file is to prove: an event or an audit row, and the organization whose log it lies in, or
// the private body of an event that is proven with it.
type Place struct {
	Org did.DID // zero for a body
	ID  envelope.ID
}

// Prove writes the file that proves what is named: each entry under the head that most
// organizations other than its own cosigned, of two the one cosigned first, the beginning of that log and its
// rotations, the body if that is for everybody, each row under its audit.rows event, all
// charters, and the DID logs of everybody who speaks in it. Without a charter the file rests
// on the DIDs of the organizations alone. It is not verified. Errors: attestation.ErrNotFound
// where something named or a head over it is not held, ErrTooLarge, and those of s.
func Prove(ctx context.Context, s Source, what ...Place) ([]byte, error) {
	b := &builder{ctx: ctx, s: s, ring: newRing(), done: map[string]bool{}, orgs: map[did.DID]bool{}, known: map[did.DID]bool{}, most: true}
	if err := b.charters(); err != nil && !absent(err) {
		return nil, err
	}
	if err := b.didLogs(); err != nil {
		return nil, err
	}
	var about []envelope.ID
	for _, w := range what {
		if err := b.place(w); err != nil {
			return nil, fmt.Errorf("%s: %w", w.ID, err)
		}
		about = append(about, w.ID)
	}
	for _, step := range []func() error{b.rotatedMembers, b.support} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	out, err := encode(about, b.lines)
	if err == nil && len(out) > MaxFile {
		return nil, fmt.Errorf("proof file of %d bytes, limit %d: %w", len(out), MaxFile, attestation.ErrTooLarge)
	}
	return out, err
}

// place adds what one place names.
func (b *builder) place(w Place) error {
	if w.Org.IsZero() {
		return b.privateBody(w.ID)
	}
	if err := b.ownDIDLog(w.Org); err != nil {
		return err
	}
	if err := b.proven(w.Org, w.ID); !absent(err) {
		return err
	}
	return b.provenRow(w)
}

// privateBody adds a body that an entry added before names.
func (b *builder) privateBody(id envelope.ID) error {
	names := func(l bundle.Line) bool {
		e, ok := l.(bundle.Entry)
		if !ok {
			return false
		}
		_, ev, err := attestation.Entry(e.Entry).Envelope()
		return err == nil && ev.Body == id
	}
	if slices.ContainsFunc(b.lines, names) {
		if err := b.body(id); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(b.lines, func(l bundle.Line) bool { k, ok := l.(bundle.Body); return ok && k.ID() == id }) {
		return fmt.Errorf("body: %w", attestation.ErrNotFound)
	}
	return nil
}

// provenRow adds a row with its audit.rows event.
func (b *builder) provenRow(w Place) error {
	p, err := b.s.Row(b.ctx, w.ID)
	if err != nil {
		return err
	}
	index, err := b.find(w.Org, p.Event)
	if err != nil {
		return err
	}
	if _, err := b.entry(w.Org, index, p.Event, others); err != nil {
		return err
	}
	if b.first("row", w.ID) {
		b.lines = append(b.lines, RowLine(p))
	}
	return nil
}

// ownDIDLog adds the DID log of an organization that no charter names.
func (b *builder) ownDIDLog(d did.DID) error {
	if d.Method() != didwebvh.Method || !b.first("did", d) {
		return nil
	}
	return b.didLog(d)
}

// rotatedMembers has the logs of members told of that retired a key: whether what it signed
// of a charter came before is read there.
func (b *builder) rotatedMembers() error {
	for org := range b.members() {
		rotated, err := b.facts(attestation.Query{Org: org, Type: "key.rotated"})
		if err != nil {
			return err
		}
		if len(rotated) > 0 {
			b.orgs[org] = true
		}
	}
	return nil
}

// proven adds an event that the file is about.
func (b *builder) proven(org did.DID, id envelope.ID) error {
	index, err := b.find(org, id)
	if err != nil {
		return err
	}
	e, err := b.entry(org, index, id, others)
	if err != nil || e == nil {
		return err
	}
	_, ev, err := e.Envelope()
	if err != nil {
		return err
	}
	if rule, ok := attestation.RuleOf(ev.Type); ok && rule.Readers == attestation.ReadersPublic {
		return b.body(ev.Body)
	}
	return nil
}

// About gives what the file b is about, if its header is that of a case or proof file, and
// says whether it commits to exactly the lines below it. Errors are *Fault.
func About(b []byte) ([]envelope.ID, error) {
	f, err := split(context.Background(), b)
	if err != nil {
		return nil, err
	}
	return f.about()
}
