package attestation

// Fault is a sentinel that knows how it is told outside: one word of the
// closed set of codes, a reason, and what to do next.
type Fault struct{ text, code, reason, hint string }

// NewFault makes a sentinel; code is a word of the closed set.
func NewFault(text, code, reason, hint string) *Fault { return &Fault{text, code, reason, hint} }

// Error implements error.
func (e *Fault) Error() string { return e.text }

// FaultCode returns the code.
func (e *Fault) FaultCode() string { return e.code }

// FaultReason returns the reason, "" for none.
func (e *Fault) FaultReason() string { return e.reason }

// FaultHint returns what to do next, "" for nothing.
func (e *Fault) FaultHint() string { return e.hint }

// The errors a caller may branch on.
var (
	// ErrNotFound says that a log, an event or a row is not held here.
	ErrNotFound error = NewFault("not held here", "not_found", "", "")
	// ErrConflict says that a batch does not start at the size of its log.
	ErrConflict error = NewFault("batch does not start at the size of the log", "conflict", "", "")
	// ErrUnknownType says that a type is in no row of the registry, or is
	// made by the sequencer alone.
	ErrUnknownType error = NewFault("event type is not known", "invalid", "event", "")
	// ErrTooLarge says that an event, a body, a row or a batch is over its cap.
	ErrTooLarge error = NewFault("over the size limit", "too_large", "event", "keep the text in an object and name its id")
	// ErrBacklog says that the log does not take what is decided: new work
	// is refused until it does.
	ErrBacklog error = NewFault("the log does not drain", "unavailable", "drain", "the audit database does not accept writes: look at the disk, then trustnode status")
	// ErrErased says that a body was erased by whose it is: it is not taken again.
	ErrErased error = NewFault("erased", "not_found", "erased", "its event and its proof are still here")
	// ErrCursor says that a cursor is not one of the query it came with.
	ErrCursor error = NewFault("cursor is of another query", "invalid", "cursor", "start again without --cursor")
	// ErrCursorAhead says that a cursor stands above what is held: it was given before
	// something was lost here, or by another node.
	ErrCursorAhead error = NewFault("cursor is ahead of what is held", "stale", "cursor_ahead", "start again without --cursor: events that were lost here come back in another order")
)
