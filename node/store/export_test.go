package store

import "trustnode/did"

// SharesLock reports whether two logs are never worked on at once.
func SharesLock(a, b did.DID) bool { return lockOf(a) == lockOf(b) }
