package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/maphash"

	"trustnode/attestation"
	"trustnode/did/envelope"
)

// The rows of the indexes lie in another order than the entries they name, so neither can
// be checked against the other while both stream. Both sides are therefore added up into
// fingerprints, one for each 256 entries: a sum of keyed hashes, which does not depend on
// the order and counts what stands twice. Only where the two differ is looked up row by row.

// print is a sum of 128 bits; the keys of its hash are drawn anew in each process, so no
// peer can choose entries that add up to nothing.
type print [2]uint64

var printSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func (p *print) add(item []byte) {
	p[0] += maphash.Bytes(printSeeds[0], item)
	p[1] += maphash.Bytes(printSeeds[1], item)
}

// entry adds what the indexes must say of an entry, and returns the event it is, if it is
// one of the log.
func (p *print) entry(l *inspectedLog, i uint64, en attestation.Entry) (attestation.Event, bool) {
	if en.Check() != nil {
		return attestation.Event{}, false // named as one that does not hash
	}
	var buf [64]byte
	p.add(idItem(buf[:0], en.ID(), l.num, i))
	ev, ok := indexed(l.org, en)
	if ok {
		eachPosting(ev, func(dim byte, value string) { p.add(postItem(buf[:0], postingPrefix(dim, value), l.num, i)) })
	}
	return ev, ok
}

func idItem(b []byte, id envelope.ID, o uint32, i uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, idKey(id, o)...), i)
}

func postItem(b, prefix []byte, o uint32, i uint64) []byte {
	b = binary.BigEndian.AppendUint32(append(b, prefix...), o)
	return binary.BigEndian.AppendUint64(b, i)
}

// prints are the fingerprints of a log, by index / 256: what entries say, less what the
// indexes say.
type prints []print

func (p *prints) put(first uint64, of print) {
	for uint64(len(*p)) <= first/tileWidth {
		*p = append(*p, print{})
	}
	at := &(*p)[first/tileWidth]
	at[0], at[1] = at[0]+of[0], at[1]+of[1]
}

// take takes one row of an index away.
func (p prints) take(i uint64, item []byte) {
	var of print
	of.add(item)
	at := &p[i/tileWidth]
	at[0], at[1] = at[0]-of[0], at[1]-of[1]
}

// bad reports whether entries and indexes differ around an index.
func (p prints) bad(i uint64) bool { return p[i/tileWidth] != print{} }

// indexes takes every row of the indexes from the fingerprints and looks closer where
// something is left.
func (c *inspector) indexes() error {
	if err := c.eachID(func(l *inspectedLog, k []byte, i uint64) error {
		l.index.take(i, append(append(make([]byte, 0, 64), k...), u64(i)...))
		return nil
	}); err != nil {
		return err
	}
	if err := c.eachPost(func(l *inspectedLog, prefix []byte, i uint64) error {
		l.index.take(i, postItem(make([]byte, 0, 64), prefix, l.num, i))
		return nil
	}); err != nil {
		return err
	}
	any := false
	for _, l := range c.inOrder() {
		for n := range l.index {
			if !l.index.bad(uint64(n) * tileWidth) {
				continue
			}
			wrong, err := c.lookUp(l, uint64(n)*tileWidth)
			if err != nil {
				return err
			}
			any = any || wrong
		}
	}
	if !any {
		return nil
	}
	return c.rowsOfDamaged()
}

// eachID yields the rows of the index of ids, and names those that cannot be one.
func (c *inspector) eachID(yield func(l *inspectedLog, k []byte, i uint64) error) error {
	return c.scan([]byte(keyID), func(k, v []byte) error {
		l := c.numbered(k, len(keyID)+16)
		if l == nil || len(k) != len(keyID)+20 || len(v) != 8 || be64(v) >= l.leaves {
			c.audit("the id row %x names no entry (%x)", k[len(keyID):], v)
			return nil
		}
		return yield(l, k, be64(v))
	})
}

// postPrefix is the length of a posting's key up to the number of its log.
const postPrefix = len(keyPosting) + 9

// eachPost yields the places of all postings, and names rows that cannot be one.
func (c *inspector) eachPost(yield func(l *inspectedLog, prefix []byte, i uint64) error) error {
	return c.scan([]byte(keyPosting), func(k, v []byte) error {
		l := c.numbered(k, postPrefix)
		if l == nil || len(k) != postPrefix+12 || len(v) == 0 {
			c.audit("the posting %x is of no log that is held", k[len(keyPosting):])
			return nil
		}
		base := be64(k[len(k)-8:])
		for len(v) > 0 {
			off, n := binary.Uvarint(v)
			if n <= 0 || off >= attestation.MaxBatch || base+off >= l.leaves {
				c.found(l.name, int64(base), "the posting %x does not read", k[len(keyPosting):])
				return nil
			}
			if err := yield(l, k[:postPrefix], base+off); err != nil {
				return err
			}
			v = v[n:]
		}
		return nil
	})
}

// lookUp looks up what the indexes must say of 256 entries. An id that stands at a lower
// index has no row of its own, so what differs for that alone is none of the faults.
func (c *inspector) lookUp(l *inspectedLog, first uint64) (wrong bool, err error) {
	var buf [64]byte
	for i := first; i < min(first+tileWidth, l.leaves); i++ {
		en, err := c.entry(l, i)
		if err != nil {
			return false, err
		}
		if en == nil {
			continue
		}
		switch repeat, ok, err := c.hasID(l, i, en); {
		case err != nil:
			return false, err
		case repeat:
			l.index.take(i, idItem(buf[:0], en.ID(), l.num, i))
		case !ok:
			wrong = true
			c.found(l.name, int64(i), "the index of ids does not name it")
		}
		missing, err := c.missing(l, i, en)
		if err != nil {
			return false, err
		}
		if missing > 0 {
			wrong = true
			c.found(l.name, int64(i), "%d of its index rows are missing", missing)
		}
	}
	return wrong || l.index.bad(first), nil
}

// hasID reports whether the index of ids names an entry, or a lower one with its id.
func (c *inspector) hasID(l *inspectedLog, i uint64, en attestation.Entry) (repeat, ok bool, err error) {
	b, err := getOr(c.r, idKey(en.ID(), l.num), nil)
	if err != nil || len(b) != 8 {
		return false, false, err
	}
	at := be64(b)
	if at == i {
		return false, true, nil
	}
	if at > i {
		return false, false, nil
	}
	other, err := c.entry(l, at)
	return other != nil && other.ID() == en.ID(), false, err
}

// missing counts the postings of an entry that are not there.
func (c *inspector) missing(l *inspectedLog, i uint64, en attestation.Entry) (n int, err error) {
	ev, ok := indexed(l.org, en)
	if !ok {
		return 0, nil
	}
	eachPosting(ev, func(dim byte, value string) {
		ok := false
		if err == nil {
			ok, err = c.hasPost(l, logKey(string(postingPrefix(dim, value)), l.num), i)
		}
		if !ok {
			n++
		}
	})
	return n, err
}

func (c *inspector) hasPost(l *inspectedLog, prefix []byte, i uint64) (ok bool, err error) {
	_, err = l.walkPostings(c.r, prefix, i, l.head.Size, func(at uint64) (bool, error) {
		ok = ok || at == i
		return at < i, nil
	})
	if errors.Is(err, ErrCorrupt) {
		return false, nil // named where the rows are read
	}
	return ok, err
}

// rowsOfDamaged goes over the indexes once more and names the rows around damaged places
// that their entry does not have.
func (c *inspector) rowsOfDamaged() error {
	named := c.faults
	err := c.eachID(func(l *inspectedLog, k []byte, i uint64) error {
		if !l.index.bad(i) {
			return nil
		}
		en, err := c.entry(l, i)
		if err == nil && (en == nil || !bytes.Equal(idKey(en.ID(), l.num), k)) {
			c.found(l.name, int64(i), "the index of ids names it under the id %x, which it does not have", k[len(keyID):len(keyID)+16])
		}
		return err
	})
	if err != nil {
		return err
	}
	err = c.eachPost(func(l *inspectedLog, prefix []byte, i uint64) error {
		if !l.index.bad(i) {
			return nil
		}
		en, err := c.entry(l, i)
		has := false
		if ev, ok := indexed(l.org, en); ok {
			eachPosting(ev, func(dim byte, value string) { has = has || bytes.Equal(postingPrefix(dim, value), prefix) })
		}
		if err == nil && !has {
			c.found(l.name, int64(i), "the index row %x names it, and it has not that value", prefix[len(keyPosting):])
		}
		return err
	})
	if err != nil || c.faults > named {
		return err
	}
	c.twice()
	return nil
}

// twice names places where what the indexes say differs and each row alone is true: one
// stands there more than once.
func (c *inspector) twice() {
	for _, l := range c.inOrder() {
		for n := range l.index {
			if i := uint64(n) * tileWidth; l.index.bad(i) {
				c.found(l.name, int64(i), "index rows of it or of the %d after it do not add up", tileWidth-1)
			}
		}
	}
}
