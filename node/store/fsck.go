package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// Fault is one thing that is not as it was written.
type Fault struct {
	Log   string // DID of the log it is in, or the part of the data directory: audit, state, pins
	At    bool   // Index says where
	Index uint64 // of the entry
	What  string
}

// String returns the fault as one line: log/index: what.
func (f Fault) String() string {
	if f.At {
		return fmt.Sprintf("%s/%d: %s", f.Log, f.Index, f.What)
	}
	return f.Log + ": " + f.What
}

// MaxFaults is how many faults are named; a database with more is lost anyway.
const MaxFaults = 1000

// Inspection is who hears what an inspection finds, and how far it is.
type Inspection struct {
	Found    func(Fault)
	Progress func(done, total uint64) // in entries; optional
	// Own is the organization of the node. Optional: then no event is looked at for a body
	// that should be held or wanted.
	Own did.DID
}

// Inspected counts what was looked at.
type Inspected struct {
	Logs, Entries, Notes, Bodies, Rows uint64
}

// InspectAudit verifies an audit database from its bytes: each entry's leaf hash against
// the tiles, tiles and edge against each other and the root, every kept note against the
// root of its size; ids, postings, times, the order of arrival and cosignature times against entries and notes; bodies
// by hash; rows against their ids, keys and audit.rows. It checks no signature and knows
// no pin. Memory is bounded whatever the size: a fingerprint for each 256 entries.
// An error is one of reading; what is wrong with what was read is told to in.Found.
func InspectAudit(ctx context.Context, db DB, in Inspection) (Inspected, error) {
	var n Inspected
	err := db.View(ctx, func(r Reader) error {
		c := &inspector{ctx: ctx, r: r, in: in, n: &n}
		return c.all()
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return n, err
}

// errEnough ends an inspection that has found more than MaxFaults.
var errEnough = errors.New("too many faults")

// inspector is one pass over a snapshot of an audit database.
type inspector struct {
	ctx    context.Context
	r      Reader
	in     Inspection
	n      *Inspected
	faults int
	total  uint64
	logs   map[uint32]*inspectedLog
	lost   []attestation.Cover // rows that a log.gap says to be lost
	aged   uint64              // rows up to here are past their age
}

// inspectedLog is one log while it is looked at.
type inspectedLog struct {
	logState
	name   string
	leaves uint64 // entries found, from 0 without a hole
	index  prints // what entries say of ids and postings, less what the indexes say
	seen   times  // what entries say of the times of blocks
}

func (c *inspector) all() error {
	if err := c.readLogs(); err != nil {
		return err
	}
	for _, l := range c.inOrder() {
		for _, step := range []func(*inspectedLog) error{c.entries, c.times, c.tiles, c.notes, c.verdicts} {
			if err := step(l); err != nil {
				return err
			}
		}
	}
	for _, step := range []func() error{c.strays, c.indexes, c.arrivals, c.bodies, c.erasures, c.rows} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// inOrder returns the logs by number.
func (c *inspector) inOrder() []*inspectedLog {
	out := make([]*inspectedLog, 0, len(c.logs))
	for _, l := range c.logs {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b *inspectedLog) int { return int(a.num) - int(b.num) })
	return out
}

// found tells a fault of a log, at an index where at is not negative.
func (c *inspector) found(log string, at int64, format string, args ...any) {
	if c.faults++; c.faults > MaxFaults {
		return
	}
	f := Fault{Log: log, What: fmt.Sprintf(format, args...)}
	if at >= 0 {
		f.At, f.Index = true, uint64(at)
	}
	c.in.Found(f)
}

func (c *inspector) audit(format string, args ...any) { c.found("audit", -1, format, args...) }

func (c *inspector) moved(n uint64) error {
	c.n.Entries += n
	if c.in.Progress != nil {
		c.in.Progress(c.n.Entries, c.total)
	}
	return c.ctx.Err()
}

// scan yields each key under a prefix, and looks at the context now and then.
func (c *inspector) scan(prefix []byte, yield func(k, v []byte) error) error {
	var bad error
	n := 0
	err := c.r.Scan(prefix, nil, func(k, v []byte) bool {
		if n++; n%4096 == 0 {
			if bad = c.ctx.Err(); bad != nil {
				return false
			}
		}
		bad = yield(k, v)
		return bad == nil
	})
	if bad != nil {
		return bad
	}
	return err
}

// readLogs reads which logs there are, and their heads.
func (c *inspector) readLogs() error {
	c.logs = map[uint32]*inspectedLog{}
	err := c.scan([]byte(keyLogNumber), func(k, v []byte) error {
		name := string(k[len(keyLogNumber):])
		d, err := did.Parse(name)
		if err != nil || len(v) != 4 {
			c.audit("the number of log %.80q is damaged", name)
			return nil
		}
		num := binary.BigEndian.Uint32(v)
		if c.logs[num] != nil {
			c.found(name, -1, "its number %d is that of %s too", num, c.logs[num].name)
			return nil
		}
		c.logs[num] = &inspectedLog{logState: logState{org: d, num: num}, name: name, seen: times{}}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.scan([]byte(keyLogName), func(k, v []byte) error {
		if l := c.numbered(k, len(keyLogName)); l == nil || l.name != string(v) {
			c.audit("the name %.80q of a log is of none that is held", string(v))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, l := range c.inOrder() {
		if err := c.readHead(l); err != nil {
			return err
		}
		c.n.Logs++
		c.total += l.head.Size
	}
	return nil
}

// numbered returns the log whose number stands at an offset of a key, nil for none.
func (c *inspector) numbered(k []byte, at int) *inspectedLog {
	if len(k) < at+4 {
		return nil
	}
	return c.logs[binary.BigEndian.Uint32(k[at:])]
}

func (c *inspector) readHead(l *inspectedLog) error {
	if name, err := getOr(c.r, logKey(keyLogName, l.num), nil); err != nil {
		return err
	} else if string(name) != l.name {
		c.found(l.name, -1, "number %d has the name %.80q", l.num, string(name))
	}
	b, err := getOr(c.r, logKey(keyHead, l.num), nil)
	if err != nil {
		return err
	}
	if l.head, l.edge, err = decodeHead(b); err != nil {
		c.found(l.name, -1, "head: %v", err)
		return nil
	}
	if b, err = getOr(c.r, logKey(keyLevel, l.num), make([]byte, 8)); err != nil {
		return err
	}
	if len(b) != 8 || binary.BigEndian.Uint64(b) > l.head.Size {
		c.found(l.name, -1, "%d entries are judged, %d are held", be64(b), l.head.Size)
		return nil
	}
	l.judged = binary.BigEndian.Uint64(b)
	return nil
}

// be64 reads a number of any length; what is not 8 bytes is 0.
func be64(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// strays looks for what belongs to no log.
func (c *inspector) strays() error {
	for _, prefix := range []string{keyHead, keyLevel} {
		err := c.scan([]byte(prefix), func(k, _ []byte) error {
			if c.numbered(k, len(prefix)) == nil || len(k) != len(prefix)+4 {
				c.audit("%q is of no log that is held", k)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	// Prefixes with many rows: one seek past each log that is known.
	for _, prefix := range []string{keyEntry, keyTile, keyNote, keySeen, keyStanding, keyWanted, keyEvidence, keyFork, keyTimes, keyLate, keyErased, keyErasedTo, keyBranch, keyCut} {
		if err := c.strayUnder(prefix); err != nil {
			return err
		}
	}
	return nil
}

// strayUnder names the first key of each log number under a prefix that no log has.
func (c *inspector) strayUnder(prefix string) error {
	after := []byte(prefix)
	for {
		var next []byte
		err := c.r.Scan([]byte(prefix), after, func(k, _ []byte) bool {
			next = append([]byte(nil), k...)
			return false
		})
		if err != nil || next == nil {
			return err
		}
		if c.numbered(next, len(prefix)) == nil {
			c.audit("%q is of no log that is held", next)
		}
		if len(next) < len(prefix)+4 {
			after = next
			continue
		}
		after = append(next[:len(prefix)+4:len(prefix)+4], strings.Repeat("\xff", MaxKeyBytes/16)...)
	}
}

// erasures checks what is kept of bodies that were erased.
func (c *inspector) erasures() error {
	err := c.scan([]byte(keyGoneBody), func(k, _ []byte) error {
		id := k[len(keyGoneBody):]
		if len(id) != 32 {
			c.audit("the erased body %x has no id", id)
		}
		held, err := getOr(c.r, append([]byte(keyBody), id...), nil)
		if held != nil {
			c.audit("body %x is erased and held", id)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = c.scan([]byte(keyErased), func(k, v []byte) error {
		l := c.numbered(k, len(keyErased))
		switch {
		case l == nil: // named by strays
		case len(k) != len(keyErased)+12 || len(v) != 8:
			c.found(l.name, -1, "the erasure %x does not read", k)
		case be64(k[len(k)-8:]) >= l.head.Size:
			c.found(l.name, int64(be64(k[len(k)-8:])), "is erased, and not held")
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = c.scan([]byte(keyRowsDue), func(k, v []byte) error {
		if _, err := decodeRowsDue(k, v); err != nil {
			c.audit("what is noted of rows to erase again does not read: %x", k)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.scan([]byte(keyErasedTo), func(k, v []byte) error {
		if l := c.numbered(k, len(keyErasedTo)); l != nil && (len(v) != 8 || be64(v) > l.head.Size) {
			c.found(l.name, -1, "erasures up to %d are taken in, %d entries are held", be64(v), l.head.Size)
		}
		return nil
	})
}

// bodies checks each body against the id it is kept under, and what is wanted.
func (c *inspector) bodies() error {
	err := c.scan([]byte(keyBody), func(k, v []byte) error {
		c.n.Bodies++
		if want := bodyKey(envelope.IDOf(v)); string(want) != string(k) {
			c.audit("body %x does not hash to its id", k[len(keyBody):])
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.scan([]byte(keyWanted), func(k, v []byte) error {
		l := c.numbered(k, len(keyWanted))
		if l == nil || len(k) != len(keyWanted)+12 {
			return nil // named by strays
		}
		i := binary.BigEndian.Uint64(k[len(k)-8:])
		en, err := c.entry(l, i)
		if err != nil || en == nil {
			c.found(l.name, int64(i), "a body is wanted of an entry that is not held")
			return err
		}
		if _, ev, err := en.Envelope(); err != nil || len(v) != 32 || ev.Body.IsZero() || ev.Body.Sum() != [32]byte(v) {
			c.found(l.name, int64(i), "a body is wanted that the entry does not name")
		}
		held, err := getOr(c.r, append([]byte(keyBody), v...), nil)
		if held != nil {
			c.found(l.name, int64(i), "its body is wanted and held")
		}
		return err
	})
}

// entry returns one entry, nil where there is none that has the frame of one.
func (c *inspector) entry(l *inspectedLog, i uint64) (attestation.Entry, error) {
	b, err := getOr(c.r, indexKey(keyEntry, l.num, i), nil)
	if err != nil || b == nil || i >= l.head.Size || attestation.Entry(b).Check() != nil {
		return nil, err
	}
	return b, nil
}

// verdicts checks the rows of standings.
func (c *inspector) verdicts(l *inspectedLog) error {
	return c.scan(logKey(keyStanding, l.num), func(k, v []byte) error {
		if len(k) != len(keyStanding)+12 {
			c.found(l.name, -1, "a standing has the key %x", k)
			return nil
		}
		i := binary.BigEndian.Uint64(k[len(k)-8:])
		switch {
		case i >= l.judged:
			c.found(l.name, int64(i), "has a standing, and only %d are judged", l.judged)
		case len(v) < 2 || v[0] <= byte(attestation.Valid) || v[0] > byte(attestation.Void) || v[1] < byte(attestation.Logged) || v[1] > byte(attestation.Authored):
			c.found(l.name, int64(i), "its standing %x is none", v)
		}
		return nil
	})
}

// sideBySide calls f for each of 0..n-1 on all processors.
func sideBySide(n int, f func(i int)) {
	var wg sync.WaitGroup
	workers := min(n, runtime.GOMAXPROCS(0))
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}
