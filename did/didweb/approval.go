package didweb

import (
	"errors"
	"fmt"
	"slices"
)

// Approval names the way by which the keys of a snapshot came to be trusted. Values are stored: never reorder, never
// reuse. The zero value is invalid.
type Approval uint8

// The ways. After a join there are three, and no fourth.
const (
	_          Approval = iota
	Joined              // the join card, compared by voice
	Rotated             // a key.rotated event, signed by a pinned key, that names the new bytes
	Rekeyed             // a charter that moves the seat to new keys
	ByOperator          // did resolve --accept-head
)

var approvals = []string{Joined: "join", Rotated: "key.rotated", Rekeyed: "rekey", ByOperator: "operator"}

var errApproval = errors.New("not a way by which keys are approved")

// String returns the way as a snapshot spells it.
func (a Approval) String() string {
	if a == 0 || int(a) >= len(approvals) {
		return fmt.Sprintf("approval %d", uint8(a))
	}
	return approvals[a]
}

// MarshalText returns String; a value outside the set is an error.
func (a Approval) MarshalText() ([]byte, error) {
	if a == 0 || int(a) >= len(approvals) {
		return nil, errApproval
	}
	return []byte(a.String()), nil
}

// UnmarshalText reads what MarshalText writes.
func (a *Approval) UnmarshalText(b []byte) error {
	i := slices.Index(approvals, string(b))
	if i <= 0 {
		return errApproval
	}
	*a = Approval(i)
	return nil
}
