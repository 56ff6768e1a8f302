package recorder

import (
	"context"

	"trustnode/attestation"
	"trustnode/did"
)

// Log returns the log of an organization as held here, or attestation.ErrNotFound.
func (r *Recorder) Log(ctx context.Context, d did.DID) (attestation.Log, error) {
	return r.cfg.Events.Log(ctx, d)
}
