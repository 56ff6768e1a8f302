package history

import (
	"context"
	"fmt"
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// Term is the time of one agent object in its organization's log: from the
// index of its agent.issued up to that of the agent.revoked that ended it.
type Term struct {
	Agent   did.DID
	ID      envelope.ID // of the agent object
	Name    string
	Serial  uint64
	From    uint64  // index of agent.issued
	Revoked *uint64 // index of agent.revoked; nil while none. Below From: it never held
	Reason  string  // of the revocation
}

func (k Keys) issue(i uint64, ev attestation.Event) (Keys, error) {
	var d attestation.AgentIssued
	if err := ev.Decode(&d); err != nil {
		return k, err
	}
	t := Term{Agent: d.Agent, ID: d.ID, Name: d.Name, Serial: d.Serial, From: i}
	for _, r := range k.ended {
		if r.covers(t) {
			// An agent returns only with a higher serial: whoever says its object
			// again brings back nothing.
			t.Revoked, t.Reason = &r.at, r.reason
		}
	}
	k.terms = append(slices.Clip(k.terms), t)
	return k, nil
}

// ending is one agent.revoked.
type ending struct {
	agent   did.DID
	through uint64
	at      uint64 // its index
	reason  string
}

func (r ending) covers(t Term) bool { return t.Agent == r.agent && t.Serial <= r.through }

func (k Keys) revoke(i uint64, ev attestation.Event) (Keys, error) {
	var d attestation.AgentRevoked
	if err := ev.Decode(&d); err != nil {
		return k, err
	}
	r := ending{agent: d.Agent, through: d.ThroughSerial, at: i, reason: d.Reason}
	k.ended = append(slices.Clip(k.ended), r)
	k.terms = slices.Clone(k.terms)
	for n, t := range k.terms {
		switch {
		case !r.covers(t):
		case t.Revoked == nil:
			k.terms[n].Revoked, k.terms[n].Reason = &r.at, r.reason
		case t.Reason == ReasonCompromise: // it was over before; now it is for good
			k.terms[n].Reason = r.reason
		}
	}
	if d.TaintFrom != nil && *d.TaintFrom < i {
		k.taints = append(slices.Clip(k.taints), Taint{From: *d.TaintFrom, Until: i, Agent: d.Agent})
	}
	return k, nil
}

// Why a term ended that no agent.revoked ended.
const (
	// ReasonCompromise: the key that issued it was compromised before. The organization
	// issues such an agent anew, or revokes it.
	ReasonCompromise = "compromise"
	// ReasonDeactivated: its organization deactivated its DID.
	ReasonDeactivated = "deactivated"
)

// endedAbove ends, at a key.rotated, the live agents issued above an index: those that the
// thief of a key may have issued, or all. What they did before stands or falls with the
// events that show it.
func endedAbove(terms []Term, above, at uint64, reason string) []Term {
	out := slices.Clone(terms)
	for i, t := range out {
		if t.From > above && t.Revoked == nil {
			out[i].Revoked, out[i].Reason = &at, reason
		}
	}
	return out
}

// Terms returns the terms of one agent in log order; all of them for the zero DID.
func (k Keys) Terms(agent did.DID) []Term {
	var out []Term
	for _, t := range k.terms {
		if agent.IsZero() || t.Agent == agent {
			out = append(out, t)
		}
	}
	return out
}

// Term returns the term of one agent object, and false when the log never
// issued it.
func (k Keys) Term(id envelope.ID) (Term, bool) {
	i := slices.IndexFunc(k.terms, func(t Term) bool { return t.ID == id })
	if i < 0 {
		return Term{}, false
	}
	return k.terms[i], true
}

// Holds reports whether the term covers an index: at or above the one that
// issued it, and not above the one that revoked it. envelope.ErrUnknownKey
// before, envelope.ErrRetired after.
func (t Term) Holds(index uint64) error {
	switch {
	case t.Revoked != nil && *t.Revoked < t.From:
		return fmt.Errorf("%w: agent object %s was revoked at %d, before it was issued", envelope.ErrRetired, t.ID, *t.Revoked)
	case index < t.From:
		return fmt.Errorf("%w: agent object %s is issued at %d", envelope.ErrUnknownKey, t.ID, t.From)
	case t.Revoked != nil && index > *t.Revoked:
		return fmt.Errorf("%w: agent object %s was revoked at %d", envelope.ErrRetired, t.ID, *t.Revoked)
	}
	return nil
}

// AsOf reports whether the term covers what another log anchors at the time at.
func (t Term) AsOf(at envelope.Time, when Times) error {
	if t.Revoked != nil && *t.Revoked < t.From {
		return t.Holds(t.From)
	}
	return within(at, when, t.From, t.Revoked)
}

// Object answers what an agent object says about its key; it has been opened.
type Object func(ctx context.Context, id envelope.ID) (kid string, key did.PublicKey, err error)

// Agents returns the source for what agents of this organization signed: an
// agent's key counts when a term that holds names an object with that kid.
// holds is the place, such as Term.Holds at an index.
func (k Keys) Agents(open Object, holds func(Term) error) envelope.KeySource {
	return envelope.KeySourceFunc(func(ctx context.Context, signer did.DID, kid string) (did.Key, error) {
		out := fmt.Errorf("%w: %s was never issued", envelope.ErrUnknownKey, signer)
		inForce := false // what a term in force lacks says more than that others are over
		for _, t := range slices.Backward(k.terms) {
			if t.Agent != signer {
				continue
			}
			err := holds(t)
			if err == nil {
				var key did.Key
				if key, err = t.key(ctx, open, kid); err == nil {
					return key, nil
				}
				inForce, out = true, err
			} else if !inForce {
				out = err
			}
		}
		return did.Key{}, out
	})
}

func (t Term) key(ctx context.Context, open Object, kid string) (did.Key, error) {
	named, pub, err := open(ctx, t.ID)
	if err != nil {
		return did.Key{}, err
	}
	if named != kid {
		return did.Key{}, fmt.Errorf("%w: %.80s is not the agent's key", envelope.ErrUnknownKey, kid)
	}
	return did.Key{Public: pub, Version: t.ID.String()}, nil
}
