package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"trustnode/did/keys"
	"trustnode/node/config"
	"trustnode/node/fault"
)

// ChangePassphrase puts the node's keys under another passphrase, and the update keys with
// them where they lie in the data directory under the same one. It names the directories
// that were changed. No node may run. A crash leaves each store under the old or the new
// passphrase; the same command again finishes.
func ChangePassphrase(ctx context.Context, cfg config.Config, old, next []byte) (changed []string, err error) {
	if err := longEnough(next); err != nil {
		return nil, err
	}
	l, err := acquire(ctx, cfg.Dir, startWait)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	for _, name := range []string{updateDir, keysDir} { // the node's last: it says whether the old one was right
		dir := filepath.Join(cfg.Dir, name)
		done, err := rekey(dir, old, next)
		if done {
			changed = append(changed, dir)
		}
		if errors.Is(err, keys.ErrPassphrase) && name == updateDir || errors.Is(err, keys.ErrAbsent) {
			continue // it has its own, or lies elsewhere
		}
		if err != nil {
			return changed, wrongPassphrase(dir, err)
		}
	}
	return changed, nil
}

// ChangePassphraseOf is ChangePassphrase for one store that is not the node's.
func ChangePassphraseOf(dir string, old, next []byte) error {
	if err := longEnough(next); err != nil {
		return err
	}
	_, err := rekey(dir, old, next)
	return wrongPassphrase(dir, err)
}

// rekey changes one store; one that is under the new passphrase already is done.
func rekey(dir string, old, next []byte) (done bool, err error) {
	err = keys.Rekey(dir, old, next)
	if errors.Is(err, keys.ErrPassphrase) {
		if s, again := keys.Open(dir, next); again == nil {
			return true, s.Close()
		}
	}
	return err == nil, err
}

func longEnough(pass []byte) error {
	if len(pass) < minPassphrase {
		return fault.New(fault.Invalid, "passphrase", "the new passphrase has %d bytes, at least %d are needed", len(pass), minPassphrase)
	}
	return nil
}

func wrongPassphrase(dir string, err error) error {
	switch {
	case errors.Is(err, keys.ErrPassphrase):
		return fault.New(fault.Unauthenticated, "passphrase", "the old passphrase does not open the keys in %s", dir).WithHint("nothing was changed there")
	case errors.Is(err, keys.ErrAbsent):
		return fault.New(fault.NotFound, "keys", "%s holds no keys", dir)
	case err != nil:
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
