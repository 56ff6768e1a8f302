package keyring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"trustnode/did"
	"trustnode/did/didwebvh"
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
	// ErrUnapproved: nobody is named who lets the DID be trusted, or who decided.
	ErrUnapproved = errors.New("nobody approved it")
	// ErrOtherDID: the log verifies, and is another DID's.
	ErrOtherDID = errors.New("log is of another DID")
	// ErrFull: the ring holds as many DIDs as it may.
	ErrFull = fmt.Errorf("more than %d DIDs", maxPinned)
	// ErrVersions: the did:web DID has as many versions as are kept, or bytes of them.
	ErrVersions = fmt.Errorf("more than %d versions or %d bytes", maxSnapshots, maxWeb)
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
	ends := e.Offered // of a did:web, whose versions have no numbers of their own
	if e.DID.Method() == didwebvh.Method {
		ends, _, _ = strings.Cut(ends, "-")
	}
	return fmt.Sprintf("log of %s ends at %s, this node has verified %d (%s)", e.DID, ends, e.Number, e.Held)
}

// Fork says that two valid entries of one number exist. Both lines are kept;
// each proves itself.
type Fork struct {
	DID     did.DID
	Number  int    // of the two entries
	Held    string // versionId of the one held first, or decided for
	Offered string // versionId of the other one
	Decided string // who decided for Held; empty while the fork is open

	// The exact log lines: last common, held, other. A line this node no longer
	// has is nil: Parent where the first entries differ, HeldLine where only the
	// pin remembers it.
	Parent, HeldLine, OfferedLine []byte
}

// Error names both entries, and who decided.
func (e *Fork) Error() string {
	s := fmt.Sprintf("two valid entries %d for %s: %s, %s", e.Number, e.DID, e.Held, e.Offered)
	if e.Decided != "" {
		s += fmt.Sprintf("; %s decided for the first", e.Decided)
	}
	return s
}

// Is matches ErrFrozen while the fork is open: it freezes its DID.
func (e *Fork) Is(target error) bool { return target == ErrFrozen && e.Decided == "" }

// Changed says that a did:web DID is served with a document that is not
// trusted: with other keys, or by nobody who could vouch for it. The pinned one
// stands. AcceptHead and Rotated can take the offered one.
type Changed struct {
	DID     did.DID
	Held    string // version that stands
	Offered string // id of the offered bytes
	// What each document makes this node trust, in order: keys under
	// assertionMethod with their end if they have one, did:key endpoints of
	// services. HeldKeys is nil where only the pin remembers the document.
	HeldKeys, OfferedKeys []string
}

// Error says what changed.
func (e *Changed) Error() string {
	if slices.Equal(e.HeldKeys, e.OfferedKeys) {
		return fmt.Sprintf("document %s of %s did not come from its host; not trusted", e.Offered, e.DID)
	}
	return fmt.Sprintf("%s serves other keys than the pinned snapshot; not trusted", e.DID)
}

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

// FaultCode implements fault.Explainer.
func (*Below) FaultCode() string { return "refused" }

// FaultReason implements fault.Explainer.
func (*Below) FaultReason() string { return "recovering" }

// FaultHint implements fault.Explainer.
func (*Below) FaultHint() string {
	return "trustnode run fetches it from peers; or restore a newer backup"
}
