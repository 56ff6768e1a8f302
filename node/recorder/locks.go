package recorder

import (
	"sync"

	"trustnode/did"
	"trustnode/node/store"
)

// logLocks is held by whoever changes a log, its notes or verdicts: that of the log. All at
// once are held only by who keeps every log from moving: one slow log would stop all others.
type logLocks struct {
	sync.RWMutex // of all logs at once
	each         store.LogLocks
}

// of waits for one log and returns what releases it.
func (l *logLocks) of(d did.DID) (release func()) {
	l.RLock()
	free := l.each.Lock(d)
	return func() { free(); l.RUnlock() }
}
