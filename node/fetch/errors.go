package fetch

import (
	"context"
	"errors"
	"net"
	"strconv"

	"trustnode/did"
	"trustnode/node/fault"
)

// Cause is why a Fetch gave nothing. The zero value is invalid. Never reorder, never reuse.
type Cause uint8

// The causes.
const (
	_               Cause = iota
	CauseIdentifier       // the DID names no place that is fetched from; nothing was looked up
	CauseAbsent           // the server answered 404 or 410
	CauseAddress          // the host resolves to an address that is not dialed
	CauseName             // the host's name does not resolve
	CauseConnect          // no connection, or it broke, or what came is no HTTP
	CauseTLS              // no TLS 1.2, or a certificate that is not valid for the host
	CauseRedirect         // the server answered with a redirect
	CauseStatus           // the server answered with another status than 200
	CauseEncoding         // the body is compressed although that was not offered
	CauseTooLarge         // the body is beyond its cap
	CauseEmpty            // the body has no bytes
	CauseTimeout          // no whole answer in time
	CauseCancelled        // the caller gave up
)

// wording is what callers show of a cause.
type wording struct{ reason, text, hint string }

var wordings = [...]wording{
	CauseIdentifier: {"identifier", "no place to fetch from", ""},
	CauseAbsent:     {"absent", "not there", "ask the organization whether it still publishes this DID"},
	CauseAddress:    {"address", "refused to connect", "if the peer is in your own network, add its addresses to identity.fetch_allow_cidrs"},
	CauseName:       {"name", "the name does not resolve", "check the DID's spelling and the resolver of this machine"},
	CauseConnect:    {"connect", "no answer", "the server may be down or behind a firewall; what is pinned still verifies"},
	CauseTLS:        {"tls", "no secure connection", "the peer must serve TLS 1.2 or newer with a valid certificate for its host"},
	CauseRedirect:   {"redirect", "answered with a redirect, which is not followed", "the peer must serve the file at this very address"},
	CauseStatus:     {"status", "answered with an error", ""},
	CauseEncoding:   {"encoding", "answered in a compressed form", "the peer must serve the file uncompressed"},
	CauseTooLarge:   {"too_large", "the answer is too large", ""},
	CauseEmpty:      {"empty", "the answer is empty", ""},
	CauseTimeout:    {"timeout", "no whole answer in time", "the server may be down or slow; what is pinned still verifies"},
	CauseCancelled:  {"cancelled", "given up", ""},
}

func (c Cause) words() wording {
	if c == 0 || int(c) >= len(wordings) {
		return wording{reason: "cause " + strconv.Itoa(int(c))}
	}
	return wordings[c]
}

// String returns the cause in one word, as metrics spell it.
func (c Cause) String() string { return c.words().reason }

// Error is why a Fetch gave nothing. It matches did.ErrAbsent for CauseAbsent and CauseIdentifier, for which no later
// answer is to be expected, and did.ErrUnavailable for all others; did.ErrTooLarge, *AddressError, *HandshakeError and
// context errors are found in it where they are the cause.
type Error struct {
	Cause  Cause
	URL    string // of the file asked for, "" if the DID names none
	Status int    // of the answer, 0 without one
	Err    error  // the cause below, may be nil
}

var _ fault.Explainer = (*Error)(nil)

// Error names the file, what happened and why.
func (e *Error) Error() string {
	s := e.Cause.words().text
	if e.URL != "" {
		s = e.URL + ": " + s
	}
	if e.Status != 0 {
		s += " (" + strconv.Itoa(e.Status) + ")"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the did.Source error and the cause below.
func (e *Error) Unwrap() []error {
	kind := did.ErrUnavailable
	if e.Cause == CauseAbsent || e.Cause == CauseIdentifier {
		kind = did.ErrAbsent
	}
	if e.Err == nil {
		return []error{kind}
	}
	return []error{kind, e.Err}
}

// FaultCode implements fault.Coder.
func (e *Error) FaultCode() string {
	switch e.Cause {
	case CauseIdentifier:
		return string(fault.Invalid)
	case CauseAbsent:
		return string(fault.NotFound)
	}
	return string(fault.Unavailable)
}

// FaultReason implements fault.Explainer: the cause in one word.
func (e *Error) FaultReason() string { return e.Cause.String() }

// FaultHint implements fault.Explainer.
func (e *Error) FaultHint() string { return e.Cause.words().hint }

// failed gives a cause to an error of the transport or of reading a body.
func failed(ctx context.Context, url string, err error) *Error {
	return &Error{Cause: causeOf(ctx, err), URL: url, Err: err}
}

func causeOf(ctx context.Context, err error) Cause {
	var address *AddressError
	var name *net.DNSError
	var shake *HandshakeError
	var netErr net.Error
	switch {
	case errors.As(err, &address):
		return CauseAddress
	case errors.Is(ctx.Err(), context.Canceled):
		return CauseCancelled
	case ctx.Err() != nil:
		return CauseTimeout
	case errors.As(err, &name):
		return CauseName
	case errors.As(err, &shake):
		return CauseTLS
	case errors.As(err, &netErr) && netErr.Timeout():
		return CauseTimeout
	}
	return CauseConnect
}
