package member

import (
	"context"
	"errors"

	"trustnode/did"
	"trustnode/did/keyring"
	"trustnode/node/self"
	"trustnode/node/store"
)

// FinishPinned brings into ring the entry of the own DID log that a crash cut short between
// its pin and its state: the pin goes first, so the state is then one entry behind, and the
// entry with its proofs lies here whole. It is called before a node opens that is behind
// its pins, and does nothing where no such entry explains it: then the state itself is old.
func FinishPinned(ctx context.Context, db store.DB, ring *keyring.Ring, org did.DID) error {
	var below *keyring.Below
	if _, err := ring.Head(ctx, org); !errors.As(err, &below) {
		return nil
	}
	row, ok, err := get[entryRow](self.ViewGetter(ctx, db), keyEntry)
	if err != nil || !ok || row.Version != below.Pinned || row.step() < stepReady {
		return err
	}
	return row.offer(ctx, ring, org)
}
