// Package didpeer answers: what document does a did:peer stand for?
//
// It reads the Peer DID Method Specification (DIF) at three of its numalgos: 0, one key; 2, keys and services written
// one after the other; 4, a whole document with its hash. All resolve from the DID alone, offline and for ever. The one
// exception is the short form of numalgo 4, the hash without its document: it needs the long form, which whoever met it
// has stored under the DID that Short gives.
//
// It writes none: no did:peer is made here. Numalgo 1 and 3 cannot be resolved from what is at hand, 5 and above are not
// defined; they are refused. Documents are written in their RFC 8785 form, so that a DID has one document to the byte. Each
// key of numalgo 0 and 2 must be one that did.DecodeKey reads, under a purpose that its algorithm can serve: X25519 signs
// nothing, Ed25519 agrees on nothing. A document of numalgo 4 is judged as any foreign document is: a bad key is unusable,
// the rest stands.
package didpeer

import (
	"context"
	"errors"
	"fmt"

	"trustnode/did"
)

// Method is the method's name.
const Method = "peer"

// Errors that say why a DID has no document. Those of did.DecodeKey stand beside them, did.ErrDocument for what a
// numalgo 4 carries, and did.ErrTooLarge.
var (
	// ErrMethod says that a DID is of another method.
	ErrMethod = errors.New("not a did:peer")
	// ErrNumalgo says that the DID was made in a way that is not read here.
	ErrNumalgo = errors.New("unsupported numalgo")
	// ErrForm says that the identifier does not follow the form of its numalgo.
	ErrForm = errors.New("malformed did:peer")
	// ErrHash says that a numalgo 4 carries another document than the one its hash is of.
	ErrHash = errors.New("document does not match its hash")
)

// Resolver resolves did:peer. The zero value is ready and safe for concurrent use.
type Resolver struct{}

var _ did.Resolver = Resolver{}

// Method returns "peer".
func (Resolver) Method() string { return Method }

// Resolve implements did.Resolver. m.Log is looked at for the short form of numalgo 4 alone and holds its long form, the
// bare DID without white space. The state is held, the version did.StaticVersion, no time is set. Errors are
// *did.ResolutionError: INVALID_DID; INVALID_DID_DOCUMENT for what a numalgo 4 carries; FEATURE_NOT_SUPPORTED for another
// numalgo or type of key; NOT_FOUND with did.ErrAbsent for a short form without its long form; INVALID_OPTIONS for a version.
func (Resolver) Resolve(ctx context.Context, d did.DID, m did.Material, o did.Options) (did.Resolution, error) {
	if err := o.Versionless(ctx, Method); err != nil {
		return did.Resolution{}, err
	}
	raw, err := document(d, m.Log)
	if err != nil {
		return did.Resolution{}, refusal(err)
	}
	doc, err := did.ParseDocument(raw, d)
	if err != nil {
		return did.Resolution{}, refusal(err)
	}
	return did.Resolution{
		DID: d, Document: doc, Raw: doc.Raw(), Version: did.StaticVersion, State: did.Held, Warnings: doc.Warnings(),
	}, nil
}

// document returns the document of d in its RFC 8785 form.
func document(d did.DID, stored []byte) ([]byte, error) {
	if d.Method() != Method {
		return nil, fmt.Errorf("%w: method %q", ErrMethod, d.Method())
	}
	numalgo, rest := d.ID()[0], d.ID()[1:]
	switch numalgo {
	case '0':
		return ofKey(d, rest)
	case '2':
		return ofElements(d, rest)
	case '4':
		return ofDocument(d, stored)
	case '1', '3', '5', '6', '7', '8', '9':
		return nil, fmt.Errorf("%w %c; supported: 0, 2, 4", ErrNumalgo, numalgo)
	}
	return nil, fmt.Errorf("%w: no numalgo", ErrForm)
}

// refusal names err as DID Resolution 1.0 does.
func refusal(err error) error {
	r := &did.ResolutionError{Name: did.InvalidDID, Err: err}
	switch {
	case errors.Is(err, did.ErrAbsent):
		r.Name, r.Detail = did.NotFound, "short form without its long form"
	case errors.Is(err, ErrNumalgo), errors.Is(err, did.ErrKeyUnsupported):
		r.Name = did.FeatureNotSupported
	case errors.Is(err, did.ErrDocument):
		r.Name = did.InvalidDIDDocument
	}
	return r
}
