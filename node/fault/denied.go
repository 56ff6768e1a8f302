// Package fault answers: what kind of refusal is this, and how does each
// surface say it?
//
// It holds the closed set of error codes with their one mapping to HTTP status
// and exit code, Denied, which errors.As finds in every refusal, and the problem
// object of RFC 9457. All of node imports it; it imports nothing of node.
//
// It does not decide anything and does not log.
package fault

import (
	"errors"
	"fmt"

	"trustnode/did/envelope"
)

// Denied is a refusal with all that its receiver may know. It is made once,
// where the decision falls, and is used as a pointer.
type Denied struct {
	// Code is one of the closed set.
	Code Code
	// Reason is a stable word for programs, such as "outside_scope", or empty.
	Reason string
	// Hint says what to do next, in one sentence without a full stop, or is empty.
	Hint string
	// Verified says that a signed receipt of the lender proves the refusal.
	Verified bool
	// Perm is the permission concerned, or the zero ID.
	Perm envelope.ID
	// Detail states the fact, in one sentence without a full stop, or is empty. An
	// Internal refusal has it for the log alone.
	Detail string
	// Receipt is the compact receipt that proves the refusal, or empty.
	Receipt string

	cause error
}

// New returns a refusal; detail is formatted as fmt.Sprintf does.
func New(code Code, reason, detail string, args ...any) *Denied {
	if len(args) > 0 {
		detail = fmt.Sprintf(detail, args...)
	}
	return &Denied{Code: code, Reason: reason, Detail: detail}
}

// Wrap returns a refusal caused by err, whose text becomes the detail.
func Wrap(code Code, reason string, err error) *Denied {
	return &Denied{Code: code, Reason: reason, Detail: err.Error(), cause: err}
}

// WithHint returns d with a hint, formatted as fmt.Sprintf does.
func (d *Denied) WithHint(hint string, args ...any) *Denied {
	if len(args) > 0 {
		hint = fmt.Sprintf(hint, args...)
	}
	c := *d
	c.Hint = hint
	return &c
}

// Error returns the refusal as a sentence.
func (d *Denied) Error() string {
	text := words[d.Code]
	if text == "" {
		text = words[Internal]
	}
	switch {
	case d.Detail != "":
		return text + ": " + d.Detail
	case d.Reason != "":
		return text + ": " + d.Reason
	}
	return text
}

// Unwrap returns the cause of a refusal made by Wrap.
func (d *Denied) Unwrap() error { return d.cause }

// words says each code in prose.
var words = map[Code]string{
	Invalid:         "the request is not valid",
	Unauthenticated: "the caller is not authenticated",
	Refused:         "refused",
	NeedsApproval:   "an approval is needed",
	NotFound:        "not found",
	Conflict:        "it conflicts with what is there",
	Expired:         "the permission has expired",
	Revoked:         "access has ended",
	Exhausted:       "all reads are used",
	BudgetExhausted: "the cost cap is reached",
	Replay:          "the nonce was used before",
	ClockSkew:       "the clocks differ too much",
	NotCanonical:    "not in canonical form",
	Stale:           "the state is too old to decide",
	Forked:          "a history has forked",
	TooLarge:        "too large",
	RateLimited:     "too many requests",
	Unavailable:     "not available now",
	Internal:        "internal error",
}

// From returns the refusal in err: the Denied it holds, or one made of its
// code, reason and hint. It returns nil for nil.
func From(err error) *Denied {
	if err == nil {
		return nil
	}
	if d := (*Denied)(nil); errors.As(err, &d) {
		return d
	}
	d := Wrap(Of(err), "", err)
	if e := Explainer(nil); errors.As(err, &e) {
		d.Reason, d.Hint = e.FaultReason(), e.FaultHint()
	}
	if l := Lender(nil); errors.As(err, &l) {
		d.Perm = l.FaultPerm()
	}
	return d
}

// fromEnvelope gives a code to what the signing boundary refuses.
func fromEnvelope(err error) Code {
	var form *envelope.FormError
	var typ *envelope.TypeError
	switch {
	case errors.Is(err, envelope.ErrTooLarge):
		return TooLarge
	case errors.Is(err, envelope.ErrSignature):
		return Unauthenticated
	case errors.Is(err, envelope.ErrUnknownKey), errors.Is(err, envelope.ErrRetired), errors.Is(err, envelope.ErrPending):
		return Unauthenticated
	case errors.As(err, &form), errors.As(err, &typ):
		return Invalid
	}
	return Internal
}
