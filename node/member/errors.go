package member

import "errors"

// The errors by which what a peer brought is sorted. Errors of envelope (ErrSignature,
// *FormError, *TypeError, ErrTooLarge) are the sender's fault as ErrForeign is; what is
// none of these is this node's own.
var (
	ErrForeign  = errors.New("no member of this federation sends it") // the sender's fault
	ErrPending  = errors.New("what it rests on is not held here")     // park it, sync with the sender
	ErrInactive = errors.New("signer is not an active member")        // ignore
	ErrOld      = errors.New("not newer than what is held")           // ignore
)
