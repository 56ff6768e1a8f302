package store

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// engine is what the committer needs of a storage engine.
type engine interface {
	// begin starts a batch that sees everything committed. Only the
	// committer calls it, and ends each batch before the next.
	begin() batch
	// snapshot returns a view of everything committed, without waiting for
	// a commit under way. Safe for concurrent use.
	snapshot() snapshot
	close() error
}

// batch is a transaction of the engine; commit returns when it is durable.
type batch interface {
	Tx
	commit() error
	discard()
}

type snapshot interface {
	Reader
	release()
}

// States of a call. The committer and a caller whose context ended race for
// a waiting call by compare-and-swap.
const (
	waiting int32 = iota
	taken
	abandoned
)

// call is one Update under way.
type call struct {
	fn     func(Tx) error
	urgent bool
	state  atomic.Int32
	err    error // written before done is closed
	done   chan struct{}
}

// urgentKey marks the context of an urgent Update.
type urgentKey struct{}

// Urgent returns a context under which an Update goes before all that wait, and is
// committed without waiting for others: for what must be true soon, such as the end of a
// loan that many read.
func Urgent(ctx context.Context) context.Context { return context.WithValue(ctx, urgentKey{}, true) }

func (c *call) finish(err error) {
	c.err = err
	close(c.done)
}

// database is a DB over an engine.
type database struct {
	eng engine
	log *slog.Logger

	mu     sync.Mutex
	queue  []*call // guarded by mu
	closed bool    // guarded by mu
	wake   chan struct{}
	urgent atomic.Int32   // urgent calls in queue
	views  sync.WaitGroup // Add under mu, while !closed

	broken  atomic.Pointer[error]
	stopped chan struct{} // closed when run has ended

	g group // owned by run
}

// group is the set of calls that will share the next commit.
type group struct {
	b     batch
	calls []*call // their functions have succeeded
	todo  []*call // taken from the queue, not yet run
	bytes int
	keys  int
	last  int // size of the group before
}

var _ DB = (*database)(nil)

func newDatabase(eng engine, log *slog.Logger) *database {
	d := &database{eng: eng, log: log, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	go d.run()
	return d
}

func (d *database) Update(ctx context.Context, fn func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := &call{fn: fn, urgent: ctx.Value(urgentKey{}) != nil, done: make(chan struct{})}
	if err := d.enqueue(c); err != nil {
		return err
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
	}
	if c.state.CompareAndSwap(waiting, abandoned) {
		return ctx.Err()
	}
	<-c.done
	return c.err
}

func (d *database) enqueue(c *call) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	d.queue = append(d.queue, c)
	if c.urgent {
		d.urgent.Add(1)
	}
	d.signal()
	return nil
}

func (d *database) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *database) View(ctx context.Context, fn func(Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return ErrClosed
	}
	d.views.Add(1)
	d.mu.Unlock()
	defer d.views.Done()
	// After a failed commit the engine may show what never became durable.
	if err := d.brokenErr(); err != nil {
		return err
	}
	s := d.eng.snapshot()
	defer s.release()
	return fn(s)
}

func (d *database) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return ErrClosed
	}
	d.closed = true
	d.signal()
	d.mu.Unlock()
	<-d.stopped
	d.views.Wait()
	return d.eng.close()
}

func (d *database) brokenErr() error {
	if p := d.broken.Load(); p != nil {
		return *p
	}
	return nil
}

// run is the committer: it forms groups and commits them until the database is
// closed and the queue empty.
func (d *database) run() {
	clean := false
	defer func() {
		if clean {
			close(d.stopped)
			return
		}
		// A function ended this goroutine (runtime.Goexit, as a test's
		// FailNow does). Nothing of the group is committed.
		d.dropGroup(fmt.Errorf("an update function of the same group ended its goroutine: %w", ErrPanicked))
		go d.run()
	}()
	for d.await() {
		d.formGroup()
		d.settle()
	}
	clean = true
}

// await fills todo and reports false when there will be no more calls.
func (d *database) await() bool {
	for {
		if len(d.g.todo) > 0 || d.drain() > 0 {
			return true
		}
		d.mu.Lock()
		end := d.closed && len(d.queue) == 0
		d.mu.Unlock()
		if end {
			return false
		}
		<-d.wake
	}
}

// drain moves the queue into todo and returns how many calls it moved.
func (d *database) drain() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.queue)
	if d.urgent.Swap(0) > 0 {
		d.g.todo = append(d.g.todo, d.queue...)
		slices.SortStableFunc(d.g.todo, urgentFirst)
	} else {
		d.g.todo = append(d.g.todo, d.queue...)
	}
	clear(d.queue)
	d.queue = d.queue[:0]
	return n
}

func urgentFirst(a, b *call) int {
	switch {
	case a.urgent == b.urgent:
		return 0
	case a.urgent:
		return -1
	}
	return 1
}

// formGroup runs waiting functions until the queue is empty, the group full or maxForming
// old, or what is urgent has run.
func (d *database) formGroup() {
	d.g.b = d.eng.begin()
	idle, begun := 0, time.Now()
	for len(d.g.calls) < maxGroup && (len(d.g.calls) == 0 || time.Since(begun) < maxForming) {
		if d.urgent.Load() > 0 {
			d.drain()
		}
		if len(d.g.todo) == 0 && d.drain() == 0 {
			// The callers of the group before have just been woken
			// and most come back at once; without this pause they
			// would split into two groups of alternating commits.
			if idle++; idle > 4 || len(d.g.calls) >= d.g.last {
				return
			}
			runtime.Gosched()
			continue
		}
		c := d.g.todo[0]
		if !d.runCall(c) {
			return
		}
		d.g.todo = d.g.todo[1:]
		if c.urgent && (len(d.g.todo) == 0 || !d.g.todo[0].urgent) {
			return
		}
	}
}

// runCall runs c's function on the group's batch. It reports false if the
// writes do not fit; then c, still in todo, runs again in the next group.
func (d *database) runCall(c *call) bool {
	if !c.state.CompareAndSwap(waiting, taken) && c.state.Load() == abandoned {
		return true
	}
	if err := d.brokenErr(); err != nil {
		c.finish(err)
		return true
	}
	o := newOverlay(d.g.b)
	err := d.exec(c, o)
	o.closed = true
	switch {
	case err != nil:
		c.finish(err)
		return true
	case !d.fits(o):
		return false
	}
	if err := o.flush(); err != nil {
		// The limits forbid it; the batch may hold half of the writes.
		c.finish(err)
		d.dropGroup(err)
		d.g.b = d.eng.begin()
		return true
	}
	d.g.calls = append(d.g.calls, c)
	d.g.bytes += o.bytes
	d.g.keys += len(o.writes)
	return true
}

func (d *database) fits(o *overlay) bool {
	return d.g.keys == 0 || d.g.bytes+o.bytes <= MaxUpdateBytes && d.g.keys+len(o.writes) <= MaxUpdateKeys
}

// exec runs the function and turns a panic into an error of its caller alone.
func (d *database) exec(c *call, o *overlay) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		r := recover()
		d.log.Error("update function panicked", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		err = fmt.Errorf("%w: %v", ErrPanicked, r)
		if r == nil { // Goexit: run's deferred function goes on from here
			o.closed = true
			d.g.todo = d.g.todo[1:]
			c.finish(err)
		}
	}()
	err = c.fn(o)
	returned = true
	return err
}

// settle commits the group and answers its callers.
func (d *database) settle() {
	g := &d.g
	if g.keys == 0 {
		g.b.discard()
	} else if err := g.b.commit(); err != nil {
		broken := fmt.Errorf("%w: %v", ErrBroken, err)
		d.broken.Store(&broken)
		d.log.Error("commit failed", "updates", len(g.calls), "error", err)
		d.answer(broken)
		return
	}
	d.answer(nil)
}

// dropGroup ends the open batch without a commit and fails its callers.
func (d *database) dropGroup(err error) {
	if d.g.b != nil {
		d.g.b.discard()
	}
	d.answer(err)
}

func (d *database) answer(err error) {
	g := &d.g
	for _, c := range g.calls {
		c.finish(err)
	}
	g.last = len(g.calls)
	clear(g.calls)
	g.b, g.calls, g.bytes, g.keys = nil, g.calls[:0], 0, 0
}
