package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"trustnode/attestation"
)

// times compares the times kept of blocks of entries with those of the entries.
func (c *inspector) times(l *inspectedLog) error {
	want := maps.Clone(l.seen)
	err := c.scan(logKey(keyTimes, l.num), func(k, v []byte) error {
		if len(k) != len(keyTimes)+13 {
			c.found(l.name, -1, "times of entries have the key %x", k)
			return nil
		}
		level, n := k[len(k)-9], binary.BigEndian.Uint64(k[len(k)-8:])
		at := [2]uint64{uint64(level), n}
		p, err := decodePeriod(v)
		if was, ok := want[at]; err != nil || !ok || was != p {
			c.found(l.name, int64(n*blockWidth(level)), "the times kept of it and of the %d after it are not theirs", blockWidth(level)-1)
		}
		delete(want, at)
		return nil
	})
	for at := range want {
		c.found(l.name, int64(at[1]*blockWidth(byte(at[0]))), "no times are kept of it and of the %d after it", blockWidth(byte(at[0]))-1)
	}
	return err
}

// arrivals checks that every entry has a number in the order of arrival, and those that came
// to count later a second one.
func (c *inspector) arrivals() error {
	o := newOrder()
	err := c.scan([]byte(keyIngest), func(k, v []byte) error {
		a, err := decodeArrival(k, v)
		l := c.logs[a.num]
		if err != nil || l == nil || a.base+a.count > l.head.Size {
			c.audit("the arrival %x is of no entries that are held", k[len(keyIngest):])
			return nil
		}
		if want := o.next[a.num]; !o.take(a) {
			c.found(l.name, int64(a.base), "its number of arrival is %d of entry %d, where entry %d is next", a.first, a.base, want)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, l := range c.inOrder() {
		if next := o.next[l.num]; next < l.head.Size {
			c.found(l.name, int64(next), "it and what follows have no number of arrival")
		}
	}
	err = c.scan([]byte(keyLate), func(k, v []byte) error {
		if l := c.numbered(k, len(keyLate)); l != nil && !o.late(k, v) {
			c.found(l.name, -1, "the number %x under which an entry came to count is not its last (%x)", v, k[len(keyLate)+4:])
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n := len(o.again); n > 0 {
		c.audit("%d entries came to count, and it is not told under which number", n)
	}
	b, err := getOr(c.r, []byte(keyIngested), make([]byte, 8))
	if err == nil && (len(b) != 8 || be64(b) != o.n) {
		c.audit("%x is given as the number of events, %d are numbered", b, o.n)
	}
	return err
}

// order is the order of arrival while it is read: what comes next, and where entries stand
// that have a second number.
type order struct {
	n     uint64
	next  map[uint32]uint64
	again map[string]uint64 // by key of keyLate
}

func newOrder() *order { return &order{next: map[uint32]uint64{}, again: map[string]uint64{}} }

// take takes the next row; false for one that has not its place.
func (o *order) take(a arrival) bool {
	ok := a.first == o.n
	o.n = a.first + a.count
	if a.count == 1 && a.base < o.next[a.num] {
		o.again[string(indexKey(keyLate, a.num, a.base))] = a.first
		return ok
	}
	ok = ok && a.base == o.next[a.num]
	o.next[a.num] = a.base + a.count
	return ok
}

// late takes a row that says where an entry stands; false for one that says another number.
func (o *order) late(k, v []byte) bool {
	n, ok := o.again[string(k)]
	delete(o.again, string(k))
	return ok && len(v) == 8 && be64(v) == n
}

// renumber makes the order of arrival whole: what stands in it rightly keeps its order, what is
// missing follows by log, and then once more what came to count later, for who follows may be
// past its place. A sound order stays as it is. The rows of keyLate go last, so that it may
// break anywhere and be done again.
func renumber(ctx context.Context, db DB, logs []logState) error {
	kept, sound, err := soundArrivals(ctx, db, logs)
	if err != nil || sound {
		return err
	}
	late, err := lateOnes(ctx, db, logs)
	if err != nil {
		return err
	}
	if err := clearPrefix(ctx, db, keyIngest); err != nil {
		return err
	}
	if err := db.Update(ctx, func(tx Tx) error { return tx.Delete([]byte(keyIngested)) }); err != nil {
		return err
	}
	for part := range slices.Chunk(kept, rebuildKeys) {
		err := db.Update(ctx, func(tx Tx) error {
			for _, a := range part {
				if err := arrived(tx, a.num, a.base, a.count); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for part := range slices.Chunk(late, rebuildKeys) {
		err := db.Update(ctx, func(tx Tx) error {
			for _, l := range part {
				if !l.held {
					if err := tx.Delete(l.key); err != nil {
						return err
					}
				} else if err := countsNow(tx, l.num, l.index); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lateOne is a row of keyLate: an event that came to count later, if it is held still.
type lateOne struct {
	key    []byte
	num    uint32
	index  uint64
	number []byte
	held   bool
}

// lateOnes returns the rows of keyLate in the order in which the events came to count.
func lateOnes(ctx context.Context, db DB, logs []logState) (out []lateOne, err error) {
	size := map[uint32]uint64{}
	for i := range logs {
		size[logs[i].num] = logs[i].head.Size
	}
	err = db.View(ctx, func(r Reader) error {
		return r.Scan([]byte(keyLate), nil, func(k, v []byte) bool {
			l := lateOne{key: bytes.Clone(k), number: bytes.Clone(v)}
			if len(k) == len(keyLate)+12 {
				l.num, l.index = binary.BigEndian.Uint32(k[len(keyLate):]), be64(k[len(keyLate)+4:])
				l.held = l.index < size[l.num]
			}
			out = append(out, l)
			return true
		})
	})
	slices.SortStableFunc(out, func(a, b lateOne) int { return bytes.Compare(a.number, b.number) })
	return out, err
}

// soundArrivals returns the rows that a whole order consists of, and whether they are those
// that are kept. A row that is damaged loses its place, not its entries.
func soundArrivals(ctx context.Context, db DB, logs []logState) (out []arrival, sound bool, err error) {
	o, next, size := newOrder(), map[uint32]uint64{}, map[uint32]uint64{}
	for i := range logs {
		size[logs[i].num] = logs[i].head.Size
	}
	sound = true
	err = db.View(ctx, func(r Reader) error {
		err := r.Scan([]byte(keyIngest), nil, func(k, v []byte) bool {
			a, err := decodeArrival(k, v)
			if err != nil || a.base+a.count > size[a.num] {
				sound = false
				return true
			}
			sound = o.take(a) && sound
			if at := next[a.num]; a.base <= at && a.base+a.count > at {
				out = append(out, arrival{num: a.num, base: at, count: a.base + a.count - at})
				next[a.num] = a.base + a.count
			}
			return true
		})
		if err != nil {
			return err
		}
		if err := r.Scan([]byte(keyLate), nil, func(k, v []byte) bool { sound = o.late(k, v) && sound; return true }); err != nil {
			return err
		}
		held, err := ingested(r)
		sound = sound && err == nil && held == o.n && len(o.again) == 0
		return nil
	})
	for i := range logs {
		s := &logs[i]
		for at := next[s.num]; at < s.head.Size; at += attestation.MaxBatch {
			sound = false
			out = append(out, arrival{num: s.num, base: at, count: min(attestation.MaxBatch, s.head.Size-at)})
		}
	}
	return out, sound, err
}
