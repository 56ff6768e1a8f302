package fetch

import (
	"time"

	"trustnode/did"
)

// Caps on what a server may send and take. Sizes are bytes.
const (
	maxDocument = did.MaxDocument // did.json, 256 KiB
	maxLog      = 8 << 20         // did.jsonl: what did/didwebvh verifies at most
	maxWitness  = 1 << 20         // did-witness.json: likewise
	maxHeader   = 32 << 10        // header of one answer, interim ones included; real ones have 1-4 KiB
	perHost     = 2               // requests to one host at once, so that no member's server is flooded by its peers

	// budget is how long one Fetch may take: looking the name up, waiting for a turn, connecting and reading.
	budget = 5 * time.Second
)
