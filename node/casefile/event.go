package casefile

import (
	"context"
	"fmt"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
)

// Prove writes the file that proves one event of the log of org: the entry under the head
// that an organization other than org cosigned first, the beginning of that log and its
// rotations, the body if that is for everybody, all charters, and the DID logs of everybody
// who speaks in it. Without a charter the file rests on the DID of org alone. It is
// not verified. Errors: attestation.ErrNotFound where the event or a head over it is not
// held, and those of s.
func Prove(ctx context.Context, s Source, org did.DID, id envelope.ID) ([]byte, error) {
	b := &builder{ctx: ctx, s: s, id: id, ring: newRing(), done: map[string]bool{}, orgs: map[did.DID]bool{}, known: map[did.DID]bool{}}
	if err := b.charters(); err != nil && !absent(err) {
		return nil, err
	}
	for _, step := range []func() error{b.didLogs, func() error { return b.ownDIDLog(org) }, func() error { return b.proven(org) }, b.rotatedMembers, b.support} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	out, err := encode(id, b.lines)
	if err == nil && len(out) > MaxFile {
		return nil, fmt.Errorf("proof file of %d bytes, limit %d: %w", len(out), MaxFile, attestation.ErrTooLarge)
	}
	return out, err
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

// proven adds the event that the file is about.
func (b *builder) proven(org did.DID) error {
	index, err := b.find(org, b.id)
	if err != nil {
		return err
	}
	e, err := b.entry(org, index, b.id, others)
	if err != nil {
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
func About(b []byte) (envelope.ID, error) {
	f, err := split(b)
	if err != nil {
		return envelope.ID{}, err
	}
	return f.about()
}
