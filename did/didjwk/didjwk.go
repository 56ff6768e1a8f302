// Package didjwk answers: which key is did:jwk:eyJ…, and what document does it stand for?
//
// It speaks did:jwk (J. Miller): the DID is a public JSON Web Key (RFC 7517) in base64url, so resolution needs no material,
// no network and no clock, and gives the same result for ever. The document has one method, "#0", and is written in its RFC
// 8785 form. The key is one that did.DecodeJWK reads; a private member refuses the DID.
//
// Many DIDs stand for one key, since JSON has many spellings: DIDs are compared, never their keys. It writes none.
package didjwk

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"trustnode/did"
	"trustnode/did/strictjson"
)

// Method is the method's name.
const Method = "jwk"

// Fragment names the one verification method of each did:jwk, whatever kid the key may carry.
const Fragment = "0"

// ErrMethod says that a DID is of another method.
var ErrMethod = errors.New("not a did:jwk")

// Resolver resolves did:jwk. The zero value is ready and safe for concurrent use.
type Resolver struct{}

var _ did.Resolver = Resolver{}

// Method returns "jwk".
func (Resolver) Method() string { return Method }

// Resolve implements did.Resolver. Material is not looked at. The state is held, the version did.StaticVersion, no time is
// set. Errors are *did.ResolutionError: INVALID_DID around an error of did.DecodeJWK, FEATURE_NOT_SUPPORTED for a type of
// key that is not supported, INVALID_OPTIONS for a version.
func (Resolver) Resolve(ctx context.Context, d did.DID, _ did.Material, o did.Options) (did.Resolution, error) {
	if err := o.Versionless(ctx, Method); err != nil {
		return did.Resolution{}, err
	}
	jwk, rels, err := decode(d)
	if err != nil {
		return did.Resolution{}, refusal(err)
	}
	raw, err := document(d, jwk, rels)
	if err != nil {
		return did.Resolution{}, refusal(err)
	}
	doc, err := did.ParseDocument(raw, d)
	if err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InternalError, Err: err}
	}
	return did.Resolution{
		DID: d, Document: doc, Raw: doc.Raw(), Version: did.StaticVersion, State: did.Held, Warnings: doc.Warnings(),
	}, nil
}

// decode returns the key that d is and what it may be used for.
func decode(d did.DID) (strictjson.Value, []did.Relationship, error) {
	if d.Method() != Method {
		return strictjson.Value{}, nil, fmt.Errorf("%w: method %q", ErrMethod, d.Method())
	}
	// Not strict, the decoder would ignore bits at the end: two DIDs for one spelling of a key.
	raw, err := base64.RawURLEncoding.Strict().DecodeString(d.ID())
	if err != nil {
		return strictjson.Value{}, nil, fmt.Errorf("not unpadded base64url: %w", did.ErrKeyText)
	}
	v, err := strictjson.Parse(raw, maxDepth)
	if err != nil {
		return strictjson.Value{}, nil, fmt.Errorf("JWK: %v: %w", err, did.ErrKeyText)
	}
	rels, err := relationships(v)
	return v, rels, err
}

// refusal names err as DID Resolution 1.0 does.
func refusal(err error) error {
	r := &did.ResolutionError{Name: did.InvalidDID, Err: err}
	if errors.Is(err, did.ErrKeyUnsupported) {
		r.Name = did.FeatureNotSupported
	}
	return r
}
