package audit

import (
	"fmt"

	"trustnode/attestation"
	"trustnode/did/envelope"
)

// Gone says that a row is its hash alone: it was erased, or is past its age. It unwraps to
// attestation.ErrNotFound: to who does not look closer, the row is not held.
type Gone struct {
	ID    envelope.ID
	Proof RowProof // without the row: whoever kept its bytes puts them in, and it verifies
}

// Error implements error.
func (g *Gone) Error() string { return fmt.Sprintf("row %s is its hash alone", g.ID) }

// Unwrap returns attestation.ErrNotFound.
func (g *Gone) Unwrap() error { return attestation.ErrNotFound }

// FaultCode returns not_found.
func (g *Gone) FaultCode() string { return "not_found" }

// FaultReason returns erased.
func (g *Gone) FaultReason() string { return "erased" }

// FaultHint says what is left.
func (g *Gone) FaultHint() string {
	return "it was erased or is past its age; a file that shows it still verifies"
}
