package didwebvh

import (
	"context"
	"errors"

	"trustnode/did"
)

// Resolver resolves did:webvh DIDs from the bytes of their logs. It holds nothing; the zero value is ready.
type Resolver struct{}

var _ did.Resolver = Resolver{}

// Method returns "webvh".
func (Resolver) Method() string { return Method }

// Resolve verifies m.Log and answers the version the options ask for, the head
// by default. Errors are *did.ResolutionError.
func (Resolver) Resolve(_ context.Context, d did.DID, m did.Material, o did.Options) (did.Resolution, error) {
	if _, err := ParseIdentifier(d); err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidDID, Err: err}
	}
	if len(m.Log) == 0 {
		return did.Resolution{}, &did.ResolutionError{Name: did.NotFound, Detail: "no log", Err: did.ErrAbsent}
	}
	h, err := Verify(m.Log, m.Witness, o.Now)
	if err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: errorName(err), Err: err}
	}
	if !h.Names(d) {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidDID, Detail: "the log is of " + h.DID().String(), Err: did.ErrUnverified}
	}
	v, err := pick(h, o)
	if err != nil {
		return did.Resolution{}, err
	}
	return resolution(d, h, v, o), nil
}

func errorName(err error) did.ErrorName {
	if ReasonOf(err) == ReasonDocument && errors.Is(err, did.ErrDocument) {
		return did.InvalidDIDDocument
	}
	return did.InvalidDID
}

func pick(h History, o did.Options) (v Version, err error) {
	asked, ok := 0, true
	v = h.Head()
	if o.VersionID != "" {
		asked++
		v, ok = h.ByID(o.VersionID)
	}
	if !o.VersionTime.IsZero() {
		asked++
		v, ok = h.ByTime(o.VersionTime)
	}
	if o.VersionNumber != 0 {
		asked++
		v, ok = h.At(int(min(o.VersionNumber, maxEntries+1)))
	}
	if asked > 1 {
		return Version{}, &did.ResolutionError{Name: did.InvalidOptions, Detail: "more than one version is asked for"}
	}
	if !ok {
		return Version{}, &did.ResolutionError{Name: did.NotFound, Detail: "no such version"}
	}
	return v, nil
}

func resolution(d did.DID, h History, v Version, o did.Options) did.Resolution {
	first, _ := h.At(1)
	r := did.Resolution{
		DID: d, Version: v.ID, Created: first.Time, Updated: v.Time, VerifiedAt: o.Now, State: did.Held,
		Evidence: []did.Evidence{{Step: "key", Version: v.ID}, {Step: "head", Version: h.Head().ID}},
	}
	if v.Parameters.Deactivated {
		r.State = did.Deactivated
		return r
	}
	r.Document, r.Raw, r.Warnings = v.Document, v.Document.Raw(), v.Document.Warnings()
	return r
}
