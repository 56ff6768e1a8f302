package store

import (
	"context"
	"encoding/binary"
	"maps"

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

// arrivals checks that every entry has one number in the order of arrival.
func (c *inspector) arrivals() error {
	next, n := map[uint32]uint64{}, uint64(0)
	err := c.scan([]byte(keyIngest), func(k, v []byte) error {
		a, err := decodeArrival(k, v)
		l := c.logs[a.num]
		if err != nil || l == nil || a.base+a.count > l.head.Size {
			c.audit("the arrival %x is of no entries that are held", k[len(keyIngest):])
			return nil
		}
		if a.first != n || a.base != next[a.num] {
			c.found(l.name, int64(a.base), "its number of arrival is %d of entry %d, where %d of entry %d is next", a.first, a.base, n, next[a.num])
		}
		n, next[a.num] = a.first+a.count, a.base+a.count
		return nil
	})
	if err != nil {
		return err
	}
	for _, l := range c.inOrder() {
		if next[l.num] < l.head.Size {
			c.found(l.name, int64(next[l.num]), "it and what follows have no number of arrival")
		}
	}
	b, err := getOr(c.r, []byte(keyIngested), make([]byte, 8))
	if err == nil && (len(b) != 8 || be64(b) != n) {
		c.audit("%x is given as the number of events, %d are numbered", b, n)
	}
	return err
}

// renumber makes the order of arrival whole: what stands in it rightly keeps its order, and
// what is missing follows by log. A sound order stays as it is.
func renumber(ctx context.Context, db DB, logs []logState) error {
	kept, sound, err := soundArrivals(ctx, db, logs)
	if err != nil || sound {
		return err
	}
	if err := clearPrefix(ctx, db, keyIngest); err != nil {
		return err
	}
	return db.Update(ctx, func(tx Tx) error {
		if err := tx.Delete([]byte(keyIngested)); err != nil {
			return err
		}
		for _, a := range kept {
			if err := arrived(tx, a.num, a.base, a.count); err != nil {
				return err
			}
		}
		return nil
	})
}

// soundArrivals returns the rows that a whole order consists of, and whether they are those
// that are kept. A row that is damaged loses its place, not its entries.
func soundArrivals(ctx context.Context, db DB, logs []logState) (out []arrival, sound bool, err error) {
	next, size := map[uint32]uint64{}, map[uint32]uint64{}
	for i := range logs {
		size[logs[i].num] = logs[i].head.Size
	}
	n := uint64(0)
	sound = true
	err = db.View(ctx, func(r Reader) error {
		err := r.Scan([]byte(keyIngest), nil, func(k, v []byte) bool {
			a, err := decodeArrival(k, v)
			sound = sound && err == nil && a.first == n && a.base == next[a.num] && a.base+a.count <= size[a.num]
			if err == nil && a.base <= next[a.num] && a.base+a.count > next[a.num] && a.base+a.count <= size[a.num] {
				a.count -= next[a.num] - a.base
				a.base = next[a.num]
				next[a.num] += a.count
				out = append(out, a)
			}
			n = a.first + a.count
			return true
		})
		if err != nil {
			return err
		}
		held, err := ingested(r)
		sound = sound && err == nil && held == n
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
