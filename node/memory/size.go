package memory

import (
	"context"

	"trustnode/node/store"
)

// Size returns how many entries of a place are in a state: one read, however many.
func (e *Entries) Size(ctx context.Context, in Place, s State) (int, error) {
	if err := in.check(); err != nil {
		return 0, err
	}
	var n uint64
	err := e.db.View(ctx, func(r store.Reader) (err error) {
		n, err = getNumber(r, in.countKey(stateList(s)))
		return err
	})
	return int(n), err
}
