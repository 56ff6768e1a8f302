package fault

import (
	"context"
	"errors"
	"net/http"

	"trustnode/did/envelope"
)

// Code is one of a closed set of reasons why something was not done. It is
// the same word on every surface: HTTP problem, MCP error, reply to a peer,
// JSON of a command. The zero Code is none of them.
type Code string

// The closed set. Codes are append-only: never renamed, never reused.
const (
	Invalid         Code = "invalid"
	Unauthenticated Code = "unauthenticated"
	Refused         Code = "refused"
	NeedsApproval   Code = "needs_approval"
	NotFound        Code = "not_found" // also what is there but not the caller's to see
	Conflict        Code = "conflict"
	Expired         Code = "expired"
	Revoked         Code = "revoked"
	Exhausted       Code = "exhausted"
	BudgetExhausted Code = "budget_exhausted"
	Replay          Code = "replay"
	ClockSkew       Code = "clock_skew"
	NotCanonical    Code = "not_canonical"
	Stale           Code = "stale"
	Forked          Code = "forked"
	TooLarge        Code = "too_large"
	RateLimited     Code = "rate_limited"
	Unavailable     Code = "unavailable"
	Internal        Code = "internal"
)

// Exit codes of the program.
const (
	ExitDone       = 0
	ExitFailed     = 1
	ExitUsage      = 2
	ExitRefused    = 3 // refused, or waiting for an approval
	ExitUnverified = 4 // something does not verify
)

// Errors that have an exit code of their own and no Code.
var (
	// ErrUsage means a command was called wrongly.
	ErrUsage = errors.New("usage")
	// ErrUnverified means a file or an object does not verify.
	ErrUnverified = errors.New("does not verify")
)

// surface is what one code looks like outside.
type surface struct{ status, exit int }

var surfaces = map[Code]surface{
	Invalid:         {http.StatusBadRequest, ExitFailed},
	NotCanonical:    {http.StatusBadRequest, ExitFailed},
	Unauthenticated: {http.StatusUnauthorized, ExitRefused},
	ClockSkew:       {http.StatusUnauthorized, ExitRefused},
	Refused:         {http.StatusForbidden, ExitRefused},
	NeedsApproval:   {http.StatusForbidden, ExitRefused},
	Revoked:         {http.StatusForbidden, ExitRefused},
	Expired:         {http.StatusForbidden, ExitRefused},
	Exhausted:       {http.StatusForbidden, ExitRefused},
	BudgetExhausted: {http.StatusForbidden, ExitRefused},
	NotFound:        {http.StatusNotFound, ExitFailed},
	Conflict:        {http.StatusConflict, ExitFailed},
	Stale:           {http.StatusConflict, ExitRefused},
	Forked:          {http.StatusConflict, ExitRefused},
	TooLarge:        {http.StatusRequestEntityTooLarge, ExitFailed},
	Replay:          {http.StatusUnprocessableEntity, ExitRefused},
	RateLimited:     {http.StatusTooManyRequests, ExitFailed},
	Unavailable:     {http.StatusServiceUnavailable, ExitFailed},
	Internal:        {http.StatusInternalServerError, ExitFailed},
}

// Valid reports whether c belongs to the closed set.
func (c Code) Valid() bool { _, ok := surfaces[c]; return ok }

// Status returns the HTTP status of c; of a code outside the set, that of
// Internal.
func (c Code) Status() int { return c.surface().status }

// Exit returns the program's exit code for c; of a code outside the set, that
// of Internal.
func (c Code) Exit() int { return c.surface().exit }

func (c Code) surface() surface {
	if s, ok := surfaces[c]; ok {
		return s
	}
	return surfaces[Internal]
}

// Coder is what an error of a lower package has that knows its own code. Such
// packages do not import this one. The text is a Code; another one counts as
// Internal.
type Coder interface {
	error
	FaultCode() string
}

// Explainer is a Coder that also has a reason and a hint, in the sense of
// Denied.
type Explainer interface {
	Coder
	FaultReason() string
	FaultHint() string
}

// Lender is a Coder that names the permission concerned.
type Lender interface {
	Coder
	FaultPerm() envelope.ID
}

// Of maps every error to the closed set, and nil to the zero Code. What no
// package gave a code is Internal; a deadline or a cancelled call is
// Unavailable.
func Of(err error) Code {
	if err == nil {
		return ""
	}
	if d := (*Denied)(nil); errors.As(err, &d) {
		return d.Code.known()
	}
	if c := Coder(nil); errors.As(err, &c) {
		return Code(c.FaultCode()).known()
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return Unavailable
	}
	return fromEnvelope(err)
}

// known returns c, or Internal for a code outside the set.
func (c Code) known() Code {
	if c.Valid() {
		return c
	}
	return Internal
}

// Exit returns the exit code for what a command returned: nil is done.
func Exit(err error) int {
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, ErrUnverified):
		return ExitUnverified
	case errors.Is(err, ErrUsage):
		return ExitUsage
	}
	return Of(err).Exit()
}
