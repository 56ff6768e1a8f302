package didwebvh

// Caps on foreign input, checked before anything is parsed.
const (
	maxLine      = 64 << 10 // bytes of one log line: real entries are 1-4 KiB
	maxEntries   = 4096     // entries of one log: ten years of daily changes
	maxLog       = 8 << 20  // bytes of one log file
	maxProofs    = 8        // proofs of one log entry
	maxUpdate    = 8        // update keys, and pre-rotation hashes, of one entry
	maxWitnesses = 16       // members of a witness list
	maxWitness   = 1 << 20  // bytes of one witness file
	maxCollected = 64       // proofs collected for one entry, repeats and strangers' among them

	maxWitnessProof = 4 << 10 // bytes of one proof on its way from a witness: it takes 400

	maxWatchers = 16   // watcher URLs of one entry; read, never used
	maxText     = 2048 // bytes of a parameter that is kept as text: hash, watcher, method
	maxDepth    = 32   // nesting of JSON

	// maxAhead is how far a versionTime may lie ahead of the time of judging.
	maxAhead = 300 // seconds
)
