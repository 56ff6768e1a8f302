package store

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// TestWhatIsUrgentGoesFirst holds the committer in one update while others queue up, two
// urgent ones last: these run next, in their order, and are durable before the others run.
func TestWhatIsUrgentGoesFirst(t *testing.T) {
	d := Memory().(*database)
	defer d.Close()
	ctx := context.Background()
	held, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	var order []string // written by the committer alone
	update := func(ctx context.Context, name string, f func()) {
		wg.Go(func() {
			err := d.Update(ctx, func(tx Tx) error {
				if f != nil {
					f()
				}
				order = append(order, name)
				return tx.Set([]byte(name), nil)
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	queued := func(n int) {
		for {
			d.mu.Lock()
			have := len(d.queue)
			d.mu.Unlock()
			if have == n {
				return
			}
			runtime.Gosched()
		}
	}
	update(ctx, "held", func() { close(held); <-release })
	<-held
	for i := range 20 {
		update(ctx, fmt.Sprintf("plain %02d", i), func() {
			for _, name := range []string{"urgent 1", "urgent 2"} {
				err := d.View(ctx, func(r Reader) error { _, err := r.Get([]byte(name)); return err })
				if err != nil {
					t.Errorf("%s is not durable before others run: %v", name, err)
				}
			}
		})
		queued(i + 1)
	}
	update(Urgent(ctx), "urgent 1", nil)
	queued(21)
	update(Urgent(ctx), "urgent 2", nil)
	queued(22)
	close(release)
	wg.Wait()
	if want := []string{"held", "urgent 1", "urgent 2", "plain 00", "plain 01"}; !slices.Equal(order[:5], want) {
		t.Errorf("order %q, want %q first", order, want)
	}
	if len(order) != 23 {
		t.Errorf("%d updates ran, want 23", len(order))
	}
}
