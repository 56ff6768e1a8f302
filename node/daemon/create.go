package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/keys"
	"trustnode/node/fault"
	"trustnode/node/resolver"
)

// CreateOptions is what an identity without a node needs.
type CreateOptions struct {
	Dir        string   // where it is written; must not exist, or be empty
	Domain     string   // in the DID
	Path       []string // segments under the domain; none: its .well-known
	UpdateKeys string   // directory of the update store; empty: under Dir
	Passphrase []byte
	keyParams  []keys.Params // tests: a cheap key derivation
}

// CreateResult is what was made. Recovery is shown once and kept nowhere.
type CreateResult struct {
	DID         did.DID
	Dir         string
	Fingerprint string
	Recovery    string
	Files       []string // below Dir, for the web server
	URL         string   // where the log has to be reached
}

// CreateIdentity makes the keys and the first entry of a DID, and the files for its web
// server, without a node: for labs and for identities that other programs use. The
// directory exists whole or not at all. Init makes an identity and the node it belongs to.
func CreateIdentity(ctx context.Context, o CreateOptions) (CreateResult, error) {
	switch {
	case o.Domain == "":
		return CreateResult{}, fault.New(fault.Invalid, "domain", "no domain given")
	case len(o.Passphrase) < minPassphrase:
		return CreateResult{}, fault.New(fault.Invalid, "passphrase", "the passphrase has %d bytes, at least %d are needed", len(o.Passphrase), minPassphrase)
	}
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return CreateResult{}, err
	}
	if o.UpdateKeys != "" {
		if o.UpdateKeys, err = filepath.Abs(o.UpdateKeys); err != nil {
			return CreateResult{}, err
		}
	}
	var r CreateResult
	err = whole(o.Dir, func(tmp string) error {
		r, err = o.build(ctx, tmp)
		return err
	})
	r.Dir = o.Dir
	if err != nil {
		return CreateResult{}, err
	}
	return r, nil
}

func (o CreateOptions) build(ctx context.Context, dir string) (CreateResult, error) {
	ks, err := keys.Create(filepath.Join(dir, keysDir), o.Passphrase, o.keyParams...)
	if err != nil {
		return CreateResult{}, err
	}
	defer ks.Close()
	id, err := newIdentity(ctx, InitOptions{Domain: o.Domain, path: o.Path, UpdateKeys: o.UpdateKeys, Passphrase: o.Passphrase, keyParams: o.keyParams}, ks, dir)
	if err != nil {
		return CreateResult{}, err
	}
	place, err := didwebvh.ParseIdentifier(id.did)
	if err != nil {
		return CreateResult{}, err
	}
	_, web, err := id.history.Web()
	if err != nil {
		return CreateResult{}, err
	}
	r := CreateResult{DID: id.did, Fingerprint: id.fingerprint, Recovery: id.recovery, URL: place.URL()}
	for _, f := range []struct {
		name string
		b    []byte
	}{{resolver.FileLog, id.line}, {resolver.FileWeb, web}} {
		if err := writeSynced(filepath.Join(dir, f.name), f.b); err != nil {
			return CreateResult{}, err
		}
		r.Files = append(r.Files, f.name)
	}
	return r, nil
}

// writeSynced writes a new file that outlives a power cut.
func writeSynced(name string, b []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}
