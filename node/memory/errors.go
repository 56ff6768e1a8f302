package memory

import "fmt"

// Errors a caller may branch on. Each knows its code of the closed set.
var (
	// ErrNotFound says that the place has no such entry, wherever else one is.
	ErrNotFound error = &coded{"not_found", "no such entry"}
	// ErrNoSubject says that no subject of that name is known.
	ErrNoSubject error = &coded{"not_found", "no such subject"}
	// ErrSuperseded says that an entry has been corrected already.
	ErrSuperseded error = &coded{"conflict", "entry is superseded"}
	// ErrGone says that the bytes of a revision are no longer there.
	ErrGone error = &coded{"not_found", "revision is gone"}
	// ErrLeft says that an entry of an earlier answer has left its scope.
	ErrLeft error = &coded{"stale", "an entry has left the scope"}
	// ErrCursor says that a cursor belongs to another question.
	ErrCursor error = &coded{"invalid", "cursor is malformed or belongs to another question"}
	// ErrTooMany says that a query would rank more candidates than one answer
	// may.
	ErrTooMany error = &coded{"too_large", "the scope has too many candidates to rank"}
)

type coded struct{ code, text string }

func (e *coded) Error() string     { return e.text }
func (e *coded) FaultCode() string { return e.code }

// Invalid is a refusal of what a writer gave: which field, and what of it.
type Invalid struct{ Field, What string }

func (e *Invalid) Error() string       { return e.Field + ": " + e.What }
func (e *Invalid) FaultCode() string   { return "invalid" }
func (e *Invalid) FaultReason() string { return e.Field }
func (e *Invalid) FaultHint() string   { return "" }

func invalid(field, what string, args ...any) error {
	return &Invalid{field, fmt.Sprintf(what, args...)}
}
