package didwebvh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
)

// RotateRequest is one rotation: the committed update key is shown and spent.
// Each other key is replaced where one is given and stays where it is zero, so
// an entry may change one role, some, or none. What else the document holds
// stays as it is.
type RotateRequest struct {
	Update     envelope.Signer // the next key, or the recovery key
	Next       did.PublicKey   // the key to commit to
	Recovery   did.PublicKey   // zero: the recovery hash is kept. Must be given when Update is the recovery key
	Issuer     did.PublicKey   // the new issuer key
	Governance did.PublicKey   // the new governance key, the first where there was none
	WitnessKey did.PublicKey   // the new own witness key, as the service WitnessService names it
	Services   []Service       // each replaces the one of its name, or is added; not for the witness key
	Witness    *WitnessList    // nil: the list stays
	At         time.Time       // versionTime, moved to a second after the head where it is not later
}

// Rotate makes the line of the entry after h, without newline. Where witnesses
// govern the entry it is not valid before they signed: see Governing. A signer
// that is not committed to wraps ErrKey, a key that h already knew ErrReused; a
// deactivated log is an *Error with ReasonDeactivated.
func Rotate(ctx context.Context, h History, r RotateRequest) ([]byte, error) {
	hashes, err := h.commit(r.Update, r.Next, r.Recovery, r.Issuer, r.Governance, r.WitnessKey)
	if err != nil {
		return nil, err
	}
	state, err := r.state(h)
	if err != nil {
		return nil, err
	}
	parameters := succession(r.Update, hashes)
	if r.Witness != nil {
		parameters = parameters.With("witness", r.Witness.value())
	}
	return h.seal(ctx, r.Update, parameters, state, r.At)
}

// succession is what every entry but the first says about update keys.
func succession(update envelope.Signer, hashes []string) strictjson.Value {
	return strictjson.ObjectOf(
		member("updateKeys", strictjson.StringsOf(update.Public().Multikey())),
		member("nextKeyHashes", strictjson.StringsOf(hashes...)),
	)
}

// committed is where in the hashes of the head the signer's key is: 0 for the
// next key, more for a recovery key.
func (h History) committed(update envelope.Signer) (int, error) {
	if h.Deactivated() {
		return 0, at(h.Len()+1, refuse(ReasonDeactivated, "entry %d ended the DID", h.Len()))
	}
	i := slices.Index(h.Head().Parameters.NextKeyHashes, KeyHash(update.Public()))
	if i < 0 {
		return 0, fmt.Errorf("%s: %w", update.Public().Multikey(), ErrKey)
	}
	return i, nil
}

// commit answers the new hashes, and refuses new keys that are not fresh. The
// first of the old hashes is the next key's, so a key found later in the list
// is the recovery key, used because the next one is lost: the lost one must not
// stay committed.
func (h History) commit(update envelope.Signer, next, recovery did.PublicKey, listed ...did.PublicKey) ([]string, error) {
	i, err := h.committed(update)
	if err != nil {
		return nil, err
	}
	if next.IsZero() {
		return nil, errors.New("no next update key is given")
	}
	if err := h.fresh(append([]did.PublicKey{next, recovery}, listed...)...); err != nil {
		return nil, err
	}
	if !recovery.IsZero() {
		return []string{KeyHash(next), KeyHash(recovery)}, nil
	}
	if i > 0 {
		return nil, errors.New("the recovery key is spent by this entry: a new one is needed")
	}
	return append([]string{KeyHash(next)}, h.Head().Parameters.NextKeyHashes[1:]...), nil
}

func (r RotateRequest) state(h History) (strictjson.Value, error) {
	doc, err := h.state()
	if err != nil {
		return strictjson.Value{}, err
	}
	e := editor{h.DID().String(), doc}
	was := RolesOf(h.Head().Document)
	if !r.Issuer.IsZero() {
		e.key(was.Issuer, r.Issuer, assertion, authentication)
	}
	if !r.Governance.IsZero() {
		e.key(was.Governance, r.Governance, assertion)
	}
	if err := e.ownServices(r.Services); err != nil {
		return strictjson.Value{}, err
	}
	if !r.WitnessKey.IsZero() {
		e.services(Service{WitnessService, WitnessType, didKey + r.WitnessKey.Multikey()})
	}
	return e.doc, nil
}

// ownServices sets services but for the one that names a key, whose changes are checked elsewhere.
func (d *editor) ownServices(list []Service) error {
	if slices.ContainsFunc(list, func(s Service) bool { return s.Name == WitnessService }) {
		return fmt.Errorf("the service #%s is set with the witness key", WitnessService)
	}
	d.services(list...)
	return nil
}

func (w WitnessList) value() strictjson.Value {
	if w.None() {
		return strictjson.ObjectOf()
	}
	var list []strictjson.Value
	for _, k := range w.Keys {
		list = append(list, strictjson.ObjectOf(member("id", strictjson.StringOf(didKey+k.Multikey()))))
	}
	return strictjson.ObjectOf(
		member("threshold", strictjson.UintOf(uint64(w.Threshold))), member("witnesses", strictjson.ArrayOf(list...)))
}
