package daemon

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"trustnode/did/keys"
	"trustnode/node/fault"
	"trustnode/node/member"
)

// rotate replaces the issuer key with the update store opened for this one command.
func (n *Node) rotate(ctx context.Context) (member.Rotated, error) {
	var opened *keys.Store
	defer func() {
		if opened != nil {
			opened.Close()
		}
	}()
	return n.member.Rotate(ctx, member.RotateInput{Reason: "scheduled", Update: func(context.Context) (member.UpdateKeys, error) {
		s, err := n.openUpdateStore()
		opened = s
		return s, err
	}})
}

// openUpdateStore finds the store of the next update key: where init was told, or under
// the data directory. Its passphrase is its own, or the node's.
func (n *Node) openUpdateStore() (*keys.Store, error) {
	place := filepath.Join(n.cfg.Dir, updateDir)
	if b, err := os.ReadFile(filepath.Join(n.cfg.Dir, updateFile)); err == nil {
		place = string(bytes.TrimSpace(b))
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	pass := os.Getenv("TRUSTNODE_UPDATE_PASSPHRASE")
	if pass == "" {
		pass = os.Getenv("TRUSTNODE_PASSPHRASE")
	}
	s, err := keys.Open(place, []byte(pass))
	if errors.Is(err, keys.ErrPassphrase) || errors.Is(err, keys.ErrAbsent) || errors.Is(err, keys.ErrEmpty) {
		return nil, fault.Wrap(fault.Unauthenticated, "update_keys", err).WithHint("mount %s and set TRUSTNODE_UPDATE_PASSPHRASE where the node runs", place)
	}
	return s, err
}
