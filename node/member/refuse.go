package member

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
	"trustnode/node/fault"
)

// place is how a member is named to people: the domain of its DID where it has one.
func place(d did.DID) string {
	parts := strings.Split(d.ID(), ":")
	if d.Method() == didwebvh.Method && len(parts) > 1 {
		return strings.Join(parts[1:], "/")
	}
	return d.String()
}

func places(list []did.DID) string {
	var words []string
	for _, d := range list {
		words = append(words, place(d))
	}
	return strings.Join(words, ", ")
}

// refusal says in the closed set what is wrong with a file or a charter; errors that
// are none of theirs come back as they are.
func refusal(err error) error {
	var refused *charter.Refused
	var parked *charter.Parked
	var unsupported *charter.Unsupported
	var sibling *charter.Sibling
	var inconsistent *charter.Inconsistent
	var line *bundle.LineError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refusedBy(refused)
	case errors.As(err, &parked):
		return fault.Wrap(fault.Unavailable, "parked", err).WithHint("apply it again after %s", parked.Until.UTC().Format(time.RFC3339))
	case errors.As(err, &unsupported):
		return fault.Wrap(fault.Invalid, "unsupported", err)
	case errors.As(err, &sibling):
		return fault.Wrap(fault.Forked, "sibling", err).WithHint("two charters %d are signed; nothing new is lent until a charter settles it", sibling.Seq)
	case errors.As(err, &inconsistent):
		return fault.Wrap(fault.Invalid, "join", err).WithHint("%s sends a new join file: trustnode fed join-request", place(inconsistent.Org))
	case errors.Is(err, charter.ErrNoDraft):
		return fault.Wrap(fault.Invalid, "no_draft", err).WithHint("a draft comes from: trustnode fed create")
	case errors.Is(err, charter.ErrTwoDrafts):
		return fault.Wrap(fault.Conflict, "two_drafts", err)
	case errors.Is(err, charter.ErrNotNamed):
		return fault.Wrap(fault.Refused, "not_a_member", err).WithHint("send a join file to whoever drafts: trustnode fed join-request")
	case errors.Is(err, bundle.ErrNotBundle), errors.As(err, &line):
		return fault.Wrap(fault.Invalid, "file", err)
	}
	return identityRefusal(err)
}

// identityRefusal is refusal for what the keyring says of a DID log.
func identityRefusal(err error) error {
	var pending *charter.Pending
	var lags *keyring.Rollback
	var wrong *didwebvh.Error
	switch {
	case errors.As(err, &pending):
		return fault.Wrap(fault.Unavailable, "pending", err).WithHint("the file lacks it: ask its sender for a complete one")
	case errors.Is(err, keyring.ErrDeactivated):
		return fault.Wrap(fault.Refused, "deactivated", err).WithHint("a DID ends for good; what it signed before still verifies")
	case errors.Is(err, keyring.ErrFrozen):
		return fault.Wrap(fault.Forked, "did_log", err).WithHint("trustnode did show lists both branches")
	case errors.As(err, &lags):
		return fault.Wrap(fault.Stale, "did_log", err).WithHint("%s sends its newest join file", place(lags.DID))
	case errors.As(err, &wrong), errors.Is(err, keyring.ErrOtherDID):
		return fault.Wrap(fault.Invalid, "did_log", err)
	}
	return err
}

// refusedBy says which rule a charter broke and what to do about it.
func refusedBy(r *charter.Refused) *fault.Denied {
	reason := r.Step.Reason()
	switch r.Step {
	case charter.StepThreshold, charter.StepOwn, charter.StepConsent:
		return short(r, reason)
	case charter.StepPlace:
		return fault.Wrap(fault.Stale, reason, r).WithHint("draft it again on the charter in force; signatures are dropped, all sign again")
	case charter.StepClock:
		return fault.Wrap(fault.ClockSkew, reason, r).WithHint("set the clock of this node, or wait")
	case charter.StepStructure:
		return fault.Wrap(fault.Invalid, reason, r).WithHint("%s", structureHint(r.What))
	}
	return fault.Wrap(fault.Invalid, reason, r)
}

func structureHint(what string) string {
	if strings.Contains(what, "recovery key") {
		return "name a recovery key with --recovery, or let a third member vote"
	}
	return "the founder changes the draft: " + what
}

// short is a charter that lacks only signatures: need, who signed, who is missing, who
// was ignored and why.
func short(r *charter.Refused, reason string) *fault.Denied {
	missing := r.Tally.Missed()
	detail := r.What
	for _, i := range r.Tally.Ignored {
		detail += fmt.Sprintf("; ignored %.80q: %s", i.KeyID, i.Reason)
	}
	if len(r.Tally.Signed) > 0 {
		detail += "; signed " + places(r.Tally.Signed)
	}
	if len(missing) > 0 {
		detail += "; missing " + places(missing)
	}
	d := fault.New(fault.NeedsApproval, reason, "%s", detail)
	if len(missing) > 0 {
		d = d.WithHint("send the draft to %s; it runs: trustnode fed sign --now DRAFT", places(missing))
	}
	return d
}

// undrafted is the refusal of what the own log does not take now.
func undrafted(err error) error {
	if errors.Is(err, attestation.ErrBacklog) {
		return fault.Wrap(fault.Unavailable, "drain", err).WithHint("the audit database does not accept writes: look at the free space and the log of the node")
	}
	return err
}

// taken says that another body was signed in a slot.
func taken(err error, seq uint64) error {
	var t *pins.Taken
	var b *pins.Below
	switch {
	case errors.As(err, &t):
		return fault.Wrap(fault.Conflict, "already_signed", err).
			WithHint("you signed %s as charter %d; if it cannot pass, the voters must freeze that round and sign in the next", t.Value, seq)
	case errors.As(err, &b):
		return fault.Wrap(fault.Conflict, "already_signed", err).
			WithHint("you signed %s in a later place; a lower one is closed", b.Value)
	}
	return err
}
