package did

import "fmt"

// ErrorName is an error type of DID Resolution 1.0. The names of that draft live in this file alone.
type ErrorName string

// The error types, relative to ErrorBase, and the one this project adds.
const (
	InvalidDID                 ErrorName = "INVALID_DID"
	InvalidDIDURL              ErrorName = "INVALID_DID_URL"
	InvalidDIDDocument         ErrorName = "INVALID_DID_DOCUMENT"
	InvalidOptions             ErrorName = "INVALID_OPTIONS"
	NotFound                   ErrorName = "NOT_FOUND"
	InternalError              ErrorName = "INTERNAL_ERROR"
	MethodNotSupported         ErrorName = "METHOD_NOT_SUPPORTED"
	FeatureNotSupported        ErrorName = "FEATURE_NOT_SUPPORTED"
	InvalidVerificationMethod  ErrorName = "INVALID_VERIFICATION_METHOD"
	InvalidRelationship        ErrorName = "INVALID_RELATIONSHIP_FOR_VERIFICATION_METHOD"
	RepresentationNotSupported ErrorName = "REPRESENTATION_NOT_SUPPORTED"

	// Forked stands for a DID whose log has two verified continuations. It has its own URN, so that a generic client
	// cannot take it for an outage.
	Forked ErrorName = "urn:trustnode:error:forked"
)

// ErrorBase is the namespace of the standard names.
const ErrorBase = "https://www.w3.org/ns/did#"

// URI returns the full identifier of the error type, as a resolution result carries it.
func (n ErrorName) URI() string {
	if n == Forked {
		return string(n)
	}
	return ErrorBase + string(n)
}

// ResolutionError is why a DID or DID URL was not resolved. Detail is for people and holds no secret; Err, if any, is
// the cause that errors.Is and errors.As see.
type ResolutionError struct {
	Name   ErrorName
	Detail string
	Err    error
}

// Error returns the detail and the cause after the name.
func (e *ResolutionError) Error() string {
	s := string(e.Name)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil {
		s = fmt.Sprintf("%s: %v", s, e.Err)
	}
	return s
}

// Unwrap returns the cause.
func (e *ResolutionError) Unwrap() error { return e.Err }
