package didwebvh

import (
	"context"
	"time"

	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// DeactivateRequest ends a DID.
type DeactivateRequest struct {
	Update envelope.Signer // the next key, or the recovery key
	At     time.Time       // versionTime, moved to a second after the head where it is not later
}

// Deactivate makes the line of the last entry a log can have, without newline.
// The document stays as it is and lists its keys, so that what they signed
// before still verifies. As pre-rotation is in force the entry must show a
// committed key, so updateKeys cannot be emptied in it as did:webvh 1.0,
// "Deactivate (Revoke)", advises; that would take a second entry, and none
// follows a deactivating one. Errors are those of Rotate.
func Deactivate(ctx context.Context, h History, r DeactivateRequest) ([]byte, error) {
	if _, err := h.committed(r.Update); err != nil {
		return nil, err
	}
	state, err := h.state()
	if err != nil {
		return nil, err
	}
	parameters := succession(r.Update, nil).With("deactivated", strictjson.BoolOf(true))
	return h.seal(ctx, r.Update, parameters, state, r.At)
}
