package didweb

import "trustnode/did"

// Caps on foreign input, checked before anything is parsed. A did.json is capped by did.MaxDocument, 256 KiB.
const (
	// maxSnapshot is the length of a snapshot row in bytes: a DID of 2 KiB and 64 keys of 55 bytes leave room to spare.
	maxSnapshot = 8 << 10
	// maxKeys is the number of keys in one snapshot: as many as a document can list.
	maxKeys = did.MaxReferences
)
