// Package didkey answers: which key is did:key:z6Mk…, and what document does it stand for?
//
// It speaks did:key 0.9 (W3C CCG): the DID is the key, so resolution needs no material, no network and no clock, and gives the same
// result for ever. Documents come in Multikey form. Keys are those of did.DecodeKey: Ed25519 for signing; P-256 and
// X25519 are read and compared. No X25519 key is derived from an Ed25519 key: one key serves one purpose.
//
// A DID may carry the version, did:key:1:z6Mk…. It resolves, and it is another DID than the one without: DIDs are compared as
// they are written.
package didkey

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"trustnode/did"
)

// Method is the method's name.
const Method = "key"

// versionPrefix is the one version there is. It has one spelling, lest one key had endlessly many DIDs.
const versionPrefix = "1:"

// ErrMethod says that a DID is of another method.
var ErrMethod = errors.New("not a did:key")

// FromKey returns the DID that is the key k, without a version. The error is that of did.Parse, for the zero key.
func FromKey(k did.PublicKey) (did.DID, error) {
	return did.Parse("did:" + Method + ":" + k.Multikey())
}

// Key returns the key that d is. Errors: ErrMethod, and those of did.DecodeKey: did.ErrKeyText, did.ErrKeyLength,
// did.ErrKeyInvalid, did.ErrKeyUnsupported, did.ErrTooLarge.
func Key(d did.DID) (did.PublicKey, error) {
	if d.Method() != Method {
		return did.PublicKey{}, fmt.Errorf("%w: method %q", ErrMethod, d.Method())
	}
	text := keyText(d)
	k, err := did.DecodeKey(text)
	if errors.Is(err, did.ErrKeyUnsupported) && cut(text) {
		return did.PublicKey{}, fmt.Errorf("not a complete did:key, its key has %d characters, an Ed25519 one %d: %w", len(text), ed25519Text, did.ErrKeyLength)
	}
	return k, err
}

const (
	ed25519Text  = 48     // characters of the multikey text of every Ed25519 key
	ed25519Start = "z6Mk" // how each of them begins: did:key 0.9, section 3.1.1
	shortestText = 45     // characters of the shortest key there is, 32 bytes after one of a codec
)

// cut tells the text of a key that lost a part from that of a key of a type nobody knows here: its codec is then any number.
func cut(text string) bool {
	return len(text) < shortestText || strings.HasPrefix(text, ed25519Start) && len(text) != ed25519Text
}

// keyText returns the multikey text in d, which is the fragment of its verification method too.
func keyText(d did.DID) string { return strings.TrimPrefix(d.ID(), versionPrefix) }

// Resolver resolves did:key. The zero value is ready and safe for concurrent use.
type Resolver struct{}

var _ did.Resolver = Resolver{}

// Method returns "key".
func (Resolver) Method() string { return Method }

// Resolve implements did.Resolver. Material is not looked at. The state is held, the version did.StaticVersion, no time is
// set. Errors are *did.ResolutionError: INVALID_DID with the cause named by did:key 0.9 in Detail, FEATURE_NOT_SUPPORTED
// for a type of key that is not supported, INVALID_OPTIONS for a version.
func (Resolver) Resolve(ctx context.Context, d did.DID, _ did.Material, o did.Options) (did.Resolution, error) {
	if err := o.Versionless(ctx, Method); err != nil {
		return did.Resolution{}, err
	}
	key, err := Key(d)
	if err != nil {
		return did.Resolution{}, refusal(err)
	}
	doc, err := did.ParseDocument(document(d, key), d)
	if err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InternalError, Err: err}
	}
	return did.Resolution{DID: d, Document: doc, Raw: doc.Raw(), Version: did.StaticVersion, State: did.Held}, nil
}

// refusal names err as did:key 0.9 and DID Resolution 1.0 do.
func refusal(err error) error {
	r := &did.ResolutionError{Name: did.InvalidDID, Detail: "invalidDid", Err: err}
	switch {
	case errors.Is(err, did.ErrKeyLength):
		r.Detail = "invalidPublicKeyLength"
	case errors.Is(err, did.ErrKeyInvalid):
		r.Detail = "invalidPublicKey"
	case errors.Is(err, did.ErrKeyUnsupported):
		r.Name, r.Detail = did.FeatureNotSupported, "unsupportedPublicKeyType"
	}
	return r
}
