package recorder

import (
	"context"
	"errors"
	"fmt"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
)

// HeadFor returns the newest signed head of d that is held here whole and carries
// the cosignatures of at least need organizations, or, where none does, the newest
// one. attestation.ErrNotFound while no head is held.
func (r *Recorder) HeadFor(ctx context.Context, d did.DID, need int) (attlog.Note, error) {
	newest, cosigned, _ := r.cfg.Events.Newest(d)
	if newest == nil {
		return attlog.Note{}, fmt.Errorf("no signed head of %s: %w", d, attestation.ErrNotFound)
	}
	n, err := attlog.ParseNote(newest)
	if err != nil || cosigned == nil || len(n.Witnesses()) >= need {
		return n, err
	}
	if c, err := attlog.ParseNote(cosigned); err == nil && len(c.Witnesses()) >= need {
		return c, nil
	}
	return n, nil
}

// PolicyOf returns what the head of n is to be judged by: the key that signed it, which
// must be one of its position, and quorum of the organizations of by that have a witness
// key. Two heads before and after a rotation have two policies. attlog.ErrUnsigned where
// no key of the position signed n.
func (r *Recorder) PolicyOf(ctx context.Context, n attlog.Note, by []did.DID, quorum int) (attlog.Policy, error) {
	if n.Head.Size == 0 {
		return attlog.Policy{}, errors.New("an empty log has no key")
	}
	k, err := r.Keys(ctx, n.Org)
	if err != nil {
		return attlog.Policy{}, err
	}
	p := attlog.Policy{Org: n.Org, Quorum: quorum}
	for _, key := range k.InForce(n.Head.Size - 1) {
		if n.Verify(key) == nil {
			p.Key = key
		}
	}
	if p.Key.IsZero() {
		return attlog.Policy{}, fmt.Errorf("%w: %s, size %d", attlog.ErrUnsigned, n.Org, n.Head.Size)
	}
	for _, w := range by {
		if keys := r.cfg.Ring.Witness(ctx, w); w != n.Org && len(keys) > 0 {
			p.Witnesses = append(p.Witnesses, attlog.PolicyWitness{Org: w, Keys: keys})
		}
	}
	return p, nil
}
