package did

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// Errors of a Source.
var (
	// ErrAbsent says that the source was asked and has nothing for this DID.
	ErrAbsent = errors.New("no material for this DID")
	// ErrUnavailable says that the source gave no answer; it may have one later.
	ErrUnavailable = errors.New("source of DID material unavailable")
)

// ErrUnverified says that the material of a DID does not verify: the DID is well formed, what speaks for it is not to be
// believed. A Resolver has it in the chain of such a refusal, so that a caller can tell it from a malformed DID, which DID
// Resolution 1.0 calls INVALID_DID too.
var ErrUnverified = errors.New("does not verify")

// Resolver turns the bytes of one DID method into a Resolution. It is pure over its arguments: it never dials and reads
// no clock, so what verified once verifies again. Safe for concurrent use. Errors are *ResolutionError.
type Resolver interface {
	Method() string
	Resolve(ctx context.Context, d DID, m Material, o Options) (Resolution, error)
}

// Source finds the bytes a Resolver needs: in the store, at a peer, on a host, in a file. Where they come from never
// matters to whether they verify. Safe for concurrent use. Errors: ErrAbsent, ErrUnavailable.
type Source interface {
	Material(ctx context.Context, d DID) (Material, error)
}

// Material is what a method verifies, exactly as received. Methods whose DID is the key need none.
type Material struct {
	Log     []byte // did.jsonl of did:webvh, from the first entry; did.json of did:web
	Witness []byte // did-witness.json of did:webvh, nil if there is none
}

// Options narrow a resolution to one version. At most one of the three may be set; a method that has no versions
// answers InvalidOptions. Now is what the rules take for the present and must be set.
type Options struct {
	VersionID     string    // exact version; "" for the head
	VersionTime   time.Time // the version in force then; zero for none
	VersionNumber uint64    // counted from 1; 0 for none
	Now           time.Time
}

// Versionless refuses for a method whose DIDs never change, such as key: whatever asks for a version, and once ctx ended.
// Errors are *ResolutionError: INVALID_OPTIONS, INTERNAL_ERROR.
func (o Options) Versionless(ctx context.Context, method string) error {
	if err := ctx.Err(); err != nil {
		return &ResolutionError{Name: InternalError, Err: err}
	}
	if o.VersionID != "" || o.VersionNumber != 0 || !o.VersionTime.IsZero() {
		return &ResolutionError{Name: InvalidOptions, Detail: "did:" + method + " has no versions"}
	}
	return nil
}

// State is how far a DID's newest version may be relied on. Values are stored: never reorder, never reuse.
type State uint8

// The states of a resolved DID.
const (
	Held        State = iota + 1 // verified, and extends what was verified before
	Frozen                       // two verified continuations: nothing new is accepted
	Deactivated                  // ended by its controller, for good
)

// String returns the state in lower case, as results carry it.
func (s State) String() string {
	switch s {
	case Held:
		return "held"
	case Frozen:
		return "frozen"
	case Deactivated:
		return "deactivated"
	}
	return "state " + strconv.Itoa(int(s))
}

// StaticVersion is the version of a document that is derived from its DID alone and cannot change.
const StaticVersion = "static"

// Resolution is a verified document and how it came to be believed.
type Resolution struct {
	DID         DID
	Canonical   DID      // newest name of a log that had several, DID being one of them and Document that of any; else zero
	Document    Document // zero if State is Deactivated
	Raw         []byte   // the document's exact bytes, nil if State is Deactivated
	Version     string   // StaticVersion, a versionId, or a snapshot's id
	Created     time.Time
	Updated     time.Time // times the method's own history claims; zero where it has none
	State       State
	VerifiedAt  time.Time     // when the bytes were verified here
	ConfirmedAt time.Time     // newest live statement that names this version; zero for none. Shown, decides nothing
	Age         time.Duration // Now less ConfirmedAt, 0 for a static document
	Evidence    []Evidence
	Warnings    []Warning
}

// Evidence is one step of the chain from a signature to what this node holds on its own authority. Fields that a step
// does not have are empty.
type Evidence struct {
	Step    string // "signature", "agent", "key", "head", "pin", "host"
	Kid     string // fragment of the verification method
	ID      string // of a signed object
	Version string // of a DID document
	Line    uint64 // of the pins file
}

// Warning says what in a document was set aside and why; it refused only that part.
type Warning struct {
	Where string // a method's or service's absolute id, or a member name
	What  string
}
