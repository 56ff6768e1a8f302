package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"trustnode/attestation"
	"trustnode/did/envelope"
)

// A query for a time skips what cannot lie in it: of each 256 entries, and of each 65,536,
// the earliest and the latest time are kept. A log whose times go back and forth is answered
// as exactly as one whose times rise, only more slowly.

// timeLevels is how many levels of blocks there are.
const timeLevels = 2

// blockWidth is the number of entries in a block of a level.
func blockWidth(level byte) uint64 { return 1 << (8 * (uint64(level) + 1)) }

func timesKey(o uint32, level byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(logKey(keyTimes, o), level), n)
}

// period is from the earliest to the latest time of some events, in seconds since 1970.
type period struct{ first, last int64 }

// never is the period of no event.
var never = period{math.MaxInt64, math.MinInt64}

func (p period) with(o period) period { return period{min(p.first, o.first), max(p.last, o.last)} }

func (p period) encode() []byte { return append(u64(uint64(p.first)), u64(uint64(p.last))...) }

func decodePeriod(b []byte) (period, error) {
	if len(b) != 16 {
		return never, fmt.Errorf("%w: times of %d bytes", ErrCorrupt, len(b))
	}
	return period{int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))}, nil
}

// window is the time that a query asks for: from first to before end.
type window struct{ first, end int64 }

var always = window{math.MinInt64, math.MaxInt64}

func windowOf(q attestation.Query) window {
	w := always
	if !q.Since.IsZero() {
		w.first = q.Since.Unix()
	}
	if !q.Until.IsZero() {
		w.end = q.Until.Unix()
	}
	return w
}

func (w window) holds(at envelope.Time) bool { return at.Unix() >= w.first && at.Unix() < w.end }
func (w window) meets(p period) bool         { return p.last >= w.first && p.first < w.end }
func (w window) covers(p period) bool        { return p.first >= w.first && p.last < w.end }

// times are the periods of the blocks that one append adds to, by level and number.
type times map[[2]uint64]period

// see adds the event of an index.
func (t times) see(index uint64, at envelope.Time) {
	t.put(index, period{at.Unix(), at.Unix()})
}

// put adds events of one of the smallest blocks.
func (t times) put(index uint64, of period) {
	if of == never {
		return
	}
	for level := range byte(timeLevels) {
		k := [2]uint64{uint64(level), index / blockWidth(level)}
		p, ok := t[k]
		if !ok {
			p = never
		}
		t[k] = p.with(of)
	}
}

func (t times) commit(tx Tx, o uint32) error {
	for k, p := range t {
		key := timesKey(o, byte(k[0]), k[1])
		was, err := readPeriod(tx, key)
		if err != nil {
			return err
		}
		if err := tx.Set(key, p.with(was).encode()); err != nil {
			return err
		}
	}
	return nil
}

// readPeriod reads the period of a block: never, where no event is in it.
func readPeriod(g getter, key []byte) (period, error) {
	b, err := g.Get(key)
	if errors.Is(err, ErrNotFound) {
		return never, nil
	}
	if err != nil {
		return never, err
	}
	return decodePeriod(b)
}

// spans yields the parts of [from, to) that may hold events of a window, in order, until
// yield returns false.
func (s *logState) spans(r Reader, w window, from, to uint64, yield func(from, to uint64) (bool, error)) (bool, error) {
	if w == always {
		return yield(from, to)
	}
	const large, small = byte(timeLevels - 1), byte(0)
	for at := from; at < to; {
		end := min(to, (at/blockWidth(large)+1)*blockWidth(large))
		p, err := readPeriod(r, timesKey(s.num, large, at/blockWidth(large)))
		if err != nil {
			return false, err
		}
		more := true
		switch {
		case w.covers(p):
			more, err = yield(at, end)
		case w.meets(p):
			more, err = s.smallSpans(r, w, small, at, end, yield)
		}
		if err != nil || !more {
			return false, err
		}
		at = end
	}
	return true, nil
}

// smallSpans is spans within one large block: the small ones of it that lie side by side are
// one part.
func (s *logState) smallSpans(r Reader, w window, level byte, from, to uint64, yield func(from, to uint64) (bool, error)) (more bool, err error) {
	width := blockWidth(level)
	var after []byte
	if n := from / width; n > 0 {
		after = timesKey(s.num, level, n-1)
	}
	var open, end uint64 // a part that is not yielded yet, while open < end
	flush := func() bool {
		if open >= end {
			return true
		}
		a, b := open, end
		open, end = 0, 0
		more, err = yield(a, b)
		return more && err == nil
	}
	more = true
	prefix := append(logKey(keyTimes, s.num), level)
	bad := r.Scan(prefix, after, func(k, v []byte) bool {
		n := binary.BigEndian.Uint64(k[len(k)-8:])
		if n*width >= to {
			return false
		}
		p, perr := decodePeriod(v)
		if perr != nil {
			more, err = false, perr
			return false
		}
		if !w.meets(p) {
			return true
		}
		if a := max(from, n*width); a != end && !flush() {
			return false
		} else if open >= end {
			open = a
		}
		end = min(to, (n+1)*width)
		return true
	})
	if err == nil && bad == nil && more {
		flush()
	}
	return more, errors.Join(err, bad)
}

// block says whether the largest block of an index that a window covers or misses whole, or
// else its smallest block, may hold events of the window, and where the index after it is.
func (s *logState) block(r Reader, w window, at uint64) (next uint64, meets bool, err error) {
	if w == always {
		return at + 1, true, nil
	}
	for level := byte(timeLevels); level > 0; {
		level--
		width := blockWidth(level)
		p, err := readPeriod(r, timesKey(s.num, level, at/width))
		if err != nil {
			return 0, false, err
		}
		if next, meets = (at/width+1)*width, w.meets(p); !meets || w.covers(p) {
			break
		}
	}
	return next, meets, nil
}
