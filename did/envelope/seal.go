package envelope

import (
	"context"
	"fmt"

	"trustnode/did"
)

// Body is what a signed object says. Methods are on the value.
type Body interface {
	// Payload returns the type's constant, also on the zero body.
	Payload() Type
	// Signer returns the issuer the body names and the fragment of its key; both empty where the body names none and
	// signers are counted by OpenSet.
	Signer() (did.DID, string)
	// Check returns an error if a member breaks the type's own rules of form. It looks at nothing but the body.
	Check() error
}

// sized is the optional method of a Body whose cap is not DefaultMaxBytes.
type sized interface{ MaxBytes() int }

// MaxBytes returns the cap of T's bodies in bytes: what its method MaxBytes says, else DefaultMaxBytes.
func MaxBytes[T Body]() int {
	var body T
	if s, ok := any(body).(sized); ok {
		return s.MaxBytes()
	}
	return DefaultMaxBytes
}

// encode returns the canonical bytes of a body that passes its own Check.
func encode[T Body](body T) ([]byte, error) {
	if err := body.Check(); err != nil {
		return nil, refused(err)
	}
	b, err := Marshal(body)
	if err != nil {
		return nil, err
	}
	if limit := MaxBytes[T](); len(b) > limit {
		return nil, fmt.Errorf("%s body of %d bytes, at most %d: %w", body.Payload().What(), len(b), limit, ErrTooLarge)
	}
	return b, nil
}

// Seal checks, canonicalizes and signs body. The first signature carries the kid the body names, further ones, and all
// where it names none, their key's multikey text. Without signers the result is a draft. Errors: *FormError,
// also around what Check says; ErrTooLarge; what a Signer says.
func Seal[T Body](ctx context.Context, body T, signers ...Signer) (Envelope, error) {
	b, err := encode(body)
	if err != nil {
		return Envelope{}, err
	}
	e := Envelope{Type: body.Payload(), Body: b}
	_, kid := body.Signer()
	if kid != "" && !validKeyID(kid) {
		return Envelope{}, &FormError{Path: "kid", What: whatKeyID}
	}
	sigs := make([]Signature, 0, len(signers))
	for i, s := range signers {
		if i > 0 || kid == "" {
			kid = s.Public().Multikey()
		}
		sig, err := s.Sign(ctx, e.Preimage())
		if err != nil {
			return Envelope{}, err
		}
		sigs = append(sigs, Signature{KeyID: kid, Sig: sig})
	}
	return e.With(sigs...), nil
}

// Cosign adds the signature of one more signer under its multikey text. The caller must have read the body: a signature
// says that it agrees.
func Cosign(ctx context.Context, e Envelope, s Signer) (Envelope, error) {
	sig, err := s.Sign(ctx, e.Preimage())
	if err != nil {
		return Envelope{}, err
	}
	return e.With(Signature{KeyID: s.Public().Multikey(), Sig: sig}), nil
}
