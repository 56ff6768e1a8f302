package mediation

import "time"

// Caps of what the bodies may hold.
const (
	MaxSmall    = 16 << 10  // dispute, answer, assignment, in bytes
	MaxRuling   = 64 << 10  // ruling, in bytes
	MaxEvidence = 512 << 10 // manifest, in bytes
	MaxText     = 32 << 10  // text of reasons or of a document, in bytes
	MaxItems    = 3_000     // items of one manifest
	MaxClaims   = 32        // claims of one case
	MaxSummary  = 1_000     // characters of a ruling's public summary
	MaxEvents   = 1_000     // events per organization and case; more have no effect
)

// Fixed with version 1 of the rules, not in the charter.
const (
	// Grace is added to every deadline before silence has an effect: cosigning and
	// carrying take a while.
	Grace = 24 * time.Hour
	// MaxOpen is how many open cases a pair of organizations may have.
	MaxOpen = 3
	// maxSkips end a rung.
	maxSkips = 3
	// panelSeats is how many a panel needs.
	panelSeats = 3
)
