// Package daemon answers: how does a configuration become a running process?
//
// It opens the data directory, wires the packages of the node together and starts,
// watches and stops what runs in them. It decides nothing about loans, cases or members.
package daemon

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/keys"
	"trustnode/did/pins"
	"trustnode/did/weblocation"
	"trustnode/federation/p2p"
	"trustnode/node/config"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// InitOptions is what a new organization decides.
type InitOptions struct {
	Dir, Name, Domain, Contact string
	HTTP                       string
	P2P                        []string
	Ballast                    uint64 // bytes of DIR/ballast; 0 keeps none
	UpdateKeys                 string // directory of the update store; empty: under Dir
	Passphrase                 []byte
	UpdatePassphrase           []byte        // of the update store; empty: the node's
	path                       []string      // segments under the domain; none: its .well-known
	keyParams                  []keys.Params // tests: a cheap key derivation
}

// InitResult is what init made. Recovery is shown once and kept nowhere.
type InitResult struct {
	Org         did.DID
	Dir         string
	Fingerprint string
	Recovery    string
}

// Limits of what a person types.
const (
	maxName       = 64
	minPassphrase = 8
)

// Init creates an organization's identity and its data directory. The directory is built
// beside its place and renamed into it, so that it exists whole or not at all.
func Init(ctx context.Context, o InitOptions) (InitResult, error) {
	if err := o.check(); err != nil {
		return InitResult{}, err
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return InitResult{}, err
	}
	if o.UpdateKeys != "" {
		if o.UpdateKeys, err = filepath.Abs(o.UpdateKeys); err != nil {
			return InitResult{}, err
		}
	}
	undo, err := o.apart()
	if err != nil {
		return InitResult{}, err
	}
	var r InitResult
	if err := whole(dir, func(tmp string) error {
		r, err = build(ctx, o, tmp)
		return err
	}); err != nil {
		undo()
		return InitResult{}, err
	}
	r.Dir = dir
	return r, nil
}

// apart looks at the place of the update keys, if they are to lie apart. undo takes back
// what is made there, so that init can be tried again.
func (o InitOptions) apart() (undo func(), err error) {
	if o.UpdateKeys == "" {
		return func() {}, nil
	}
	there, err := keys.Exists(o.UpdateKeys)
	if err != nil {
		return nil, err
	}
	if there {
		return nil, fault.New(fault.Conflict, "update_keys", "%s holds keys already", o.UpdateKeys).WithHint("name another directory: they may be another organization's")
	}
	if _, err := os.Stat(o.UpdateKeys); err == nil {
		return func() {}, nil // somebody's directory; a second try finds its store and says so
	}
	return func() { _ = os.RemoveAll(o.UpdateKeys) }, nil
}

// whole makes a directory by build, which is given another one beside it: it exists whole
// or not at all.
func whole(dir string, build func(tmp string) error) error {
	if err := free(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	sweep(dir + building)
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+building)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	mark, err := claim(tmp)
	if err != nil {
		return err
	}
	defer mark.Close()
	if err := build(tmp); err != nil {
		return err
	}
	// An empty directory may stand in the way; a full one was refused above.
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

func (o InitOptions) check() error {
	switch {
	case o.Name == "" || len([]rune(o.Name)) > maxName:
		return fault.New(fault.Invalid, "name", "the name has %d characters, allowed are 1..%d", len([]rune(o.Name)), maxName)
	case envelope.CheckText(o.Name, false) != nil:
		return fault.Wrap(fault.Invalid, "name", envelope.CheckText(o.Name, false)).WithHint("a name is shown to people: one line of plain text")
	case o.Domain == "":
		return fault.New(fault.Invalid, "domain", "no domain given")
	case len(o.Passphrase) < minPassphrase:
		return fault.New(fault.Invalid, "passphrase", "the passphrase has %d bytes, at least %d are needed", len(o.Passphrase), minPassphrase)
	case len(o.UpdatePassphrase) > 0 && len(o.UpdatePassphrase) < minPassphrase:
		return fault.New(fault.Invalid, "passphrase", "the passphrase of the update keys has %d bytes, at least %d are needed", len(o.UpdatePassphrase), minPassphrase)
	}
	if at, err := weblocation.Parse(strings.ReplaceAll(o.Domain, ":", "%3A")); err != nil || !at.Qualified() {
		return badDomain(err)
	}
	return o.checkAddresses()
}

func badDomain(err error) error {
	if err == nil {
		err = didwebvh.ErrIdentifier
	}
	return fault.Wrap(fault.Invalid, "domain", err).WithHint("a host name of the organization such as acme.example, without scheme or path; localhost is none")
}

// checkAddresses refuses what run could not listen on: init cannot be repeated.
func (o InitOptions) checkAddresses() error {
	for _, a := range o.P2P {
		if err := p2p.CheckListen(a); err != nil {
			return fault.Wrap(fault.Invalid, "p2p", err).WithHint("write it as /ip4/0.0.0.0/tcp/8421 or /ip4/0.0.0.0/udp/8421/quic-v1")
		}
	}
	if o.HTTP == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(o.HTTP)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" {
		return fault.New(fault.Invalid, "http", "%.80q is no address to listen on", o.HTTP).WithHint("write it as 127.0.0.1:8420; 0.0.0.0:8420 listens on every interface")
	}
	return nil
}

// free refuses a directory that holds anything: a node, or somebody else's files.
func free(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, config.File)); err == nil {
		return fault.New(fault.Conflict, "exists", "%s already holds a node", dir).WithHint("trustnode status --data %s", dir)
	}
	if len(entries) > 0 {
		return fault.New(fault.Conflict, "foreign", "%s is not empty and holds no node", dir).WithHint("name a directory of its own, or one that is still to be made")
	}
	return nil
}

// building marks a directory that init is filling.
const building = ".init-"

// abandoned is how old a half-built directory is when it cannot be somebody's first moment.
const abandoned = time.Minute

// claim locks a half-built directory for as long as this process builds it.
func claim(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sweep removes what an init that was killed left half-built: keys of no identity.
func sweep(prefix string) {
	left, _ := filepath.Glob(prefix + "*")
	for _, dir := range left {
		if st, err := os.Stat(dir); err != nil || time.Since(st.ModTime()) < abandoned {
			continue
		}
		if f, err := claim(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = f.Close()
		}
	}
}

// build fills a directory: keys, identity, pins, state, token, configuration.
func build(ctx context.Context, o InitOptions, dir string) (InitResult, error) {
	ks, err := keys.Create(filepath.Join(dir, keysDir), o.Passphrase, o.keyParams...)
	if err != nil {
		return InitResult{}, err
	}
	defer ks.Close()
	id, err := newIdentity(ctx, o, ks, dir)
	if err != nil {
		return InitResult{}, err
	}
	if err := keep(ctx, dir, id.did, id.line); err != nil {
		return InitResult{}, err
	}
	if err := writeToken(dir); err != nil {
		return InitResult{}, err
	}
	p2p := o.P2P
	if len(p2p) == 0 {
		p2p = config.DefaultP2P
	}
	cfg := config.Config{Dir: dir, Name: o.Name, Org: id.did, Contact: o.Contact, HTTP: o.HTTP, P2P: p2p, Ballast: o.Ballast}
	if err := config.Write(cfg); err != nil {
		return InitResult{}, err
	}
	return InitResult{Org: id.did, Fingerprint: id.fingerprint, Recovery: id.recovery}, nil
}

type identity struct {
	did         did.DID
	line        []byte
	history     didwebvh.History
	fingerprint string
	recovery    string
}

// newIdentity makes the keys and the first entry of the organization's DID log: issuer,
// witness and host key in the node's store, the next update key in a store of its own,
// the recovery key nowhere.
func newIdentity(ctx context.Context, o InitOptions, ks *keys.Store, dir string) (identity, error) {
	issuer, err := ks.Generate(ctx)
	if err != nil {
		return identity{}, err
	}
	witness, err := ks.Generate(ctx)
	if err != nil {
		return identity{}, err
	}
	if _, err := ks.HostKey(ctx); err != nil {
		return identity{}, err
	}
	us, err := createUpdateStore(o, dir)
	if err != nil {
		return identity{}, err
	}
	defer us.Close()
	update, err := us.Generate(ctx)
	if err != nil {
		return identity{}, err
	}
	next, err := us.Generate(ctx)
	if err != nil {
		return identity{}, err
	}
	rec, err := keys.NewRecovery()
	if err != nil {
		return identity{}, err
	}
	defer rec.Forget()
	w, err := didkey.FromKey(witness.Public())
	if err != nil {
		return identity{}, err
	}
	d, line, err := didwebvh.Create(ctx, didwebvh.CreateRequest{Domain: o.Domain, Path: o.path, Update: update, Next: next.Public(), Recovery: rec.Public(), Issuer: issuer.Public(), At: time.Now(),
		Services: []didwebvh.Service{lendingAt(o.Domain), {Name: didwebvh.WitnessService, Type: didwebvh.WitnessType, Endpoint: w.String()}}})
	if err != nil {
		return identity{}, badDomain(err)
	}
	h, err := didwebvh.Verify(append(line, '\n'), nil, time.Now())
	if err != nil {
		return identity{}, fmt.Errorf("the new identity does not verify: %w", err)
	}
	// A spent update key can do nothing; it is not kept.
	if err := us.Delete(ctx, update.Public()); err != nil {
		return identity{}, err
	}
	return identity{did: d, line: append(line, '\n'), history: h, fingerprint: keyring.Fingerprint(d, h.Head().ID), recovery: rec.Text()}, nil
}

// lendingAt is where a domain's node answers borrowers.
func lendingAt(domain string) didwebvh.Service {
	return didwebvh.Service{Name: "lending", Type: "TrustnodeLending", Endpoint: "https://" + domain + "/api/v1/permissions"}
}

func createUpdateStore(o InitOptions, dir string) (*keys.Store, error) {
	place := o.UpdateKeys
	if place == "" {
		place = filepath.Join(dir, updateDir)
	} else if err := os.WriteFile(filepath.Join(dir, updateFile), []byte(place+"\n"), 0o600); err != nil {
		return nil, err
	}
	pass := o.Passphrase
	if len(o.UpdatePassphrase) > 0 {
		pass = o.UpdatePassphrase
	}
	return keys.Create(place, pass, o.keyParams...)
}

// keep pins the first entry and stores it.
func keep(ctx context.Context, dir string, d did.DID, line []byte) error {
	p, err := pins.Open(filepath.Join(dir, pinsFile), time.Now)
	if err != nil {
		return err
	}
	defer p.Close()
	db, err := store.OpenBadger(filepath.Join(dir, stateDir), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return err
	}
	_, err = keyring.New(store.NewRing(db), p, time.Now).Offer(ctx, d, line, nil)
	return errors.Join(err, db.Close())
}

func writeToken(dir string) error {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return err
	}
	text := "tno_" + base64.RawURLEncoding.EncodeToString(b[:]) + "\n"
	f, err := os.OpenFile(filepath.Join(dir, TokenFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
