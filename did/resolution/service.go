package resolution

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"trustnode/did"
)

// Resolve finds and verifies what d stands for. Options.Now is set. Errors are *did.ResolutionError, did.ErrAbsent or
// did.ErrUnavailable; others count as internal. It must be safe for concurrent use and end when ctx does.
type Resolve func(ctx context.Context, d did.DID, o did.Options) (did.Resolution, error)

// Service answers requests. Resolve and Now must be set.
type Service struct {
	Resolve Resolve
	// Now is the present, for the rules of methods and for keys that end by themselves.
	Now func() time.Time
	// ConfirmedBy, optional, names who last confirmed the version found, such as "beacon"; "" if nobody did.
	ConfirmedBy func(did.Resolution) string
	// Failed, optional, is told the cause of each INTERNAL_ERROR, a panic in Resolve included. No caller sees it.
	Failed func(ctx context.Context, err error)
}

// Answer is a finished answer. The body is JSON, the same bytes for the same result.
type Answer struct {
	Outcome
	ContentType string
	Body        []byte
	Err         *did.ResolutionError // nil if a document was found or the DID is deactivated
}

// Get answers an HTTP request, of which it takes what ParseHTTP does.
func (s Service) Get(ctx context.Context, identifier, query, accept string) Answer {
	r, err := parseHTTP(identifier, query, accept)
	if err != nil {
		return s.refusal(ctx, r, err)
	}
	return s.Answer(ctx, r)
}

// Text answers for a DID or DID URL as a person writes it, as Parse reads it.
func (s Service) Text(ctx context.Context, text string) Answer {
	r, err := parse(text, "", "")
	if err != nil {
		return s.refusal(ctx, r, err)
	}
	return s.Answer(ctx, r)
}

// Answer resolves r, and dereferences its fragment if it has one. A DID that is frozen has no document: the error is
// did.Forked. One that is deactivated has none either and is no error. A panic in a function of the service becomes an
// INTERNAL_ERROR.
func (s Service) Answer(ctx context.Context, r Request) (a Answer) {
	defer func() {
		if v := recover(); v != nil {
			a = s.refusal(ctx, r, fmt.Errorf("panic while resolving %s: %v\n%s", r.id, v, debug.Stack()))
		}
	}()
	at := s.Now()
	found, err := s.resolve(ctx, r, at)
	if err != nil {
		return s.refusal(ctx, r, err)
	}
	content := found.Raw
	if r.frag != "" && found.State == did.Held {
		if content, err = part(found, r.frag, r.rel, at); err != nil {
			return s.refusal(ctx, r, err)
		}
	}
	return s.found(r, found, content)
}

// resolve calls Resolve and checks what it is told before anything of it is sent.
func (s Service) resolve(ctx context.Context, r Request, at time.Time) (did.Resolution, error) {
	if r.id.IsZero() {
		return did.Resolution{}, refuse(did.InvalidDID, "no DID", did.ErrSyntax)
	}
	o := r.opts
	o.Now = at
	found, err := s.Resolve(ctx, r.id, o)
	if err != nil {
		return did.Resolution{}, err
	}
	return sound(found, r.id)
}

// sound refuses a result that does not answer for d: a document must not be missed or missing by accident.
func sound(r did.Resolution, d did.DID) (did.Resolution, error) {
	switch {
	case r.DID != d:
		return did.Resolution{}, fmt.Errorf("%s resolved to %q", d, r.DID)
	case r.State == did.Frozen:
		return did.Resolution{}, refuse(did.Forked, "", nil)
	case r.State == did.Deactivated:
		r.Raw, r.Document = nil, did.Document{}
		return r, nil
	case r.State != did.Held || len(r.Raw) == 0 || r.Document.IsZero():
		return did.Resolution{}, fmt.Errorf("%s resolved to no document, %v", d, r.State)
	case r.Document.ID() != d && r.Canonical.IsZero(): // only a log that moved has documents of several names
		return did.Resolution{}, fmt.Errorf("%s resolved to the document of %s", d, r.Document.ID())
	}
	return r, nil
}

func (s Service) found(r Request, found did.Resolution, content []byte) Answer {
	a := Answer{Outcome: held, ContentType: r.form.media(), Body: content}
	f := r.form
	if found.State == did.Deactivated {
		a.Outcome = deactivated
		f = enveloped(r)
		a.ContentType = f.media()
	}
	if f.alone() {
		return a
	}
	by := ""
	if s.ConfirmedBy != nil {
		by = s.ConfirmedBy(found)
	}
	a.Body = appendFound(make([]byte, 0, len(content)+1024), f, content, found, by)
	return a
}

func (s Service) refusal(ctx context.Context, r Request, err error) Answer {
	e := typed(err)
	if e.Name == did.InternalError && s.Failed != nil {
		s.Failed(ctx, e)
	}
	if r.hash && (e.Name == did.NotFound || e.Name == did.InvalidDID) {
		e = &did.ResolutionError{Name: e.Name, Detail: hashHint, Err: e.Err}
	}
	f := enveloped(r)
	return Answer{
		Outcome:     OutcomeOf(e),
		ContentType: f.media(),
		Body:        appendError(make([]byte, 0, 512), f, e),
		Err:         e,
	}
}

// hashHint says how to ask for a fragment to who wrote did:web:a.example%23key.
const hashHint = `a DID that begins "did:" is taken byte for byte, its %23 begins no fragment: encode it all, as did%3Aweb%3A…%23key`

// enveloped is the form of an answer that has no document to send alone: the result of what was asked for.
func enveloped(r Request) form {
	switch {
	case !r.form.alone() && r.form != 0:
		return r.form
	case r.form.legacy():
		return formLegacyResult
	}
	return fallback(r.frag != "")
}
