package daemon

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keys"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
	"trustnode/node/member"
)

// custody opens, for one command, the keys that the node does not hold while it runs.
type custody struct{ n *Node }

var _ httpapi.Custody = custody{}

// Authority implements httpapi.Custody.
func (c custody) Authority(ctx context.Context, a httpapi.Authority) (httpapi.Opened, error) {
	o := httpapi.Opened{Authority: member.Authority{Wait: time.Duration(a.WaitS) * time.Second}}
	var closers []func()
	o.Close = func() {
		for _, f := range closers {
			f()
		}
	}
	if a.Recovery != "" {
		if err := c.recover(&o, a, &closers); err != nil {
			o.Close()
			return httpapi.Opened{}, err
		}
	}
	o.Authority.Update = func(ctx context.Context) (member.UpdateKeys, error) {
		s, err := c.updateStore(a)
		if err != nil {
			return nil, err
		}
		closers = append(closers, func() { s.Close() })
		return s, nil
	}
	return o, nil
}

// recover reads the recovery key and the public part of the one that takes its place. Who
// asks has made that one and written it down before: what a node that is killed now has
// committed to must not be lost with its answer.
func (c custody) recover(o *httpapi.Opened, a httpapi.Authority, closers *[]func()) error {
	text := []byte(a.Recovery)
	defer clear(text)
	old, err := parseRecovery(text)
	if err != nil {
		return err
	}
	*closers = append(*closers, old.Forget)
	o.Authority.Recovery = old.Signer()
	if a.NextRecovery == "" {
		return nil // an entry that ends the DID commits to none
	}
	if o.Authority.NextRecovery, err = did.DecodeKey(a.NextRecovery); err != nil {
		return fault.Wrap(fault.Invalid, "next_recovery", err)
	}
	return nil
}

// StoreExists tells whether a directory holds a store of keys.
func StoreExists(dir string) bool {
	there, err := keys.Exists(dir)
	return err == nil && there
}

// createStore makes a store of keys apart from the node's, under a passphrase of its own.
func createStore(dir, passphrase, variable string) (*keys.Store, error) {
	if len(passphrase) < minPassphrase {
		return nil, fault.New(fault.Invalid, "passphrase", "the passphrase of a new store has %d bytes, %d are needed", len(passphrase), minPassphrase).
			WithHint("set %s", variable)
	}
	return keys.Create(dir, []byte(passphrase))
}

// updateStore is the store of update keys at a place.
type updateStore struct {
	*keys.Store
	place, note string // note: the file that names the place, "" where it does so already
}

var _ member.UpdateKeys = updateStore{}

// Place implements member.UpdateKeys.
func (s updateStore) Place() string { return s.place }

// Remember implements member.UpdateKeys.
func (s updateStore) Remember() error {
	if s.note == "" {
		return nil
	}
	return os.WriteFile(s.note, []byte(s.place+"\n"), 0o600)
}

// updateStore opens the store of the next update key: where the command says, else where
// init was told, else under the data directory. With the recovery key a store that is not
// there is made anew: it is what was lost.
func (c custody) updateStore(a httpapi.Authority) (updateStore, error) {
	place, err := c.updatePlace(a.UpdateKeys)
	if err != nil {
		return updateStore{}, err
	}
	s, err := keys.Open(place, []byte(a.Passphrase))
	if errors.Is(err, keys.ErrAbsent) && a.Recovery != "" {
		s, err = createStore(place, a.Passphrase, "TRUSTNODE_UPDATE_PASSPHRASE")
	}
	switch {
	case errors.Is(err, keys.ErrAbsent):
		return updateStore{}, noUpdateStore(place)
	case errors.Is(err, keys.ErrPassphrase), errors.Is(err, keys.ErrEmpty):
		return updateStore{}, fault.New(fault.Unauthenticated, "update_keys", "the update keys in %s: %v", place, err).
			WithHint("give the passphrase of that store in TRUSTNODE_UPDATE_PASSPHRASE; if it is lost: trustnode did rotate --recovery --update-keys NEWDIR")
	case err != nil:
		return updateStore{}, err
	}
	out := updateStore{Store: s, place: place}
	if a.UpdateKeys != "" {
		out.note = filepath.Join(c.n.cfg.Dir, updateFile)
	}
	return out, nil
}

// LookForUpdateStore refuses a directory that surely holds no store of keys, before anybody
// is asked for its passphrase.
func LookForUpdateStore(place string) error {
	if there, err := keys.Exists(place); err == nil && !there {
		return noUpdateStore(place)
	}
	return nil
}

func noUpdateStore(place string) error {
	return fault.New(fault.NotFound, "update_keys", "no key store in %s", place).
		WithHint("mount the medium, or say where the update keys are with --update-keys DIR; if they are lost: trustnode did rotate --recovery --reason lost --update-keys NEWDIR")
}

// StoreOpens tells whether a directory holds a store of keys that a passphrase opens.
func StoreOpens(dir string, passphrase []byte) bool {
	s, err := keys.Open(dir, passphrase)
	if err != nil {
		return false
	}
	s.Close()
	return true
}

func (c custody) updatePlace(said string) (string, error) {
	if said != "" {
		return filepath.Abs(said)
	}
	b, err := os.ReadFile(filepath.Join(c.n.cfg.Dir, updateFile))
	if errors.Is(err, os.ErrNotExist) {
		return filepath.Join(c.n.cfg.Dir, updateDir), nil
	}
	return string(bytes.TrimSpace(b)), err
}

// UpdatePlace implements httpapi.Custody.
func (c custody) UpdatePlace() (place string, apart bool, err error) {
	if place, err = c.updatePlace(""); err != nil {
		return "", false, err
	}
	rel, err := filepath.Rel(c.n.cfg.Dir, place)
	return place, err != nil || !filepath.IsLocal(rel), nil
}

// Services implements httpapi.Custody.
func (custody) Services(domain string) []didwebvh.Service {
	return []didwebvh.Service{lendingAt(domain)}
}

// GovernanceSigner implements httpapi.Custody.
func (c custody) GovernanceSigner(ctx context.Context, dir, passphrase string) (envelope.Signer, func(), error) {
	doc, err := c.n.self.Ring.Document(ctx, c.n.cfg.Org)
	if err != nil {
		return nil, nil, err
	}
	want := didwebvh.RolesOf(doc).Governance
	if want.IsZero() {
		return nil, nil, fault.New(fault.Invalid, "governance_keys", "this organization has no governance key").WithHint("trustnode did rotate --role governance --governance-keys %s makes one", dir)
	}
	s, err := openGovernance(dir, passphrase)
	if err != nil {
		return nil, nil, err
	}
	signer, err := s.Signer(ctx, want)
	if err != nil {
		return nil, nil, errors.Join(fault.Wrap(fault.Unauthenticated, "governance_keys", err).WithHint("%s holds another key than the document names: trustnode did show", dir), s.Close())
	}
	return signer, func() { s.Close() }, nil
}

func openGovernance(dir, passphrase string) (*keys.Store, error) {
	s, err := keys.Open(dir, []byte(passphrase))
	switch {
	case errors.Is(err, keys.ErrPassphrase), errors.Is(err, keys.ErrEmpty):
		return nil, fault.Wrap(fault.Unauthenticated, "governance_keys", err).WithHint("give the passphrase of %s in TRUSTNODE_GOVERNANCE_PASSPHRASE", dir)
	case errors.Is(err, keys.ErrAbsent):
		return nil, fault.Wrap(fault.NotFound, "governance_keys", err).WithHint("mount the medium that holds %s", dir)
	}
	return s, err
}

// Governance implements httpapi.Custody: it makes a new key in the store of governance
// keys, which is made where there is none.
func (c custody) Governance(ctx context.Context, dir, passphrase string) (did.PublicKey, error) {
	s, err := openGovernance(dir, passphrase)
	if errors.Is(err, keys.ErrAbsent) {
		s, err = createStore(dir, passphrase, "TRUSTNODE_GOVERNANCE_PASSPHRASE")
	}
	if err != nil {
		return did.PublicKey{}, err
	}
	defer s.Close()
	k, err := s.Generate(ctx)
	if err != nil {
		return did.PublicKey{}, err
	}
	return k.Public(), nil
}

// DropGovernance implements httpapi.Custody.
func (c custody) DropGovernance(ctx context.Context, dir, passphrase string, k did.PublicKey) error {
	s, err := openGovernance(dir, passphrase)
	if err != nil {
		return err
	}
	return errors.Join(s.Delete(ctx, k), s.Close())
}
