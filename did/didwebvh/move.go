package didwebvh

import (
	"context"
	"fmt"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// MoveRequest takes a DID to another host. Its keys stay.
type MoveRequest struct {
	Update   envelope.Signer // the next key, or the recovery key
	Next     did.PublicKey   // the key to commit to
	Recovery did.PublicKey   // zero: the recovery hash is kept. Must be given when Update is the recovery key
	Domain   string          // of the new place: as in CreateRequest
	Path     []string        // of the new place
	Services []Service       // those whose endpoints move: as in RotateRequest
	At       time.Time       // versionTime, moved to a second after the head where it is not later
}

// Move makes the line of the entry after h that gives the DID a new place under
// its old SCID, without newline: did:webvh 1.0, "DID Portability". References to
// the DID in its document are written anew. alsoKnownAs starts with the parallel
// did:web of the new place and the DID that was left; the did:web of the old
// place goes out, for whoever gets the old domain speaks for it. Errors are those
// of Rotate; a bad domain or path wraps ErrIdentifier, and a log that is not
// portable is an *Error with ReasonDocument.
func Move(ctx context.Context, h History, r MoveRequest) ([]byte, error) {
	hashes, err := h.commit(r.Update, r.Next, r.Recovery)
	if err != nil {
		return nil, err
	}
	place := placeOf(r.Domain, r.Path)
	next, err := didAt(h.SCID(), place)
	if err != nil {
		return nil, err
	}
	if next == h.DID() {
		return nil, fmt.Errorf("%w: the DID is at %s already", ErrIdentifier, place)
	}
	doc, err := h.state()
	if err != nil {
		return nil, err
	}
	e := editor{h.DID().String(), doc}
	e.rename(next.String())
	oldPlace := strings.TrimPrefix(h.DID().String(), "did:"+Method+":"+h.SCID()+":")
	e.aliases([]string{webAt(place), h.DID().String()}, []string{webAt(oldPlace), next.String()})
	if err := e.ownServices(r.Services); err != nil {
		return nil, err
	}
	return h.seal(ctx, r.Update, succession(r.Update, hashes), e.doc, r.At)
}
