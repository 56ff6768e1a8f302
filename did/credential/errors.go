package credential

import (
	"errors"

	"trustnode/did"
	"trustnode/did/integrity"
)

// Errors of Verify. Each refuses the credential, but for ErrUnsupported and ErrOptions, which say that nothing was decided.
var (
	// ErrUnsupported: another suite, version or form, which is not read here. It is integrity.ErrUnsupported.
	ErrUnsupported = integrity.ErrUnsupported
	// ErrTooLarge: more than MaxCredential bytes. It is did.ErrTooLarge.
	ErrTooLarge = did.ErrTooLarge
	// ErrForm: not JSON that all readers read alike, or no credential of VC 2.0.
	ErrForm = errors.New("not a Verifiable Credential 2.0")
	// ErrProof: the proof is missing or malformed, is for another purpose, does not begin the document's @context, or does
	// not verify. It is integrity.ErrProof.
	ErrProof = integrity.ErrProof
	// ErrIssuer: the key in the proof is not the issuer's, or the resolver's answer is not about the issuer.
	ErrIssuer = errors.New("proof is not by the issuer")
	// ErrRelationship: the issuer's document lists the key, but not for making assertions. It is did.ErrRelationship.
	ErrRelationship = did.ErrRelationship
	// ErrDates: not valid yet, or not any more.
	ErrDates = errors.New("credential is outside its dates")
	// ErrOptions: no resolver or no time was given to Verify.
	ErrOptions = errors.New("no resolver or no time to verify a credential with")
)

// KeyError says that the issuer's document does not let the key of a proof sign. Err is did.ErrNoMethod, did.ErrRelationship
// or did.ErrUnusable.
type KeyError struct {
	Kid string // fragment of the key
	Err error
}

// Error names the key.
func (e *KeyError) Error() string { return "key of the credential: " + e.Err.Error() }

// Unwrap is what the document says of the key.
func (e *KeyError) Unwrap() error { return e.Err }
