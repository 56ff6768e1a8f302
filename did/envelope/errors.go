package envelope

import (
	"errors"
	"fmt"

	"trustnode/did"
)

// ErrSignature says that an object lacks a signature that verifies under the key asked for. It is did.ErrSignature.
var ErrSignature = did.ErrSignature

// ErrTooLarge says that an input is above its cap; nothing of it was parsed. It is did.ErrTooLarge.
var ErrTooLarge = did.ErrTooLarge

// Errors of a KeySource.
var (
	// ErrUnknownKey: no version known here lists such a key; asking peers may help.
	ErrUnknownKey = errors.New("unknown key")
	// ErrRetired: the key was listed once and no longer counts at this place.
	ErrRetired = errors.New("key is retired")
	// ErrPending: whether the key counts here depends on something not yet seen.
	ErrPending = errors.New("key is pending")
)

// FormError says what in a document breaks the rules of SPEC.md, and where. Path is the member, "members[2].did", or
// "" for the document as a whole. Foreign keys in it are cut to 64 bytes of printable ASCII. Err is the error of the
// parser or Check that refused, if there was one.
type FormError struct {
	Path string
	What string
	Err  error
}

// Error returns "path: what", or only what.
func (e *FormError) Error() string {
	if e.Path == "" {
		return e.What
	}
	return e.Path + ": " + e.What
}

// Unwrap returns Err.
func (e *FormError) Unwrap() error { return e.Err }

// refused makes the error of a Body's Check or of a text's parser a *FormError.
func refused(err error) *FormError {
	if f, ok := errors.AsType[*FormError](err); ok {
		return f
	}
	return &FormError{What: err.Error(), Err: err}
}

// under puts an outer path segment before the inner one.
func (e *FormError) under(outer string) *FormError {
	switch {
	case e.Path == "":
		e.Path = outer
	case e.Path[0] == '[':
		e.Path = outer + e.Path
	default:
		e.Path = outer + "." + e.Path
	}
	return e
}

// TypeError says that an object is of another type than the one expected.
type TypeError struct{ Got, Want Type }

// Error names both types.
func (e *TypeError) Error() string {
	return fmt.Sprintf("payload type is %q, expected %q", string(e.Got), string(e.Want))
}
