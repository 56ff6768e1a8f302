package credential

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/keyring"
	"trustnode/did/strictjson"
)

// ResolveFunc answers a verified document of d, from what this node holds or by asking others. ctx bounds it.
type ResolveFunc func(ctx context.Context, d did.DID) (did.Resolution, error)

// Options is what Verify needs besides the credential. Both members must be set.
type Options struct {
	Resolve ResolveFunc
	At      time.Time // the time to judge dates and keys at
}

// Verify checks a foreign credential by SPEC.md, section 2: form, issuer, the relationship of the key in the issuer's
// document at o.At, proof, dates. It asks o.Resolve once, and only for a credential of good form. Errors: those of this
// package; did.ErrNoMethod and did.ErrUnusable where the issuer's document has no such key or one that ended;
// keyring.ErrFrozen and keyring.ErrDeactivated; those of o.Resolve as they are, which decide nothing. On an error the
// Result is zero.
func Verify(ctx context.Context, raw []byte, o Options) (Result, error) {
	if o.Resolve == nil || o.At.IsZero() {
		return Result{}, ErrOptions
	}
	c, err := parse(raw)
	if err != nil {
		return Result{}, err
	}
	signed, err := c.proof.Signed(c.doc)
	if err != nil {
		return Result{}, err
	}
	res, err := c.resolve(ctx, o.Resolve)
	if err != nil {
		return Result{}, err
	}
	key, err := res.Document.KeyAt(c.kid, did.AssertionMethod, o.At)
	if err != nil {
		return Result{}, &KeyError{Kid: c.kid, Err: err}
	}
	if err := c.proof.Verify(key, sha256.Sum256(signed)); err != nil {
		return Result{}, fmt.Errorf("%w: by %s#%s: %w", ErrProof, c.issuer, c.kid, err)
	}
	// Dates come after the proof: before it they are anybody's words.
	if err := c.checkDates(o.At); err != nil {
		return Result{}, err
	}
	return c.result(signed, res, o.At)
}

// resolve asks for the issuer and takes no answer about another, nor one that is not to be relied on.
func (c *claim) resolve(ctx context.Context, resolve ResolveFunc) (did.Resolution, error) {
	res, err := resolve(ctx, c.issuer)
	switch {
	case err != nil:
		return did.Resolution{}, err
	case res.State == did.Frozen:
		return did.Resolution{}, fmt.Errorf("issuer %s: %w", c.issuer, keyring.ErrFrozen)
	case res.State == did.Deactivated:
		return did.Resolution{}, fmt.Errorf("issuer %s: %w", c.issuer, keyring.ErrDeactivated)
	case res.State != did.Held || res.DID != c.issuer || !speaksFor(res.Document, c.issuer):
		return did.Resolution{}, fmt.Errorf("%w: %s resolves to the document of %q, %v", ErrIssuer, c.issuer, res.Document.ID(), res.State)
	}
	return res, nil
}

// speaksFor reports whether a document is the issuer's: that of its DID, or that of the DID it has moved to since. A log
// keeps its SCID through a move, and its newest document names the DID that was left: did:webvh 1.0, "DID Portability".
func speaksFor(doc did.Document, issuer did.DID) bool {
	if doc.ID() == issuer {
		return true
	}
	was, errWas := didwebvh.ParseIdentifier(issuer)
	now, errNow := didwebvh.ParseIdentifier(doc.ID())
	return errWas == nil && errNow == nil && was.SCID == now.SCID && slices.Contains(doc.AlsoKnownAs(), issuer.String())
}

// checkDates has no leeway: a clock that is wrong is its owner's to set right.
func (c *claim) checkDates(at time.Time) error {
	if !c.from.IsZero() && at.Before(c.from) {
		return fmt.Errorf("%w: valid from %s", ErrDates, c.from.Format(time.RFC3339Nano))
	}
	for _, end := range []time.Time{c.until, c.proof.Expires} {
		if !end.IsZero() && !at.Before(end) {
			return fmt.Errorf("%w: ended at %s", ErrDates, end.Format(time.RFC3339Nano))
		}
	}
	return nil
}

func (c *claim) result(signed []byte, res did.Resolution, at time.Time) (Result, error) {
	doc, err := strictjson.Parse(signed, maxDepth)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrForm, err)
	}
	return Result{
		ID: c.id, Types: c.types, Issuer: c.issuer, Subjects: c.subjects, Kid: c.kid, Version: res.Version,
		Created: c.proof.Created, ValidFrom: c.from, ValidUntil: c.until, Status: c.status, Document: doc,
		Evidence: evidence(c.kid, res), Warnings: append(c.warnings(at), res.Warnings...),
	}, nil
}

// evidence leads from the signature over the key to what the resolution rests on.
func evidence(kid string, res did.Resolution) []did.Evidence {
	steps := []did.Evidence{{Step: "signature", Kid: kid}}
	if !slices.ContainsFunc(res.Evidence, func(e did.Evidence) bool { return e.Step == "key" }) {
		steps = append(steps, did.Evidence{Step: "key", Version: res.Version})
	}
	return append(steps, res.Evidence...)
}

// warnings names what a reader might take as verified and is not.
func (c *claim) warnings(at time.Time) []did.Warning {
	var out []did.Warning
	warn := func(where, what string) { out = append(out, did.Warning{Where: where, What: what}) }
	if c.status == StatusUnchecked {
		warn("credentialStatus", "not looked up: the credential may be revoked")
	}
	for _, name := range []string{"credentialSchema", "termsOfUse"} {
		if _, ok := c.doc.Get(name); ok {
			warn(name, "not looked at")
		}
	}
	all, _ := c.doc.Get("@context")
	if own := c.proof.Context; own.Kind() != 0 && len(own.Elements()) < len(all.Elements()) {
		warn("@context", "has entries that are not signed")
	}
	if c.proof.Created.After(at) {
		warn("proof", "says that it was made after the time of judging")
	}
	return out
}
