package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
)

// fsckBlocks is how many tiles of entries are read before they are hashed side by side:
// enough to keep all processors busy, few enough to fit any memory.
const fsckBlocks = 16

// block is the entries of one tile.
type block struct {
	first   uint64
	entries []attestation.Entry
	leaves  []tlog.Hash
	print   print
	times   period
	bodies  []named
}

// named is the body that an entry names.
type named struct {
	index uint64
	id    envelope.ID
}

// entries reads a log in order, hashes each entry and builds the tree over them, tile by
// tile, comparing it with the tiles that are kept.
func (c *inspector) entries(l *inspectedLog) error {
	p := &logPass{c: c, l: l, tree: &treeCheck{c: c, l: l}}
	if err := c.scan(logKey(keyEntry, l.num), p.entry); err != nil {
		return err
	}
	if err := p.missing(l.head.Size); err != nil {
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.tree.end()
}

// logPass is one log while its entries are read.
type logPass struct {
	c      *inspector
	l      *inspectedLog
	tree   *treeCheck
	blocks []*block // read and not yet hashed
	next   uint64   // index of the entry that comes next
}

func (p *logPass) entry(k, v []byte) error {
	if len(k) != len(keyEntry)+12 {
		p.c.found(p.l.name, -1, "an entry has the key %x", k)
		return nil
	}
	i := binary.BigEndian.Uint64(k[len(k)-8:])
	if i >= p.l.head.Size {
		p.c.found(p.l.name, int64(i), "lies above the size %d", p.l.head.Size)
		return nil
	}
	if err := p.missing(i); err != nil {
		return err
	}
	p.blocks = addTo(p.blocks, i, bytes.Clone(v))
	if p.next++; p.next%tileWidth == 0 && len(p.blocks) >= fsckBlocks {
		return p.flush()
	}
	return nil
}

// missing names the entries up to an index that are not there. A damaged size may be any
// number, so it ends where enough are named.
func (p *logPass) missing(to uint64) error {
	for ; p.next < to; p.next++ {
		if p.c.faults > MaxFaults {
			return errEnough
		}
		p.c.found(p.l.name, int64(p.next), "the entry is missing")
		p.blocks = addTo(p.blocks, p.next, nil)
	}
	return nil
}

// flush hashes what was read side by side, and takes it into the tree in order.
func (p *logPass) flush() error {
	sideBySide(len(p.blocks), func(i int) { p.blocks[i].hash(p.l) })
	for _, b := range p.blocks {
		if err := p.tree.add(b); err != nil {
			return err
		}
		p.l.index.put(b.first, b.print)
		p.l.seen.put(b.first, b.times)
		if err := p.c.named(p.l, b.bodies); err != nil {
			return err
		}
	}
	n := p.next - p.l.leaves
	p.l.leaves, p.blocks = p.next, p.blocks[:0]
	return p.c.moved(n)
}

// addTo adds an entry to the block it belongs to; nil is one that is missing.
func addTo(blocks []*block, i uint64, en attestation.Entry) []*block {
	if i%tileWidth == 0 || len(blocks) == 0 {
		blocks = append(blocks, &block{first: i})
	}
	b := blocks[len(blocks)-1]
	b.entries = append(b.entries, en)
	return blocks
}

// hash computes leaves and fingerprint.
func (b *block) hash(l *inspectedLog) {
	b.leaves, b.times = make([]tlog.Hash, len(b.entries)), never
	for i, en := range b.entries {
		if en == nil {
			continue
		}
		b.leaves[i] = en.Hash()
		ev, ok := b.print.entry(l, b.first+uint64(i), en)
		if !ok {
			continue
		}
		b.times = b.times.with(period{ev.At.Unix(), ev.At.Unix()})
		if !ev.Body.IsZero() {
			b.bodies = append(b.bodies, named{b.first + uint64(i), ev.Body})
		}
	}
}

// named checks that the bodies named by events of others that count are held, wanted or erased.
// Own bodies lie in the state database.
func (c *inspector) named(l *inspectedLog, bodies []named) error {
	if c.in.Own.IsZero() || l.org == c.in.Own {
		return nil
	}
	for _, b := range bodies {
		for _, k := range [][]byte{bodyKey(b.id), goneBodyKey(b.id), indexKey(keyWanted, l.num, b.index), indexKey(keyErased, l.num, b.index)} {
			if held, err := getOr(c.r, k, nil); err != nil || held != nil {
				b.id = envelope.ID{}
				if err != nil {
					return err
				}
				break
			}
		}
		v, err := l.verdict(c.r, b.index)
		if err == nil && !b.id.IsZero() && v.Counts() {
			c.found(l.name, int64(b.index), "its body is neither held nor wanted")
		}
	}
	return nil
}

// treeCheck builds the levels of a tree from below and compares each tile as it is full.
type treeCheck struct {
	c      *inspector
	l      *inspectedLog
	levels [][]tlog.Hash // of each tile level, hashes that are not yet a whole tile
	counts []uint64      // tiles of each level that are done
}

func (t *treeCheck) add(b *block) error {
	kept, err := t.tile(0, b.first/tileWidth, len(b.leaves))
	if err != nil {
		return err
	}
	for i, en := range b.entries {
		if kept != nil && en != nil && b.leaves[i] != kept[i] {
			t.c.found(t.l.name, int64(b.first)+int64(i), "the entry does not hash to its leaf in the tree")
		}
	}
	if kept == nil {
		kept = b.leaves // what is above may still tell more
	}
	return t.done(0, kept)
}

// done takes the hashes of a tile, whole or the last, and fills the level above.
func (t *treeCheck) done(level int, hashes []tlog.Hash) error {
	t.count(level)
	if len(hashes) < tileWidth {
		return nil
	}
	row := make([]byte, 0, tileWidth*tlog.HashSize)
	for i := range hashes {
		row = append(row, hashes[i][:]...)
	}
	for len(t.levels) <= level+1 {
		t.levels = append(t.levels, nil)
	}
	up := append(t.levels[level+1], fold(row))
	t.levels[level+1] = up
	if len(up) < tileWidth {
		return nil
	}
	t.levels[level+1] = nil
	return t.compare(level+1, up)
}

func (t *treeCheck) count(level int) {
	for len(t.counts) <= level {
		t.counts = append(t.counts, 0)
	}
	t.counts[level]++
}

// compare compares a tile above the leaves with what lies below it.
func (t *treeCheck) compare(level int, want []tlog.Hash) error {
	n := uint64(0)
	if level < len(t.counts) {
		n = t.counts[level]
	}
	kept, err := t.tile(level, n, len(want))
	if err != nil {
		return err
	}
	if kept != nil && !slices.Equal(kept, want) {
		t.c.found(t.l.name, -1, "tile %d of level %d does not hold the hashes of the tiles below it", n, level)
	}
	return t.done(level, want)
}

// tile reads a tile that must hold n hashes; nil where it does not.
func (t *treeCheck) tile(level int, n uint64, width int) ([]tlog.Hash, error) {
	b, err := getOr(t.c.r, tileKey(t.l.num, byte(level), n), nil)
	if err != nil {
		return nil, err
	}
	if len(b) != width*tlog.HashSize {
		t.c.found(t.l.name, -1, "tile %d of level %d has %d bytes, wanted %d", n, level, len(b), width*tlog.HashSize)
		return nil, nil
	}
	out := make([]tlog.Hash, width)
	for i := range out {
		out[i] = tlog.Hash(b[i*tlog.HashSize:])
	}
	return out, nil
}

// end compares the tiles that are not whole.
func (t *treeCheck) end() error {
	for level := 1; level < len(t.levels); level++ {
		if rest := t.levels[level]; len(rest) > 0 {
			t.levels[level] = nil
			if err := t.compare(level, rest); err != nil {
				return err
			}
		}
	}
	return nil
}

// tiles compares the roots that edge and tiles give with the stored one, and looks for
// tiles that no entry has.
func (c *inspector) tiles(l *inspectedLog) error {
	if c.headless(l) {
		return nil // and was told of
	}
	root, err := l.edge.Root()
	if err != nil || root != l.head.Root {
		c.found(l.name, -1, "the edge does not give the root stored at size %d (%v)", l.head.Size, err)
	}
	if at, err := attlog.RootAt(l.head.Size, nodeReader{c.r, l.num}); err != nil || at.Root != l.head.Root {
		c.found(l.name, -1, "the tiles do not give the root stored at size %d (%v)", l.head.Size, err)
	}
	return c.scan(logKey(keyTile, l.num), func(k, _ []byte) error {
		if len(k) != len(keyTile)+13 {
			c.found(l.name, -1, "a tile has the key %x", k)
			return nil
		}
		level, n := k[len(keyTile)+4], binary.BigEndian.Uint64(k[len(k)-8:])
		if level > 7 || l.head.Size>>(tileHeight*uint(level)) <= n*tileWidth {
			c.found(l.name, -1, "tile %d of level %d lies above the size %d", n, level, l.head.Size)
		}
		return nil
	})
}

// headless reports whether the head of a log could not be read.
func (c *inspector) headless(l *inspectedLog) bool { return l.head.Root.IsZero() }

// notes compares each kept note with the root of its size, and the times of cosignatures
// with the lines they are from.
func (c *inspector) notes(l *inspectedLog) error {
	if c.headless(l) {
		return nil
	}
	seen, err := c.stairs(l)
	if err != nil {
		return err
	}
	err = c.scan(logKey(keyNote, l.num), func(k, v []byte) error {
		c.n.Notes++
		n, err := attlog.ParseNote(v)
		size := be64(k[len(k)-8:])
		switch {
		case err != nil || n.Org != l.org || n.Head.Size != size:
			c.found(l.name, -1, "the note kept for size %d is none of it (%v)", size, err)
			return nil
		case size > l.head.Size:
			return nil // a head that was shown before its entries came
		}
		at, err := attlog.RootAt(size, nodeReader{c.r, l.num})
		if err != nil || at != n.Head {
			c.found(l.name, -1, "the signed note of size %d has another root than the entries give", size)
			return nil
		}
		for _, line := range n.Lines {
			c.covered(l, seen, size, line)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(c.hashed(l, keyEvidence, 20, "a note kept as evidence"), c.hashed(l, keyFork, 12, "a proof that the log has forked"))
}

// hashed checks what is kept under its own hash, after a prefix and more in a key.
func (c *inspector) hashed(l *inspectedLog, prefix string, more int, what string) error {
	return c.scan(logKey(prefix, l.num), func(k, v []byte) error {
		sum := envelope.IDOf(v).Sum()
		if len(k) != len(prefix)+more || !bytes.Equal(sum[:8], k[len(k)-8:]) {
			c.found(l.name, -1, "%s does not hash to its key", what)
		}
		return nil
	})
}

// covered checks that the time of a witness line is in the index of times.
func (c *inspector) covered(l *inspectedLog, seen map[did.DID]stair, size uint64, line attlog.Line) {
	w, ok := line.Witness()
	if !ok || len(line.Sig) < 8 || w == l.org {
		return
	}
	if at, ok := seen[w].at(size - 1); size > 0 && (!ok || at > int64(binary.BigEndian.Uint64(line.Sig))) {
		c.found(l.name, -1, "the cosignature of %s over size %d is not in the index of times", w, size)
	}
}

// stairs reads the times of cosignatures, each of which must stand in a note.
func (c *inspector) stairs(l *inspectedLog) (map[did.DID]stair, error) {
	seen := map[did.DID]stair{}
	err := c.scan(logKey(keySeen, l.num), func(k, v []byte) error {
		at := len(keySeen) + 4
		if len(k) < at+8 || len(v) != 8 {
			c.found(l.name, -1, "a time of a cosignature has the key %x", k)
			return nil
		}
		size := binary.BigEndian.Uint64(k[at:])
		w, err := did.Parse(string(k[at+8:]))
		if err != nil || !c.cosigned(l, size, w, v) {
			c.found(l.name, -1, "no note of size %d has a cosignature of %.80q at %s", size, string(k[at+8:]), time.Unix(int64(be64(v)), 0).UTC().Format(time.RFC3339))
			return nil
		}
		seen[w], _, _ = seen[w].put(step{size, int64(be64(v))})
		return nil
	})
	return seen, err
}

// cosigned reports whether the note kept for a size has a line of a witness at a time.
func (c *inspector) cosigned(l *inspectedLog, size uint64, w did.DID, at []byte) bool {
	b, err := getOr(c.r, indexKey(keyNote, l.num, size), nil)
	if err != nil || b == nil {
		return false
	}
	n, err := attlog.ParseNote(b)
	return err == nil && slices.ContainsFunc(n.Lines, func(line attlog.Line) bool {
		d, ok := line.Witness()
		return ok && d == w && len(line.Sig) >= 8 && bytes.Equal(line.Sig[:8], at)
	})
}

// EachNote yields every note kept of a log by size, cosigned or not, until yield returns an
// error, which is returned. Nothing is yielded of a log that is not held.
func (e *Events) EachNote(ctx context.Context, d did.DID, yield func(note []byte) error) error {
	s, ok := e.state(d)
	if !ok {
		return nil
	}
	var bad error
	err := e.db.View(ctx, func(r Reader) error {
		return r.Scan(logKey(keyNote, s.num), nil, func(_, v []byte) bool {
			bad = yield(bytes.Clone(v))
			return bad == nil
		})
	})
	return errors.Join(err, bad)
}
