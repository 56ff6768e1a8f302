package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"trustnode/node/store"
)

// coldAfter is how long nobody has read or changed an entry before its content
// is packed (04 section 1). What was read lately besides stays in memory.
const coldAfter = 90 * 24 * time.Hour

const (
	// maxTouched is how many reads are remembered between two turns of Rest;
	// what is read beyond that is read in vain for the tiers, and still found.
	maxTouched = 100_000
	// maxRested is how many entries one turn of Rest looks at in a place.
	maxRested = 20_000
	// touchedEvery is the least time between two notes of reads of one entry.
	touchedEvery = 24 * time.Hour
	// touchBatch is how many notes share a transaction.
	touchBatch = 256
)

type located struct {
	in Place
	id string
}

// touched remembers what was read from the database since the last turn of
// Rest. Losing it to a crash costs latency alone.
type touched struct {
	mu    sync.Mutex
	read  map[located]bool // guarded by mu
	after map[Place][]byte // where the next turn goes on, by place; guarded by mu
}

func newTouched() *touched {
	return &touched{read: map[located]bool{}, after: map[Place][]byte{}}
}

func (t *touched) add(in Place, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.read) < maxTouched {
		t.read[located{in, id}] = true
	}
}

func (t *touched) take() map[located]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.read
	t.read = map[located]bool{}
	return out
}

// readKey holds when an entry was last known to be read, in seconds.
func (p Place) readKey(id string) []byte { return p.key("lr", id) }

// Rest moves content between its tiers: what was read comes up, what nobody has
// read for coldAfter goes down. One turn looks at a part of each place; the next
// goes on there.
func (e *Entries) Rest(ctx context.Context, at time.Time) error {
	if err := e.warmUp(ctx, at); err != nil {
		return err
	}
	places, err := e.places(ctx)
	if err != nil {
		return err
	}
	for _, in := range places {
		if err := e.coolDown(ctx, in, at); err != nil {
			return err
		}
	}
	return nil
}

// Thaw unpacks entries of a place that are about to be changed in one
// transaction, in transactions of its own.
func (e *Entries) Thaw(ctx context.Context, in Place, ids []string) error {
	if err := in.check(); err != nil {
		return err
	}
	for some := range slices.Chunk(ids, touchBatch) {
		var at []located
		for _, id := range some {
			at = append(at, located{in, id})
		}
		if err := e.note(ctx, at, e.now()); err != nil {
			return err
		}
	}
	return nil
}

// warmUp notes reads and unpacks what was read.
func (e *Entries) warmUp(ctx context.Context, at time.Time) error {
	var some []located
	for l := range e.touched.take() {
		if some = append(some, l); len(some) == touchBatch {
			if err := e.note(ctx, some, at); err != nil {
				return err
			}
			some = nil
		}
	}
	return e.note(ctx, some, at)
}

func (e *Entries) note(ctx context.Context, some []located, at time.Time) error {
	if len(some) == 0 {
		return nil
	}
	err := e.db.Update(ctx, func(tx store.Tx) error {
		for _, l := range some {
			if _, err := tx.Get(l.in.entryKey(l.id)); errors.Is(err, store.ErrNotFound) {
				continue // forgotten since
			} else if err != nil {
				return err
			}
			last, err := getNumber(tx, l.in.readKey(l.id))
			if err != nil {
				return err
			}
			if at.Sub(time.Unix(int64(last), 0)) >= touchedEvery {
				err = setNumber(tx, l.in.readKey(l.id), uint64(at.Unix()))
			}
			if err = errors.Join(err, thaw(tx, l.in, l.id)); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrTooLarge) && len(some) > 1 {
		return errors.Join(e.note(ctx, some[:len(some)/2], at), e.note(ctx, some[len(some)/2:], at))
	}
	return err
}

// coolDown packs what lies in a place unread, a block a transaction.
func (e *Entries) coolDown(ctx context.Context, in Place, at time.Time) error {
	ids, err := e.unread(ctx, in, at.Add(-coldAfter))
	if err != nil {
		return err
	}
	for len(ids) > 0 {
		took := 0
		err := e.db.Update(ctx, func(tx store.Tx) (err error) {
			took, err = pack(tx, in, ids, at.Add(-coldAfter))
			return err
		})
		if err != nil {
			return err
		}
		ids = ids[took:]
	}
	return nil
}

// pack freezes the first of some entries into one block, those that are still
// unread, and returns how many it has looked at.
func pack(tx store.Tx, in Place, ids []string, before time.Time) (took int, err error) {
	var fs []frozen
	size := 0
	for _, id := range ids {
		f, ok, err := restingAt(tx, in, id, before)
		if err != nil {
			return 0, err
		}
		if ok && len(fs) > 0 && (size+f.size() > maxBlockBytes || len(fs) == maxBlock) {
			break
		}
		if took++; ok {
			fs, size = append(fs, f), size+f.size()
		}
	}
	if len(fs) == 0 {
		return took, nil
	}
	return took, freeze(tx, in, fs)
}

// restingAt reads an entry that may be packed.
func restingAt(tx store.Tx, in Place, id string, before time.Time) (frozen, bool, error) {
	stored, err := tx.Get(in.entryKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return frozen{}, false, nil
	}
	if err != nil {
		return frozen{}, false, err
	}
	if _, cold, err := coldAt(stored); err != nil || cold {
		return frozen{}, false, err
	}
	e, err := parseRecord(stored)
	if err != nil {
		return frozen{}, false, err
	}
	last, err := getNumber(tx, in.readKey(id))
	if err != nil || !e.Updated.Before(before) || !time.Unix(int64(last), 0).Before(before) {
		return frozen{}, false, err
	}
	f := frozen{id: id, record: stored}
	for rev := range e.Rev {
		v, err := tx.Get(in.viewKey(id, rev+1))
		if err != nil {
			return frozen{}, false, err
		}
		f.views = append(f.views, v)
	}
	return f, f.size() <= maxFrozen, nil
}

// unread lists entries of a place that were made before a moment, from where the
// turn before ended.
func (e *Entries) unread(ctx context.Context, in Place, before time.Time) (ids []string, err error) {
	e.touched.mu.Lock()
	s := span{after: e.touched.after[in]}
	e.touched.mu.Unlock()
	s.after = later(s.after, position(before, ""))
	var last []byte
	err = e.db.View(ctx, func(r store.Reader) error {
		ids, last = nil, nil
		w := walk(ctx, r, in, []string{stateList(Active), stateList(Quarantined), stateList(Superseded)}, s)
		for range maxRested {
			c, err := w.step()
			if err != nil {
				return err
			}
			if c == nil {
				last = nil // the next turn begins anew
				return nil
			}
			ids, last = append(ids, c.id), []byte(c.position)
		}
		return nil
	})
	e.touched.mu.Lock()
	e.touched.after[in] = last
	e.touched.mu.Unlock()
	return ids, err
}

// places lists every place that has an entry.
func (e *Entries) places(ctx context.Context) (out []Place, err error) {
	const space = "ent/"
	err = e.db.View(ctx, func(r store.Reader) error {
		out = nil
		var after []byte
		for {
			found := Place{}
			err := r.Scan([]byte(space), after, func(k, _ []byte) bool {
				found = placeOf(string(k[len(space):]))
				return false
			})
			if err != nil || found.IsZero() || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			out = append(out, found)
			after = []byte(space + found.String() + "0") // "0" follows "/"
		}
	})
	return out, err
}

// placeOf reads "tenant/project/…".
func placeOf(text string) Place {
	slash := 0
	for i := range len(text) {
		if text[i] == '/' {
			if slash++; slash == 2 {
				p, _ := ParsePlace(text[:i])
				return p
			}
		}
	}
	return Place{}
}
