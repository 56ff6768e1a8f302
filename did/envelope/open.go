package envelope

import (
	"context"
	"fmt"

	"trustnode/did"
)

// KeySource says which key counts, at the one place in a history it was made for. signer is the issuer that the body
// names, kid the fragment of its verification method. It needs no network. Safe for concurrent use. Errors:
// ErrUnknownKey, ErrRetired, ErrPending.
type KeySource interface {
	Key(ctx context.Context, signer did.DID, kid string) (did.Key, error)
}

// KeySourceFunc makes a function a KeySource.
type KeySourceFunc func(ctx context.Context, signer did.DID, kid string) (did.Key, error)

// Key calls f.
func (f KeySourceFunc) Key(ctx context.Context, signer did.DID, kid string) (did.Key, error) {
	return f(ctx, signer, kid)
}

// Verified is a signed object whose form and signatures were checked here. Open and OpenSet alone make it; every method
// panics on the zero value, which was never checked.
type Verified[T Body] struct {
	ok      bool
	body    T
	id      ID
	env     Envelope
	key     did.Key
	signers []did.PublicKey
}

func (v *Verified[T]) must() {
	if !v.ok {
		panic("envelope: use of a Verified that was never verified")
	}
}

// Body returns what was signed.
func (v Verified[T]) Body() T { v.must(); return v.body }

// ID returns the object's id.
func (v Verified[T]) ID() ID { v.must(); return v.id }

// Envelope returns the object as it was opened. It may hold signatures that OpenSet reported as bad or unknown.
func (v Verified[T]) Envelope() Envelope { v.must(); return v.env }

// Key returns the key of the one signer and the version that lists it; zero if OpenSet counted signers instead.
func (v Verified[T]) Key() did.Key { v.must(); return v.key }

// Signers returns the keys whose signatures verified, each once: one after Open, in the order of the keys given to
// OpenSet after that. The caller must not change the slice.
func (v Verified[T]) Signers() []did.PublicKey { v.must(); return v.signers }

// Decode reads the body of e as T, checking type, size and form and no signature: what it returns is anybody's claim.
// Errors: *TypeError, ErrTooLarge, *FormError, also around what Check says.
func Decode[T Body](e Envelope) (T, error) {
	var none, body T
	if want := none.Payload(); e.Type != want {
		return none, &TypeError{Got: e.Type, Want: want}
	}
	if limit := MaxBytes[T](); len(e.Body) > limit {
		return none, fmt.Errorf("%s body of %d bytes, at most %d: %w", e.Type.What(), len(e.Body), limit, ErrTooLarge)
	}
	if err := Unmarshal(e.Body, &body); err != nil {
		return none, err
	}
	if err := body.Check(); err != nil {
		return none, refused(err)
	}
	return body, nil
}

// Claim is an object whose form was checked and whose signatures were not: anybody may have made it. It is made by Read
// and ReadSigned alone; the zero value opens under no key.
type Claim[T Body] struct {
	body T
	env  Envelope
}

// Body returns what the object says.
func (c Claim[T]) Body() T { return c.body }

// Envelope returns the object.
func (c Claim[T]) Envelope() Envelope { return c.env }

// Read is Decode of an object that is to be opened afterwards, so that its body is decoded once.
func Read[T Body](e Envelope) (Claim[T], error) {
	body, err := Decode[T](e)
	if err != nil {
		return Claim[T]{}, err
	}
	return Claim[T]{body: body, env: e}, nil
}

// ReadSigned is Read of a body and the signature of its one signer, as they lie in a log entry: the keyid is the body's kid.
func ReadSigned[T Body](body []byte, sig did.Signature) (Claim[T], error) {
	var none T
	c, err := Read[T](Envelope{Type: none.Payload(), Body: body})
	if err != nil {
		return Claim[T]{}, err
	}
	_, kid := c.body.Signer()
	c.env.Signatures = []Signature{{KeyID: kid, Sig: sig}}
	return c, nil
}

// Open verifies an object with one signer: the issuer and kid that its body names, whose key src tells. There must be
// exactly one signature, and its keyid must repeat the kid: anything else would be a second spelling of the object.
// Errors: those of Decode, *FormError for the signatures, those of src, ErrSignature, and
// did.ErrNotSigning where src names a key that cannot verify.
func Open[T Body](ctx context.Context, e Envelope, src KeySource) (Verified[T], error) {
	c, err := Read[T](e)
	if err != nil {
		return Verified[T]{}, err
	}
	return c.Open(ctx, src)
}

// Open verifies the one signature of c, as the function Open does.
func (c Claim[T]) Open(ctx context.Context, src KeySource) (Verified[T], error) {
	e := c.env
	signer, kid := c.body.Signer()
	if signer.IsZero() || kid == "" {
		return Verified[T]{}, &FormError{Path: "kid", What: "body names no signer"}
	}
	if n := len(e.Signatures); n != 1 {
		return Verified[T]{}, &FormError{Path: "signatures", What: fmt.Sprintf("%d signatures, expected 1", n)}
	}
	if e.Signatures[0].KeyID != kid {
		return Verified[T]{}, &FormError{Path: "signatures[0].keyid", What: "differs from the kid of the body"}
	}
	key, err := src.Key(ctx, signer, kid)
	if err != nil {
		return Verified[T]{}, err
	}
	if err := key.Public.Verify(e.Preimage().Bytes(), e.Signatures[0].Sig); err != nil {
		return Verified[T]{}, fmt.Errorf("%s by %s#%s: %w", e.Type.What(), signer, kid, err)
	}
	return Verified[T]{
		ok: true, body: c.body, id: e.ID(), env: e, key: key, signers: []did.PublicKey{key.Public},
	}, nil
}
