package resolver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/didweb"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/node/fault"
	"trustnode/node/fetch"
)

// StepHost is the step of evidence that a DID's host was asked for this answer, with the
// version that it serves. A version other than that of the step "head" was refused, and a
// warning says why; no version: what it serves is none.
const StepHost = "host"

// Fresh asks d's host, then answers. It is for the operator alone: a stranger who could
// cause it would choose whom this node dials.
//
// Of a DID that is held, what the host serves is offered to the ring; the answer is what
// stands then, and a warning says what of the host's was refused, or that it did not
// answer. Of another one the answer rests on what the host serves, and nothing is kept.
// Methods whose DID is the key need no host. Errors are *did.ResolutionError: those of
// Resolve, NOT_FOUND if the host has no such file, INTERNAL_ERROR around
// did.ErrUnavailable, with the cause as detail, if it gave no answer and nothing is held.
func (r *Resolver) Fresh(ctx context.Context, d did.DID, o did.Options) (did.Resolution, error) {
	if o.Now.IsZero() {
		o.Now = r.now()
	}
	if !hosted(d) {
		return r.Resolve(ctx, d, o)
	}
	if !r.pinned(ctx, d) {
		return r.stranger(ctx, d, o)
	}
	served, note := r.refresh(ctx, d)
	res, err := r.Resolve(ctx, d, o)
	if err != nil {
		return did.Resolution{}, err
	}
	if served != nil {
		res.Evidence = append(slices.Clip(res.Evidence), *served)
	}
	if note != nil {
		res.Warnings = append(slices.Clip(res.Warnings), *note)
	}
	return res, nil
}

// hosted reports whether d names a place on a web server. One that should and does not is
// refused by its method, before any look-up.
func hosted(d did.DID) bool {
	switch d.Method() {
	case didweb.Method:
		_, err := didweb.ParseIdentifier(d)
		return err == nil
	case didwebvh.Method:
		_, err := didwebvh.ParseIdentifier(d)
		return err == nil
	}
	return false
}

func (r *Resolver) fetch(ctx context.Context, d did.DID) (fetch.Fetched, error) {
	if r.cfg.Host == nil {
		return fetch.Fetched{}, errNoHost
	}
	return r.cfg.Host.Fetch(ctx, d)
}

// stranger answers for a DID that is not held, from what its host serves, and keeps nothing.
func (r *Resolver) stranger(ctx context.Context, d did.DID, o did.Options) (did.Resolution, error) {
	got, err := r.fetch(ctx, d)
	if err != nil {
		return did.Resolution{}, noAnswer(err)
	}
	res, err := r.Given(ctx, d, got.Material, o)
	if err != nil {
		return did.Resolution{}, err
	}
	res.ConfirmedAt, res.Age = o.Now, 0
	res.Evidence = append(slices.Clip(res.Evidence), did.Evidence{Step: StepHost, Version: served(d, got.Material)})
	return res, nil
}

// noAnswer is the refusal where a host gave nothing and nothing is held. The operator who
// asked is told why; nobody else can cause it.
func noAnswer(err error) error {
	name := did.InternalError
	if errors.Is(err, did.ErrAbsent) {
		name = did.NotFound
	} else if !errors.Is(err, did.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", did.ErrUnavailable, err)
	}
	return &did.ResolutionError{Name: name, Detail: why(err), Err: err}
}

// why is an error with what to do about it.
func why(err error) string {
	if d := fault.From(err); d.Hint != "" {
		return err.Error() + "; " + d.Hint
	}
	return err.Error()
}

// served is the version that bytes from a host end with, "" where they are none.
func served(d did.DID, m did.Material) string {
	if d.Method() == didweb.Method {
		return envelope.IDOf(m.Log).String()
	}
	return lastVersion(m.Log)
}

// refresh brings what the host of a DID that is held serves to the ring. It answers what
// it served, nil if it gave no answer, and what is to be told of it.
func (r *Resolver) refresh(ctx context.Context, d did.DID) (*did.Evidence, *did.Warning) {
	name := r.nameOf(ctx, d)
	got, err := r.fetch(ctx, name)
	if err != nil {
		return nil, &did.Warning{Where: name.String(), What: "its host was asked and gave no answer: " + why(err)}
	}
	host := &did.Evidence{Step: StepHost, Version: served(name, got.Material)}
	res, err := r.offer(ctx, name, got)
	if err == nil {
		if err := r.ring.Confirm(ctx, name, res.Version.ID, keyring.ByHost, r.now()); err != nil {
			r.log.WarnContext(ctx, "a confirmation is not noted", "did", name.String(), "err", err)
		}
		return host, nil
	}
	var changed *keyring.Changed
	if errors.As(err, &changed) {
		return host, nil // it is set aside, and every answer warns of it from now on
	}
	if !isVersion(err) {
		host.Version = ""
	}
	return host, &did.Warning{Where: name.String(), What: "what its host serves is refused: " + err.Error()}
}

// isVersion reports whether what was refused is a version of the DID at all: older or
// another, rather than bytes that do not verify.
func isVersion(err error) bool {
	var back *keyring.Rollback
	var fork *keyring.Fork
	return errors.As(err, &back) || errors.As(err, &fork) || errors.Is(err, keyring.ErrVersions)
}

// nameOf is the name that the newest version held of d has: after a move the host of the
// one before need not answer any more.
func (r *Resolver) nameOf(ctx context.Context, d did.DID) did.DID {
	h, err := r.ring.History(ctx, d)
	if err != nil || h.Len() == 0 {
		return d
	}
	return h.DID()
}

// offer has the ring judge what a host serves.
func (r *Resolver) offer(ctx context.Context, d did.DID, got fetch.Fetched) (keyring.Result, error) {
	if d.Method() == didwebvh.Method {
		return r.Offer(ctx, d, got.Material.Log, got.Material.Witness)
	}
	return r.offerWeb(ctx, d, got.Material.Log, "", r.now(), got.SPKI.String())
}

func (r *Resolver) offerWeb(ctx context.Context, d did.DID, doc []byte, by string, at time.Time, spki string) (keyring.Result, error) {
	res, err := r.ring.OfferWeb(ctx, d, doc, by, at, spki)
	return r.judged(ctx, d, res, err)
}

// Offer has the ring judge a log from anywhere, as keyring.Ring.Offer does, counts what is
// refused and tells of a head that moved.
func (r *Resolver) Offer(ctx context.Context, d did.DID, log, witness []byte) (keyring.Result, error) {
	res, err := r.ring.Offer(ctx, d, log, witness)
	return r.judged(ctx, d, res, err)
}

func (r *Resolver) judged(ctx context.Context, d did.DID, res keyring.Result, err error) (keyring.Result, error) {
	if err != nil {
		r.count(err)
		return keyring.Result{}, err
	}
	if res.Advanced {
		r.cfg.Moved(ctx, d)
	}
	return res, nil
}
