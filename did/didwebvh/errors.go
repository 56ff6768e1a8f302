package didwebvh

import (
	"errors"
	"fmt"

	"trustnode/did"
)

// Reason names the rule a log broke, for metrics and for callers that branch.
// The zero value is invalid. Never reorder, never reuse.
type Reason uint8

const (
	_                 Reason = iota
	ReasonTooLarge           // a cap of limits.go, before parsing
	ReasonForm               // not the JSON of a log entry
	ReasonHash               // SCID, entry hash or number does not chain
	ReasonProof              // a proof is absent, of another kind, or does not verify
	ReasonKey                // signed by a key that may not update, or pre-rotation broken
	ReasonTime               // versionTime not after the one before, or ahead of the clock
	ReasonParameters         // a parameter the method does not allow here
	ReasonDocument           // the state is no usable document, or its id does not fit
	ReasonWitness            // fewer witness proofs than the governing list asks for
	ReasonDeactivated        // an entry after the deactivating one
	ReasonGap                // lines that do not continue what is held
)

var reasonNames = [...]string{
	ReasonTooLarge: "too_large", ReasonForm: "form", ReasonHash: "hash", ReasonProof: "proof", ReasonKey: "key",
	ReasonTime: "time", ReasonParameters: "parameters", ReasonDocument: "document", ReasonWitness: "witness",
	ReasonDeactivated: "deactivated", ReasonGap: "gap",
}

// String is the reason as metrics spell it.
func (r Reason) String() string {
	if r == 0 || int(r) >= len(reasonNames) {
		return "invalid"
	}
	return reasonNames[r]
}

// Error says which entry of a log is refused, by which rule, and why. Number
// counts from 1; it is 0 where the log as a whole is refused.
type Error struct {
	Number int
	Reason Reason
	What   string
	cause  error
}

// Error names the entry and what is wrong with it.
func (e *Error) Error() string {
	if e.Number == 0 {
		return "did:webvh log: " + e.What
	}
	return fmt.Sprintf("did:webvh entry %d: %s", e.Number, e.What)
}

// Unwrap is the error of the document or key below, if one caused the refusal.
func (e *Error) Unwrap() error { return e.cause }

// Is makes every refusal of a log did.ErrUnverified.
func (e *Error) Is(target error) bool { return target == did.ErrUnverified }

// ErrIdentifier is wrapped by every refusal of a did:webvh identifier.
var ErrIdentifier = errors.New("not a did:webvh identifier")

// ErrKey is wrapped when the key that is to sign an own entry is not committed to.
var ErrKey = errors.New("the key is not among the committed update keys")

// ErrReused is wrapped when a key that is to be listed was listed, committed
// to or shown before: it may have been stolen since, and stays retired.
var ErrReused = errors.New("the key was used before")

// ReasonOf is the reason of an Error in err's chain, or 0.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return 0
}

func refuse(r Reason, format string, args ...any) *Error {
	return &Error{Reason: r, What: fmt.Sprintf(format, args...)}
}

// caused is a refusal that keeps the error it came from.
func caused(r Reason, what string, err error) *Error {
	return &Error{Reason: r, What: fmt.Sprintf("%s: %v", what, err), cause: err}
}

// at names the entry of a refusal.
func at(number int, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Number == 0 {
		e.Number = number
	}
	return err
}
