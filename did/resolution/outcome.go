package resolution

import (
	"errors"
	"net/http"

	"trustnode/did"
)

// Outcome is how one result of resolving is told outside.
type Outcome struct {
	Status int    // of HTTP
	Code   string // of the project's closed set of error codes; "" if nothing went wrong
	Exit   int    // of the command did resolve
}

// Exit codes of did resolve.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitRefused    = 3
	exitUnverified = 4
)

var (
	held        = Outcome{http.StatusOK, "", exitDone}
	deactivated = Outcome{http.StatusGone, "", exitRefused}
)

// row is one error name: what it is outside, its title, and its word before DID Resolution 1.0. Names that had none then
// take the nearest that a client of that time knows.
type row struct {
	Outcome
	title, legacy string
}

var rows = map[did.ErrorName]row{
	did.InvalidDID:                 {Outcome{http.StatusBadRequest, "invalid", exitUsage}, "invalid DID", "invalidDid"},
	did.InvalidDIDURL:              {Outcome{http.StatusBadRequest, "invalid", exitUsage}, "invalid DID URL", "invalidDidUrl"},
	did.InvalidOptions:             {Outcome{http.StatusBadRequest, "invalid", exitUsage}, "invalid options", "invalidDidUrl"},
	did.NotFound:                   {Outcome{http.StatusNotFound, "not_found", exitFailed}, "not found", "notFound"},
	did.RepresentationNotSupported: {Outcome{http.StatusNotAcceptable, "invalid", exitUsage}, "representation not supported", "representationNotSupported"},
	did.InvalidDIDDocument:         {Outcome{http.StatusInternalServerError, "invalid", exitUnverified}, "invalid DID document", "internalError"},
	did.MethodNotSupported:         {Outcome{http.StatusNotImplemented, "invalid", exitUsage}, "DID method not supported", "methodNotSupported"},
	did.FeatureNotSupported:        {Outcome{http.StatusNotImplemented, "invalid", exitUsage}, "feature not supported", "internalError"},
	did.InternalError:              {Outcome{http.StatusInternalServerError, "internal", exitFailed}, "internal error", "internalError"},
	did.InvalidVerificationMethod:  {Outcome{http.StatusInternalServerError, "invalid", exitUnverified}, "invalid verification method", "internalError"},
	did.InvalidRelationship:        {Outcome{http.StatusInternalServerError, "invalid", exitUnverified}, "verification method lacks the relationship", "internalError"},
	did.Forked:                     {Outcome{http.StatusInternalServerError, "forked", exitRefused}, "the log of the DID has two verified continuations", "internalError"},
}

// OutcomeOf returns how err is told outside. Without an error it is that of a document held. INVALID_DID exits as wrong
// use, and as what does not verify if the cause is did.ErrUnverified; an INTERNAL_ERROR for want of an answer
// (did.ErrUnavailable) has the code unavailable.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return held
	}
	r := typed(err)
	o := rowOf(r.Name).Outcome
	switch {
	case r.Name == did.InvalidDID && errors.Is(r, did.ErrUnverified):
		o.Exit = exitUnverified
	case r.Name == did.InternalError && errors.Is(r, did.ErrUnavailable):
		o.Code = "unavailable"
	}
	return o
}

func rowOf(n did.ErrorName) row {
	if r, ok := rows[n]; ok {
		return r
	}
	return rows[did.InternalError]
}

// typed returns the resolution error in err, or the one that stands for it: sources say ErrAbsent and ErrUnavailable.
func typed(err error) *did.ResolutionError {
	var r *did.ResolutionError
	switch {
	case errors.As(err, &r) && r != nil:
		if _, ok := rows[r.Name]; ok {
			return r
		}
	case errors.Is(err, did.ErrAbsent):
		return &did.ResolutionError{Name: did.NotFound, Err: err}
	}
	return &did.ResolutionError{Name: did.InternalError, Err: err}
}

// NotHeld is the detail of a NOT_FOUND that says nothing but that no bytes of the DID are at hand.
const NotHeld = "not held here"

// detail is what a caller may read of r: nothing of an internal error, and of what is not there only that. Why a source gave
// no answer is told where whoever resolved wrote it down for that; the cause itself never is.
func detail(r *did.ResolutionError) string {
	switch {
	case r.Name == did.InternalError && errors.Is(r, did.ErrUnavailable) && r.Detail != "":
		return r.Detail
	case r.Name == did.InternalError && errors.Is(r, did.ErrUnavailable):
		return "no answer, and no copy here"
	case r.Name == did.InternalError:
		return ""
	case r.Name == did.NotFound && r.Detail == "" && errors.Is(r, did.ErrAbsent):
		return NotHeld
	case r.Err == nil || r.Name == did.NotFound:
		return r.Detail
	case r.Detail == "":
		return r.Err.Error()
	}
	return r.Detail + ": " + r.Err.Error()
}
