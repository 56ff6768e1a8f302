package charter

import (
	"context"
	"errors"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
)

// Ring verifies DID logs from their bytes and keeps them, for one file or for good.
type Ring interface {
	Keys
	// Offer verifies the lines of a log from a version on, with the witness file as
	// it came, and gives the newest version held of that DID. Lines already held are no error.
	Offer(ctx context.Context, d did.DID, from uint64, log, witness []byte) (head string, err error)
}

// Positions is the half of Keys that the attestation logs answer.
type Positions interface {
	Ended(d did.DID, k did.PublicKey) (index uint64, ok bool)
	Signed(d did.DID, s pins.Slot, body envelope.ID) (index uint64, ok bool)
}

// NewRing joins a keyring and the positions in the logs; p may be nil where no
// log is held, and implement Anchors.
func NewRing(r *keyring.Ring, p Positions) Ring { return ring{r, p} }

// NewPast is a ring for charters that were accepted here before and are read again: a log
// that has fallen below its pin since still says which keys signed them.
func NewPast(r *keyring.Ring, p Positions) Ring { return past{ring{r, p}} }

type past struct{ ring }

// At is that of the past.
func (r past) At(d did.DID, version string) ([]did.PublicKey, error) {
	return r.Past().At(d, version)
}

// Extends is that of the past.
func (r past) Extends(d did.DID, older, newer string) (bool, error) {
	return r.Past().Extends(d, older, newer)
}

type ring struct {
	*keyring.Ring
	positions Positions
}

// Offer is that of the keyring; a log that ends before the head is held already.
func (r ring) Offer(ctx context.Context, d did.DID, _ uint64, log, witness []byte) (string, error) {
	res, err := r.Ring.Offer(ctx, d, log, witness)
	var lags *keyring.Rollback
	switch {
	case errors.As(err, &lags):
		v, err := r.Head(ctx, d)
		return v.ID, err
	case err != nil:
		return "", err
	}
	return res.Version.ID, nil
}

// Ended asks the positions.
func (r ring) Ended(d did.DID, k did.PublicKey) (uint64, bool) {
	if r.positions == nil {
		return 0, false
	}
	return r.positions.Ended(d, k)
}

// Signed asks the positions.
func (r ring) Signed(d did.DID, s pins.Slot, body envelope.ID) (uint64, bool) {
	if r.positions == nil {
		return 0, false
	}
	return r.positions.Signed(d, s, body)
}

// Anchored asks the positions, if they know of anchors.
func (r ring) Anchored(id envelope.ID) bool {
	a, ok := r.positions.(Anchors)
	return ok && a.Anchored(id)
}
