package charter

import (
	"errors"
	"fmt"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
)

// Step is the rule a charter broke: A1 to A10 of SPEC.md.
type Step string

// The steps, in the order of SPEC.md.
const (
	StepForm      Step = "A1"  // envelope, type, canonical form, cap, federation
	StepPlace     Step = "A2"  // seq and prev fit the parent
	StepRounds    Step = "A3"  // every lower round is released
	StepThreshold Step = "A4"  // voters of the parent
	StepOwn       Step = "A5"  // voters of the charter itself
	StepConsent   Step = "A6"  // who joins, or leaves, signed itself
	StepDiff      Step = "A7"  // every difference is an operation
	StepStructure Step = "A8"  // thresholds, keys, records, mediators, limits
	StepClock     Step = "A9"  // issued_at is not in the future
	StepKeys      Step = "A10" // DID heads and keys
)

// Reason is one stable word for the step, as told to users: form, base, rounds,
// threshold, consent, diff, structure, clock or key.
func (s Step) Reason() string {
	switch s {
	case StepForm:
		return "form"
	case StepPlace:
		return "base"
	case StepRounds:
		return "rounds"
	case StepThreshold, StepOwn:
		return "threshold"
	case StepConsent:
		return "consent"
	case StepDiff:
		return "diff"
	case StepStructure:
		return "structure"
	case StepClock:
		return "clock"
	case StepKeys:
		return "key"
	}
	return "unknown"
}

// ErrUnknownVersion is what Keys.At and Keys.Extends return for a version they do
// not hold; the charter is then pending. It is keyring.ErrUnknownVersion.
var ErrUnknownVersion = keyring.ErrUnknownVersion

// ErrHeld is returned for a charter that is already in the chain.
var ErrHeld = errors.New("charter is already held")

// Refused is a charter that breaks a rule. It stays refused with these signatures.
type Refused struct {
	Step  Step
	What  string
	Tally Tally // zero where the rule was decided before signatures were looked at
}

// Error names the rule and the fact.
func (e *Refused) Error() string { return fmt.Sprintf("%s: %s", e.Step, e.What) }

// Short tells whether only signatures are missing: more of them may make the same
// charter acceptable.
func (e *Refused) Short() bool {
	return e.Step == StepThreshold || e.Step == StepOwn || e.Step == StepConsent
}

// Unsupported is a charter with an authority or an operation these rules do not
// decide. It is never accepted.
type Unsupported struct{ What string }

// Error says what is not supported.
func (e *Unsupported) Error() string { return e.What + " is not supported" }

// Parked is a charter that passes every rule and takes effect later.
type Parked struct{ Until time.Time }

// Error says until when.
func (e *Parked) Error() string {
	return "charter takes effect at " + e.Until.UTC().Format(time.RFC3339)
}

// Pending is a charter that cannot be decided before something is known: a
// parent, an abandon, or a version of a DID. Exactly one member is set.
type Pending struct {
	Charter envelope.ID // parent that is not in the chain
	Abandon envelope.ID // abandon that is listed and was not given
	DID     did.DID     // with Version: a DID log that is not held so far
	Version string
}

// Error says what is missing.
func (e *Pending) Error() string {
	switch {
	case !e.Charter.IsZero():
		return fmt.Sprintf("parent charter %s is not held", e.Charter)
	case !e.Abandon.IsZero():
		return fmt.Sprintf("abandon %s is not held", e.Abandon)
	}
	return fmt.Sprintf("version %s of %s is not held", e.Version, e.DID)
}

// Sibling is a charter that passes every rule, but whose parent already has
// another child in the chain: a fork.
type Sibling struct {
	Seq         uint64
	Held, Other envelope.ID
}

// Error names both.
func (e *Sibling) Error() string {
	return fmt.Sprintf("charter %d is %s here, %s is signed as well", e.Seq, e.Held, e.Other)
}

// Inconsistent is a member record that does not say what its organization's own
// join says.
type Inconsistent struct {
	Org    did.DID
	Member string // the member of the record that differs
}

// Error names the organization and the member.
func (e *Inconsistent) Error() string {
	return fmt.Sprintf("%s of %s differs from its join", e.Member, e.Org)
}
