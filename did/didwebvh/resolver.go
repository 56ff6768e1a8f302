package didwebvh

import (
	"context"
	"errors"
	"fmt"
	"time"

	"trustnode/did"
)

// Resolver resolves did:webvh DIDs from the bytes of their logs. It holds nothing; the zero value is ready.
type Resolver struct{}

var _ did.Resolver = Resolver{}

// Method returns "webvh".
func (Resolver) Method() string { return Method }

// Resolve verifies m.Log and answers the version the options ask for, the head
// by default. d may be any name the log has or had. Where a later entry is
// refused, a version that is named is still answered from those before it, with
// a warning: did:webvh 1.0, "Read (Resolve)", step 11. A time is answered so
// only if a verified version follows the one in force then, for nobody knows
// when the last verified one ceased to be. The head of a broken log is never
// answered. Errors are *did.ResolutionError.
func (Resolver) Resolve(_ context.Context, d did.DID, m did.Material, o did.Options) (did.Resolution, error) {
	if _, err := ParseIdentifier(d); err != nil {
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidDID, Err: err}
	}
	if len(m.Log) == 0 {
		return did.Resolution{}, &did.ResolutionError{Name: did.NotFound, Detail: "no log", Err: did.ErrAbsent}
	}
	h, broken := VerifyPart(m.Log, m.Witness, o.Now)
	return h.resolve(d, o, broken)
}

// Resolve answers one version of a verified history as Resolver does of its
// bytes. Errors are *did.ResolutionError.
func (h History) Resolve(d did.DID, o did.Options) (did.Resolution, error) {
	if h.Len() == 0 {
		return did.Resolution{}, &did.ResolutionError{Name: did.NotFound, Detail: "no log", Err: did.ErrAbsent}
	}
	return h.resolve(d, o, nil)
}

// resolve answers from h, which broken, if it is not nil, ended.
func (h History) resolve(d did.DID, o did.Options, broken error) (did.Resolution, error) {
	a, err := asked(o)
	if err != nil {
		return did.Resolution{}, err
	}
	if h.Len() > 0 && !h.Names(d) && (broken == nil || !h.shares(d)) { // what is wrong with another DID's log is no answer
		return did.Resolution{}, &did.ResolutionError{Name: did.InvalidDID, Detail: fmt.Sprintf("the log is of %s, not of %s", h.DID(), d), Err: did.ErrUnverified}
	}
	if broken != nil && (a == newest || !h.Names(d)) {
		return did.Resolution{}, &did.ResolutionError{Name: errorName(broken), Err: broken}
	}
	v, ok := h.pick(a, o)
	if broken != nil && (!ok || a == byTime && v.Number == h.Len()) {
		return did.Resolution{}, &did.ResolutionError{Name: errorName(broken), Err: broken}
	}
	if !ok {
		return did.Resolution{}, &did.ResolutionError{Name: did.NotFound, Detail: "no such version"}
	}
	return h.resolution(d, v, o.Now, broken), nil
}

// shares reports whether d has the SCID of h: past its end the log may have moved to d.
func (h History) shares(d did.DID) bool {
	id, err := ParseIdentifier(d)
	return err == nil && id.SCID == h.SCID()
}

func errorName(err error) did.ErrorName {
	if ReasonOf(err) == ReasonDocument && errors.Is(err, did.ErrDocument) {
		return did.InvalidDIDDocument
	}
	return did.InvalidDID
}

// question is how options name a version.
type question uint8

const (
	newest question = iota + 1
	byID
	byTime
	byNumber
)

func asked(o did.Options) (question, error) {
	q, n := newest, 0
	for k, set := range map[question]bool{byID: o.VersionID != "", byTime: !o.VersionTime.IsZero(), byNumber: o.VersionNumber != 0} {
		if set {
			q, n = k, n+1
		}
	}
	if n > 1 {
		return 0, &did.ResolutionError{Name: did.InvalidOptions, Detail: "more than one version is asked for"}
	}
	return q, nil
}

func (h History) pick(q question, o did.Options) (Version, bool) {
	switch q {
	case byID:
		return h.ByID(o.VersionID)
	case byTime:
		return h.ByTime(o.VersionTime)
	case byNumber:
		return h.At(int(min(o.VersionNumber, maxEntries+1)))
	}
	return h.Head(), true
}

func (h History) resolution(d did.DID, v Version, now time.Time, broken error) did.Resolution {
	first, _ := h.At(1)
	r := did.Resolution{
		DID: d, Canonical: h.Canonical(), Version: v.ID, Created: first.Time, Updated: v.Time, VerifiedAt: now, State: did.Held,
		Evidence: []did.Evidence{{Step: "key", Version: v.ID}, {Step: "head", Version: h.Head().ID}},
	}
	if v.Parameters.Deactivated {
		r.State = did.Deactivated
		return r
	}
	r.Document, r.Raw = v.Document, v.Document.Raw()
	r.Warnings = append(h.warnings(d, v, broken), v.Document.Warnings()...)
	return r
}

// warnings says what a reader of one version must know of the others.
func (h History) warnings(d did.DID, v Version, broken error) []did.Warning {
	var out []did.Warning
	warn := func(format string, args ...any) {
		out = append(out, did.Warning{Where: d.String(), What: fmt.Sprintf(format, args...)})
	}
	if broken != nil {
		warn("the log does not verify past entry %d: %v", h.Len(), broken)
	}
	if h.Deactivated() {
		warn("deactivated by entry %d", h.Len())
	}
	if w := h.Renamed(d, v.Document.ID()); w != "" {
		warn("%s", w)
	}
	return out
}

// Renamed says what a reader who asked for the name d must know of a document of h that has the name id; "" where they are
// one. did:webvh 1.0, "DID Portability".
func (h History) Renamed(d, id did.DID) string {
	switch now := h.DID(); {
	case id == d:
		return ""
	case id == now:
		return "this DID has moved to " + now.String() + ", whose document this is"
	default:
		return "the document is of before a move, when the DID was " + id.String()
	}
}

// Canonical is the newest name of a log that had several, the zero DID for one that never moved.
func (h History) Canonical() did.DID {
	if n := h.last().names; n == nil || n.before == nil {
		return did.DID{}
	}
	return h.DID()
}
