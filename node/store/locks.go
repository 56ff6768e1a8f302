package store

import (
	"hash/maphash"
	"sync"

	"trustnode/did"
)

// LogLocks lets one goroutine at a time work on each log. Some logs share a lock, so that
// names without end fill no memory; who holds the lock of a log takes that of no other. The
// zero value is ready.
type LogLocks [64]sync.Mutex

var lockSeed = maphash.MakeSeed()

// Lock waits for the lock of a log and returns what releases it.
func (l *LogLocks) Lock(d did.DID) (release func()) {
	m := &l[lockOf(d)]
	m.Lock()
	return m.Unlock
}

func lockOf(d did.DID) int {
	return int(maphash.String(lockSeed, d.String()) % uint64(len(LogLocks{})))
}
