package recorder

import "context"

// Look compares the own log with itself, the pins and the outbox, as Run does first, so that
// State says what there is before the first answer of a node that is opened for one command.
// It changes nothing but the state. It is called before Run, or beside it.
func (r *Recorder) Look(ctx context.Context) error {
	r.turns.Lock()
	defer r.turns.Unlock()
	return r.check(ctx)
}
