package store

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestALongFunctionEndsItsGroup queues two updates behind one that runs for longer than a
// group may form: what it wrote is durable before those behind it run, so that nobody waits
// for all who happen to wait.
func TestALongFunctionEndsItsGroup(t *testing.T) {
	d := Memory().(*database)
	defer d.Close()
	ctx := context.Background()
	held, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := d.Update(ctx, func(tx Tx) error {
			close(held)
			<-release
			time.Sleep(maxForming)
			return tx.Set([]byte("first"), nil)
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-held
	for i := range 2 {
		wg.Go(func() {
			err := d.Update(ctx, func(tx Tx) error {
				return d.View(ctx, func(r Reader) error { _, err := r.Get([]byte("first")); return err })
			})
			if errors.Is(err, ErrNotFound) {
				t.Error("an update ran in the group of one that had filled it")
			}
		})
		for queued := 0; queued <= i; runtime.Gosched() {
			d.mu.Lock()
			queued = len(d.queue)
			d.mu.Unlock()
		}
	}
	close(release)
	wg.Wait()
}
