package lending

import (
	"fmt"
	"time"

	"trustnode/did/envelope"
)

// Code is the word of the closed set of error codes under which a denial is
// known on every surface.
type Code string

// Codes that the rules of lending use.
const (
	CodeInvalid         Code = "invalid"
	CodeUnauthenticated Code = "unauthenticated"
	CodeRefused         Code = "refused"
	CodeNotFound        Code = "not_found"
	CodeExpired         Code = "expired"
	CodeRevoked         Code = "revoked"
	CodeExhausted       Code = "exhausted"
	CodeBudgetExhausted Code = "budget_exhausted"
	CodeReplay          Code = "replay"
	CodeClockSkew       Code = "clock_skew"
	CodeStale           Code = "stale"
	CodeForked          Code = "forked"
	CodeUnavailable     Code = "unavailable"
	CodeTooLarge        Code = "too_large"
)

// Reasons that go with a code. They are stable words for programs.
const (
	ReasonAudience       = "audience"        // the request is addressed to another lender
	ReasonOp             = "op"              // the op does not fit
	ReasonPattern        = "pattern"         // the permission does not cover this kind of use
	ReasonPurposeMissing = "purpose_missing" // the request claims no purpose
	ReasonOutsideScope   = "outside_scope"   // the filter provably has nothing in common with the scope
	ReasonNotYet         = "not_yet"         // before not_before
	ReasonLapsed         = "lapsed"          // the pact has ended
	ReasonNotMember      = "not_member"      // the borrower's organization is no active member
	ReasonDIDLog         = "did_log"         // an organization of the loan is frozen by a fork of its DID log
	ReasonLog            = "log"             // an organization of the loan signed two heads of its log that exclude each other
	ReasonBorrower       = "borrower_ended"  // the borrower's agent object is not live, or lacks the capability
	ReasonLender         = "lender_ended"    // the lender's agent object is not live, or lacks the capability
	ReasonClock          = "clock_untrusted" // the lender's node does not trust its clock
	ReasonEntryLeft      = "entry_left"      // a replay whose entries are no longer all in scope
	ReasonTerms          = "terms_unknown"   // the permission has prices this node does not meter
	ReasonMoved          = "memory_busy"     // what is visible changed at each attempt
	ReasonTTL            = "ttl"             // a permission would outlive what the charter allows
	ReasonMaxReads       = "max_reads"       // a permission would have more reads than the charter allows
	ReasonNoMediator     = "no_mediator"     // nobody could settle a dispute about it
	ReasonNoCharter      = "no_charter"      // no governing charter between organizations
	ReasonHygiene        = "hygiene"         // policy refuses a hygiene code
	ReasonWider          = "wider"           // a permission would give more than was asked for
	ReasonParent         = "parent"          // a permission would not be within the one it is a part of
	ReasonRounds         = "rounds"          // a talk about a loan has had all its rounds
)

// Denial is a refusal: code, reason and hint that its receiver may see. It is
// an error, and carries its code to whoever maps errors to surfaces.
type Denial struct {
	Code   Code
	Reason string // one of the Reason constants, a revocation's reason, a node's state, or empty
	Hint   string // what to do next; no full stop
	Detail string // the fact
	Perm   envelope.ID
}

// Error states the fact.
func (d *Denial) Error() string {
	if d.Detail != "" {
		return d.Detail
	}
	return string(d.Code) + ": " + d.Reason
}

// FaultCode returns the code.
func (d *Denial) FaultCode() string { return string(d.Code) }

// FaultReason returns the reason.
func (d *Denial) FaultReason() string { return d.Reason }

// FaultHint returns the hint.
func (d *Denial) FaultHint() string { return d.Hint }

// FaultPerm returns the permission concerned, or the zero ID.
func (d *Denial) FaultPerm() envelope.ID { return d.Perm }

// Classes of a loan.violation.
const (
	ViolationReadAfterEnd = "read_after_end"
	ViolationOutsideScope = "outside_scope"
	ViolationOverCount    = "over_count"
)

// Violation returns the class of violation that a denied read, discover or
// write is evidence of, or "" for none.
func (d *Denial) Violation() string {
	switch {
	case d.Code == CodeRevoked || d.Code == CodeExpired:
		return ViolationReadAfterEnd
	case d.Code == CodeExhausted:
		return ViolationOverCount
	case d.Reason == ReasonOutsideScope:
		return ViolationOutsideScope
	}
	return ""
}

func deny(code Code, reason, hint, detail string, args ...any) *Denial {
	return &Denial{Code: code, Reason: reason, Hint: hint, Detail: fmt.Sprintf(detail, args...)}
}

// denyState is the denial for a permission that is not valid.
func denyState(s PermState, st State, p Permission) *Denial {
	const renew = "ask the lender for a new permission"
	switch s {
	case Revoked:
		return deny(CodeRevoked, st.Revoked.Reason, renew, "permission revoked at %s", st.Revoked.At)
	case Expired:
		return deny(CodeExpired, "", renew, "permission expired at %s", st.expiry(p))
	case NotYet:
		return deny(CodeRefused, ReasonNotYet, "wait until then", "permission begins at %s", st.begin(p))
	case Exhausted:
		return deny(CodeExhausted, "", renew, "all %d reads are used", p.MaxReads)
	case Lapsed:
		return deny(CodeRefused, ReasonLapsed, "renew the pact first", "the pact of this permission has ended")
	default:
		return deny(CodeStale, st.NodeState, "the lender's node may not lend now; there, trustnode fed status shows which peers are missing",
			"the lender's node may not lend in state %q", st.NodeState)
	}
}

func denySkew(at time.Time, dated envelope.Time) *Denial {
	off := dated.Time().Sub(at).Truncate(time.Second)
	if off < 0 {
		return deny(CodeClockSkew, "", "sign a new one (if it is new, this host's clock is off)",
			"the request is %d s old and good for %d s", int64(-off.Seconds()), ClockSkewS)
	}
	return deny(CodeClockSkew, "", fmt.Sprintf("set this host's clock, it is off by %d s", int64(off.Seconds())),
		"request dated %s arrived at %s", dated, at.UTC().Format(timeLayout))
}
