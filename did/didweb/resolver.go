package didweb

import (
	"bytes"
	"context"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Resolver resolves did:web DIDs from the bytes of their did.json. It holds nothing; the zero value is ready and safe
// for concurrent use. That bytes resolve says only that they are a document of this DID: whether its keys are to be
// trusted is for whoever pinned a snapshot of it to say.
type Resolver struct{}

var _ did.Resolver = Resolver{}

// Method returns "web".
func (Resolver) Method() string { return Method }

// Resolve implements did.Resolver. m.Log is the did.json; the version is the id of these bytes, envelope.IDOf, and the
// only one there is. Errors are *did.ResolutionError: INVALID_DID, NOT_FOUND without bytes or for another version,
// INVALID_DID_DOCUMENT for bytes that are no document of d, INVALID_OPTIONS for a time or a number.
func (Resolver) Resolve(ctx context.Context, d did.DID, m did.Material, o did.Options) (did.Resolution, error) {
	if err := ctx.Err(); err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InternalError, Err: err}
	}
	if _, err := ParseIdentifier(d); err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidDID, Err: err}
	}
	if o.VersionNumber != 0 || !o.VersionTime.IsZero() {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidOptions, Detail: "did:web has no history"}
	}
	if len(m.Log) == 0 {
		return did.Resolution{}, &did.ResolutionError{Name: did.NotFound, Detail: "no document", Err: did.ErrAbsent}
	}
	doc, err := did.ParseDocument(m.Log, d)
	if err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidDIDDocument, Err: err}
	}
	version := envelope.IDOf(m.Log).String()
	if o.VersionID != "" && o.VersionID != version {
		return did.Resolution{}, &did.ResolutionError{Name: did.NotFound, Detail: "no such version; the document is " + version}
	}
	return did.Resolution{
		DID: d, Document: doc, Raw: bytes.Clone(m.Log), Version: version, VerifiedAt: o.Now, State: did.Held,
		Warnings: doc.Warnings(), Evidence: []did.Evidence{{Step: "key", Version: version}, {Step: "head", Version: version}},
	}, nil
}
