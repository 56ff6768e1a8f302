package daemon

import (
	"context"
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/keys"
	"trustnode/node/fault"
	"trustnode/node/self"
	"trustnode/node/store"
)

// signers finds private keys by the public documents that name them: the organization's
// head for the issuer, its witness service for the witness key, agent rows for agents.
type signers struct {
	org  did.DID
	keys *keys.Store
	ring *keyring.Ring
	db   store.DB
}

var _ self.Signers = (*signers)(nil)

// Issuer implements self.Signers.
func (s *signers) Issuer(ctx context.Context) (envelope.Signer, string, error) {
	listed, err := s.listed(ctx)
	if errors.Is(err, keyring.ErrFrozen) {
		return nil, "", fault.Wrap(fault.Forked, "did_log", err).WithHint("nothing is signed for others until the fork of our DID log is decided; trustnode did show lists both branches")
	}
	if err != nil {
		return nil, "", err
	}
	return s.first(ctx, listed)
}

// Log is the signer of the own log. While a fork freezes the own DID that goes on under
// the key of the version held first: it records what is done here, and no peer takes it
// before the fork is decided. Should that fall on the other branch, it never counts.
func (s *signers) Log(ctx context.Context) (envelope.Signer, string, error) {
	listed, err := s.listed(ctx)
	if errors.Is(err, keyring.ErrFrozen) {
		var all []keyring.Listing
		if all, err = s.ring.Versions(ctx, s.org); err == nil && len(all) > 0 {
			listed = all[len(all)-1].Keys
		}
	}
	if err != nil {
		return nil, "", err
	}
	return s.first(ctx, listed)
}

// first is the signer of the first of some keys that is in the node's store.
func (s *signers) first(ctx context.Context, listed []did.PublicKey) (envelope.Signer, string, error) {
	for _, k := range listed {
		if signer, err := s.signer(ctx, k); err == nil {
			return signer, k.Multikey(), nil
		}
	}
	return nil, "", fault.Wrap(fault.Refused, "no_key", fmt.Errorf("issuer key of the newest document: %w", self.ErrNoKey)).
		WithHint("put back a newer copy of the keys, or make another key: trustnode did rotate --reason lost, with --recovery where the update keys are old too")
}

// listed are the issuer keys of the newest version, or where that ended the DID of the
// one before: it announces the end.
func (s *signers) listed(ctx context.Context) ([]did.PublicKey, error) {
	if err := self.Behind(ctx, s.ring, s.org); err != nil {
		return nil, err
	}
	v, err := s.ring.Head(ctx, s.org)
	if err != nil {
		return nil, err
	}
	if v.State != did.Deactivated {
		return s.ring.At(s.org, v.ID)
	}
	h, err := s.ring.History(ctx, s.org)
	if err != nil {
		return nil, err
	}
	last, _ := h.At(h.Len() - 1)
	return s.ring.At(s.org, last.ID)
}

// byKid is the signer of a key that need not be at the head any more.
func (s *signers) byKid(ctx context.Context, kid string) (envelope.Signer, error) {
	k, err := did.DecodeKey(kid)
	if err != nil {
		return nil, fmt.Errorf("kid %.80q is not a key of this node: %w", kid, err)
	}
	return s.signer(ctx, k)
}

// holds reports whether a private key is in the node's store.
func (s *signers) holds(ctx context.Context, k did.PublicKey) bool {
	_, err := s.keys.Signer(ctx, k)
	return err == nil
}

// holdsAny reports whether a key that some version of the own document lists is in the
// node's store.
func (s *signers) holdsAny(ctx context.Context) (bool, error) {
	all, err := s.ring.Versions(ctx, s.org)
	if errors.Is(err, keyring.ErrMethod) {
		return false, nil // a did:key has the one
	}
	if err != nil {
		return false, err
	}
	for _, v := range all {
		if _, _, err := s.first(ctx, v.Keys); err == nil {
			return true, nil
		}
	}
	return false, nil
}

// witness is the signer of cosignatures: the key behind the witness service.
func (s *signers) witness(ctx context.Context) (envelope.Signer, error) {
	doc, err := s.ring.Document(ctx, s.org)
	if err != nil {
		return nil, err
	}
	if k := didwebvh.RolesOf(doc).Witness; !k.IsZero() {
		return s.signer(ctx, k)
	}
	return nil, fmt.Errorf("witness of %s: %w", s.org, self.ErrNoKey)
}

// witnessKey is the signer of a key that some version of the own document names as its
// witness key: others' lists may still name one that was replaced since. No other key of
// this node signs for what a foreign log asks.
func (s *signers) witnessKey(ctx context.Context, k did.PublicKey) (envelope.Signer, error) {
	h, err := s.ring.History(ctx, s.org)
	if err != nil {
		return nil, err
	}
	for n := h.Len(); n > 0; n-- {
		v, _ := h.At(n)
		if didwebvh.RolesOf(v.Document).Witness == k {
			return s.signer(ctx, k)
		}
	}
	return nil, fmt.Errorf("%s is no witness key of %s: %w", k.Multikey(), s.org, self.ErrNoKey)
}

// Agent implements self.Signers.
func (s *signers) Agent(ctx context.Context, d did.DID) (envelope.Signer, string, error) {
	a, err := self.Agent(self.ViewGetter(ctx, s.db), d)
	if err != nil {
		return nil, "", err
	}
	signer, err := s.signer(ctx, a.Pub)
	return signer, a.KID, err
}

// NewAgent implements self.Signers.
func (s *signers) NewAgent(ctx context.Context) (envelope.Signer, error) { return s.newKey(ctx) }

// newKey makes and keeps a key of the organization.
func (s *signers) newKey(ctx context.Context) (envelope.Signer, error) { return s.keys.Generate(ctx) }

func (s *signers) signer(ctx context.Context, k did.PublicKey) (envelope.Signer, error) {
	signer, err := s.keys.Signer(ctx, k)
	if errors.Is(err, keys.ErrNoKey) {
		return nil, fmt.Errorf("%s: %w", k.Multikey(), self.ErrNoKey)
	}
	return signer, err
}
