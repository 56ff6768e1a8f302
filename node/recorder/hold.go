package recorder

import (
	"context"
	"sync"

	"trustnode/node/store"
)

// Hold keeps every log, its pins and the outbox from moving until release is called, which
// may be called more than once: what is read meanwhile of both databases and of the pins
// fits together. Decisions go on and wait in the outbox. It is held for a moment only.
func (r *Recorder) Hold() (release func()) {
	r.turns.Lock()
	r.logs.Lock()
	var once sync.Once
	return func() {
		once.Do(func() {
			r.logs.Unlock()
			r.turns.Unlock()
		})
	}
}

// Restored marks a state database as one that a backup brought back: a node that opens it
// is Recovering, across restarts, until peers have told it its own last numbers.
func Restored(ctx context.Context, state store.DB, why string) error {
	return state.Update(ctx, func(tx store.Tx) error { return tx.Set(keyRecovering, []byte(why)) })
}
