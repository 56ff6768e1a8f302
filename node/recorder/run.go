package recorder

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/store"
)

// Run owns the order of the own log until ctx ends: it repairs what a crash
// left, then takes outbox items in order into the log and signs its heads. Beside that it
// judges what was logged of other logs and is not judged. It returns ctx's error, or what makes going on in this process unsafe. One Run
// per Recorder.
func (r *Recorder) Run(ctx context.Context) error {
	if err := r.repair(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var judging sync.WaitGroup
	judging.Go(func() { r.judgeLoop(ctx) })
	defer judging.Wait()
	defer cancel()
	for {
		wait, err := r.turn(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if fatal(err) {
			return err
		}
		if r.failed(ctx, err) {
			wait = retryEvery
		}
		if err := r.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

const (
	retryEvery = 250 * time.Millisecond
	idleEvery  = time.Second
)

// errStopped is what a testing hook returns to stop Run at a step.
var errStopped = errors.New("stopped by a test")

func fatal(err error) bool {
	return errors.Is(err, store.ErrBroken) || errors.Is(err, store.ErrClosed) || errors.Is(err, errStopped)
}

// failed notes whether draining fails, and since when.
func (r *Recorder) failed(ctx context.Context, err error) bool {
	r.mu.Lock()
	was := !r.failing.IsZero()
	switch {
	case err == nil:
		r.failing = time.Time{}
	case !was:
		r.failing = r.cfg.Now()
	}
	r.mu.Unlock()
	if err != nil && !was {
		r.cfg.Log.ErrorContext(ctx, "the own log does not take its outbox", "error", err)
	}
	return err != nil
}

// sleep waits for a signal, or at most for d.
func (r *Recorder) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.wake:
	case <-t.C:
	}
	return nil
}

// turn does what there is to do and returns how long nothing has to be done.
func (r *Recorder) turn(ctx context.Context) (time.Duration, error) {
	r.turns.Lock()
	defer r.turns.Unlock()
	if s, _ := r.State(); s != Open {
		r.seq.read = nil // a restore may bring other items
		return idleEvery, nil
	}
	if err := r.open(ctx); err != nil {
		return 0, err
	}
	asked := r.askedSoFar()
	items, err := r.next(ctx)
	if err != nil {
		return 0, err
	}
	wait := r.due(items)
	if wait > 0 {
		if err := r.finish(ctx); err != nil {
			return 0, err
		}
		return r.decided(ctx, wait)
	}
	if err := r.append(ctx, items, asked); err != nil {
		return 0, err
	}
	return 0, r.finish(ctx)
}

// decided waits for the transactions that have drafted and are not decided yet, as a draft is
// signalled from inside its own, and returns how long nothing has to be done then. A
// transaction that begins now ends after them.
func (r *Recorder) decided(ctx context.Context, wait time.Duration) (time.Duration, error) {
	drafted := r.drafted.Load()
	last, err := r.last()
	if err != nil || drafted <= last {
		return wait, err
	}
	if err := r.cfg.State.Update(ctx, func(store.Tx) error { return nil }); err != nil {
		return 0, err
	}
	if last, err = r.last(); err != nil || drafted <= last {
		return 0, err
	}
	r.drafted.CompareAndSwap(drafted, last) // its transaction was given up
	return wait, nil
}

// last returns the highest committed outbox number.
func (r *Recorder) last() (n uint64, err error) {
	err = r.cfg.State.View(context.Background(), func(s store.Reader) error {
		n, _, err = lastItem(s)
		return err
	})
	return n, err
}

// due returns how long these items may still wait; 0 is not at all.
func (r *Recorder) due(items []item) time.Duration {
	now := r.cfg.Now()
	rows := 0
	for _, it := range items {
		if it.kind != itemRow {
			return 0
		}
		rows++
	}
	wait := idleEvery
	switch {
	case rows == 0:
		r.seq.firstRow = time.Time{}
	case r.seq.firstRow.IsZero():
		r.seq.firstRow = now
	}
	if rows >= attestation.MaxRows {
		return 0
	}
	if rows > 0 {
		wait = min(wait, r.seq.firstRow.Add(rowDelay).Sub(now))
	}
	return max(0, min(wait, r.coverWait(rows, now)))
}

// coverWait returns how long an audit.rows may still wait.
func (r *Recorder) coverWait(rows int, now time.Time) time.Duration {
	asked := r.isAsked()
	if rows+len(r.seq.waiting) == 0 {
		if asked {
			return 0 // only to say that it is served
		}
		return idleEvery
	}
	wait := idleEvery
	if len(r.seq.waiting) > 0 {
		wait = min(wait, r.seq.since.Add(coverAfter).Sub(now))
	}
	if asked {
		wait = min(wait, r.seq.lastAsk.Add(askEvery).Sub(now))
	}
	return wait
}

func (r *Recorder) askedSoFar() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

func (r *Recorder) isAsked() bool { return r.unserved(r.askedSoFar()) }

// unserved reports whether one of the first asked requests is still open.
func (r *Recorder) unserved(asked uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return asked > r.served
}

// next returns the items after the mark. An item never changes once it is committed, so
// those read in an earlier turn are not read again: rows wait up to a second for others,
// and each that joins them wakes Run.
func (r *Recorder) next(ctx context.Context) ([]item, error) {
	mark, err := r.cfg.Events.Mark(ctx)
	if err != nil {
		return nil, err
	}
	s := &r.seq
	if mark < s.from || mark-s.from > uint64(len(s.read)) {
		s.read = nil
	} else {
		s.read = s.read[mark-s.from:]
	}
	s.from = mark
	if len(s.read) < maxItem {
		err = r.readOn(ctx)
	}
	return s.read, err
}

// readOn reads the items after those that are read.
func (r *Recorder) readOn(ctx context.Context) error {
	s := &r.seq
	var bad error
	err := r.cfg.State.View(ctx, func(db store.Reader) error {
		return db.Scan(keyItem, itemKey(s.from+uint64(len(s.read))), func(k, v []byte) bool {
			n := s.from + uint64(len(s.read)) + 1
			if string(k) != string(itemKey(n)) {
				bad = fmt.Errorf("%w: outbox has no item %d", store.ErrCorrupt, n)
				return false
			}
			var it item
			if it, bad = decodeItem(n, v); bad != nil {
				return false
			}
			s.read = append(s.read, it)
			return len(s.read) < maxItem
		})
	})
	return errors.Join(err, bad)
}

// finish signs what is appended and not signed, and drops what is drained.
func (r *Recorder) finish(ctx context.Context) error {
	if err := r.signHead(ctx); err != nil {
		return err
	}
	if !r.seq.purge {
		return r.drop(ctx, dropAt)
	}
	if err := r.drop(ctx, 1); err != nil {
		return err
	}
	r.seq.purge = false
	r.progress()
	return nil
}

// drop deletes drained items once there are at least that many.
func (r *Recorder) drop(ctx context.Context, least uint64) error {
	mark, err := r.cfg.Events.Mark(ctx)
	if err != nil || mark < r.seq.dropped+least {
		return err
	}
	for r.seq.dropped < mark {
		to := min(mark, r.seq.dropped+4*dropAt)
		err := r.cfg.State.Update(ctx, func(tx store.Tx) error {
			for n := r.seq.dropped + 1; n <= to; n++ {
				if err := tx.Delete(itemKey(n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		r.seq.dropped = to
	}
	return nil
}

// open appends log.opened to an empty log.
func (r *Recorder) open(ctx context.Context) error {
	if r.ownSize(ctx) > 0 {
		return nil
	}
	items, err := r.next(ctx)
	if err != nil {
		return err
	}
	kid, version, err := r.opening(ctx)
	if err != nil {
		return err
	}
	at := envelope.TimeOf(r.cfg.Now())
	if len(items) > 0 {
		at = items[0].at
	}
	made, err := r.made(at, kid, "log.opened", attestation.LogOpened{DidVersion: version}, envelope.ID{})
	if err != nil {
		return err
	}
	plan := newPlan(r, 0)
	if err := plan.sign(ctx, made, kid); err != nil {
		return err
	}
	return r.commit(ctx, plan)
}

// made returns the body of an event that only the sequencer makes.
func (r *Recorder) made(at envelope.Time, kid string, t attestation.Type, data any, body envelope.ID) ([]byte, error) {
	raw, err := envelope.Marshal(data)
	if err != nil {
		return nil, err
	}
	return encodeEvent(attestation.Event{At: at, Body: body, Data: raw, Kid: kid, Nonce: nonce(), Org: r.cfg.Org, Type: t})
}

// repair brings log, outbox and pins together after a start. What cannot be
// brought together makes the log Recovering or Corrupt.
func (r *Recorder) repair(ctx context.Context) error {
	r.turns.Lock()
	defer r.turns.Unlock()
	if err := r.check(ctx); err != nil {
		return err
	}
	s, _ := r.State()
	if s != Corrupt {
		if err := r.reread(ctx); err != nil {
			return err
		}
	}
	for _, d := range r.cfg.Events.Orgs() {
		if s == Corrupt && d == r.cfg.Org {
			continue // what it says now is not what was written
		}
		if d == r.cfg.Org { // what waits of others is judged while the node runs
			if err := r.judgeAll(ctx, d); errors.Is(err, store.ErrCorrupt) {
				r.enter(Corrupt, misfit(err))
				continue
			} else if err != nil {
				return err
			}
		}
		r.weighLast(ctx, d)
		// A crash may have come between a rotation and what waited for it.
		if err := r.Recheck(ctx, d); err != nil {
			return err
		}
	}
	return r.low(ctx)
}

// reread reads what the sequencer goes on from: rows that wait to be covered, and the newest
// own entry.
func (r *Recorder) reread(ctx context.Context) error {
	rows, covered := r.cfg.Events.RowCounts()
	leaves, err := r.cfg.Events.RowLeaves(ctx, covered+1, rows-covered)
	if err != nil {
		return err
	}
	if r.seq.waiting = leaves; len(leaves) > 0 {
		r.seq.since = r.cfg.Now()
	}
	return r.lastOwn(ctx)
}

// low finds where the outbox begins and drops what is drained.
func (r *Recorder) low(ctx context.Context) error {
	mark, err := r.cfg.Events.Mark(ctx)
	if err != nil {
		return err
	}
	first, _, err := r.bounds(ctx)
	if err != nil {
		return err
	}
	if r.seq.dropped = first - 1; r.seq.dropped >= mark {
		return nil
	}
	return r.drop(ctx, 1)
}

// lastOwn reads key and time of the newest own entry.
func (r *Recorder) lastOwn(ctx context.Context) error {
	l, err := r.cfg.Events.Log(ctx, r.cfg.Org)
	if errors.Is(err, attestation.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	h, _ := l.Head()
	if h.Size == 0 {
		return nil
	}
	return l.Entries(ctx, h.Size-1, h.Size, func(_ uint64, en attestation.Entry) error {
		_, ev, err := en.Envelope()
		r.seq.lastKid, r.seq.lastAt = ev.Kid, ev.At
		return err
	})
}

// check compares the own log with itself, with the pins and with the outbox.
func (r *Recorder) check(ctx context.Context) error {
	h, err := r.cfg.Events.ReadBack(ctx, r.cfg.Org)
	if err == nil {
		err = r.cfg.Events.CheckTail(ctx, r.cfg.Org)
	}
	if errors.Is(err, store.ErrCorrupt) {
		r.enter(Corrupt, misfit(err))
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.checkFloor(ctx, h); err != nil {
		return err
	}
	return r.checkMark(ctx)
}

func (r *Recorder) checkFloor(ctx context.Context, h attestation.Head) error {
	floor, root, ok := r.cfg.Pins.Highest(pins.KindLog, r.cfg.Org.String())
	if !ok {
		return nil
	}
	if h.Size < floor.N {
		r.enter(Recovering, fmt.Sprintf("the log has %d events, pins name %d", h.Size, floor.N))
		return nil
	}
	at, err := r.rootAt(ctx, r.cfg.Org, floor.N)
	if err != nil {
		return err
	}
	if at.Root.String() != root {
		r.enter(Corrupt, fmt.Sprintf("the log's root at %d is not the pinned one", floor.N))
	}
	return nil
}

// bounds returns the lowest outbox number held, or the next one when none is,
// and the highest ever given.
func (r *Recorder) bounds(ctx context.Context) (low, high uint64, err error) {
	err = r.cfg.State.View(ctx, func(s store.Reader) error {
		if high, _, err = lastItem(s); err != nil {
			return err
		}
		low = high + 1
		return s.Scan(keyItem, nil, func(k, _ []byte) bool {
			low = itemNumber(k)
			return false
		})
	})
	return low, high, err
}

// checkMark compares the mark M with the lowest L and highest N outbox number:
// L ≤ M+1 ≤ N+1.
func (r *Recorder) checkMark(ctx context.Context) error {
	mark, err := r.cfg.Events.Mark(ctx)
	if err != nil {
		return err
	}
	low, high, err := r.bounds(ctx)
	if err != nil {
		return err
	}
	switch {
	case mark+1 < low:
		r.enter(Recovering, fmt.Sprintf("the log took in %d, the outbox begins at %d", mark, low))
	case mark > high:
		r.enter(Recovering, fmt.Sprintf("the log took in %d, the outbox ends at %d", mark, high))
	}
	return nil
}
