package pins

import (
	"errors"
	"fmt"
)

// ErrForm is wrapped by the error for an invalid kind, key, value or decision.
var ErrForm = errors.New("not a valid pin")

// ErrCorrupt is matched by the *CorruptError of a file that does not read back as it was written.
var ErrCorrupt = errors.New("pins file is corrupt")

// ErrClosed is returned after Close.
var ErrClosed = errors.New("pins file is closed")

// Taken is returned when the slot already holds another value.
type Taken struct {
	Slot  Slot
	Value string // what the slot holds
}

// Error implements error.
func (e *Taken) Error() string {
	return fmt.Sprintf("%s %s %d is pinned to %s", e.Slot.Kind, e.Slot.Key, e.Slot.N, e.Value)
}

// Below is returned when a greater N is already pinned for the same kind and key.
type Below struct {
	Slot  Slot   // the slot with the greatest N
	Value string // what it holds
	N     uint64 // the N that was refused
}

// Error implements error.
func (e *Below) Error() string {
	return fmt.Sprintf("%s %s %d is below the pinned %d", e.Slot.Kind, e.Slot.Key, e.N, e.Slot.N)
}

// CorruptError names the line of the file that is wrong. It matches ErrCorrupt.
type CorruptError struct {
	Line int    // counted from 1
	What string // what is wrong with it
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("pins file is corrupt: line %d: %s", e.Line, e.What)
}

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }
