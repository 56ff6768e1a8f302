package keyring

import (
	"errors"
	"fmt"

	"trustnode/did"
)

// Sentinels of a Ring. A key source's error matches one of these and one of envelope's.
var (
	// ErrUnknownVersion: the version is not in the verified history held here; it may arrive.
	ErrUnknownVersion = errors.New("DID version is not known here")
	// ErrFrozen: two valid histories are held; nothing past their common part is accepted.
	ErrFrozen = errors.New("DID is frozen by a fork")
	// ErrDeactivated: the organization ended its DID.
	ErrDeactivated = errors.New("DID is deactivated")
	// ErrMethod: the DID's method keeps no log that could be held here.
	ErrMethod = errors.New("DID method keeps no log here")
	// ErrOtherDID: the log verifies, and is another DID's.
	ErrOtherDID = errors.New("log is of another DID")
	// ErrFull: the ring holds as many DIDs as it may.
	ErrFull = fmt.Errorf("more than %d DIDs", maxPinned)
)

// Rollback says that a log is valid and ends before what is already held: its
// sender lags behind, or hides something.
type Rollback struct {
	DID     did.DID
	Offered string // versionId the log ends with
	Held    string // versionId held, or pinned
	Number  int    // number of Held
}

// Error names both versions.
func (e *Rollback) Error() string {
	return fmt.Sprintf("log of %s ends at %s, this node has verified %d (%s)", e.DID, e.Offered, e.Number, e.Held)
}

// Fork says that two valid entries of one number exist. Both lines are kept;
// each proves itself.
type Fork struct {
	DID     did.DID
	Number  int    // of the two entries
	Held    string // versionId of the one held first
	Offered string // versionId of the other one

	// The exact log lines: last common, held, other. A line this node no longer
	// has is nil: Parent where the first entries differ, HeldLine where only the
	// pin remembers it.
	Parent, HeldLine, OfferedLine []byte
}

// Error names both entries.
func (e *Fork) Error() string {
	return fmt.Sprintf("two valid entries %d for %s: %s, %s", e.Number, e.DID, e.Held, e.Offered)
}

// Is matches ErrFrozen: a fork freezes its DID.
func (e *Fork) Is(target error) bool { return target == ErrFrozen }

// Below says that the state is behind the pins, as after a restored backup:
// the node is recovering this DID. A log that reaches the pinned version heals it.
type Below struct {
	DID    did.DID
	Held   int    // number of the version in the state, 0 for none
	Number int    // number of the pinned version
	Pinned string // its versionId
	Cause  error  // why the stored bytes are not used, if it was not their age
}

// Error says where state and pins stand, and the cause.
func (e *Below) Error() string {
	s := fmt.Sprintf("recovering: state has entry %d of %s, pins name %d", e.Held, e.DID, e.Number)
	if e.Cause != nil {
		s += fmt.Sprintf(" (%v)", e.Cause)
	}
	return s
}

// Unwrap is the cause.
func (e *Below) Unwrap() error { return e.Cause }
