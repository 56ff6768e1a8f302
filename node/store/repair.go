package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
)

// Misfit says that an entry does not hash to its leaf. It is ErrCorrupt.
type Misfit struct {
	Org   did.DID
	Index uint64
}

// Error implements error.
func (e *Misfit) Error() string { return fmt.Sprintf("%v: entry %d of %s", ErrCorrupt, e.Index, e.Org) }

// Is reports whether target is ErrCorrupt.
func (e *Misfit) Is(target error) bool { return target == ErrCorrupt }

// Refetch asks peers for entries [from, to) of a log, at most attestation.MaxBatch of them,
// and hands what each of them sends to fits until that returns true.
type Refetch func(ctx context.Context, d did.DID, from, to uint64, fits func([]attestation.Entry) bool) error

// Repaired is what a repair wrote.
type Repaired struct {
	Org     did.DID
	Entries []uint64 // that were replaced
	Tiles   int      // that were made anew
	Head    bool     // size, root and edge were
}

// Repair makes the entries and the tree of a log what a signed root says: anchor, of a size
// that is held. Entries and leaves each are evidence of the other; where neither gives the
// root, or an entry's bytes are lost, peers are asked for it, and what they send counts only
// by its hash. Nothing is written before all of it gives the root. Entries above the anchor
// have nobody's word but their own: they must fit. ErrCorrupt: it cannot be repaired;
// attestation.ErrConflict: the log grew meanwhile.
func (e *Events) Repair(ctx context.Context, d did.DID, anchor attestation.Head, fetch Refetch) (Repaired, error) {
	s, ok := e.state(d)
	if !ok || anchor.Size > s.head.Size {
		return Repaired{}, fmt.Errorf("log of %s at %d: %w", d, anchor.Size, attestation.ErrNotFound)
	}
	p := &repair{e: e, s: s, anchor: anchor, fetch: fetch, fresh: map[uint64]attestation.Entry{}}
	if err := p.read(ctx); err != nil {
		return Repaired{}, err
	}
	if err := p.decide(ctx); err != nil {
		return Repaired{}, err
	}
	return p.write(ctx)
}

// repair is one log under repair.
type repair struct {
	e       *Events
	s       logState
	anchor  attestation.Head
	fetch   Refetch
	byEntry []tlog.Hash // what entries hash to; the zero hash where there is none that is one
	byTile  []tlog.Hash // what the lowest tiles say; likewise
	above   []tlog.Hash // what the tiles above those say, likewise
	leaves  []tlog.Hash // what is true
	fresh   map[uint64]attestation.Entry
}

func (p *repair) read(ctx context.Context) error {
	size := p.s.head.Size
	p.byEntry, p.byTile = make([]tlog.Hash, size), make([]tlog.Hash, size)
	return p.e.db.View(ctx, func(r Reader) error {
		err := r.Scan(logKey(keyEntry, p.s.num), nil, func(k, v []byte) bool {
			if i := be64(k[len(k)-8:]); i < size && attestation.Entry(v).Check() == nil {
				p.byEntry[i] = attestation.Entry(v).Hash()
			}
			return ctx.Err() == nil
		})
		if err != nil {
			return err
		}
		for n := uint64(0); n*tileWidth < size; n++ {
			tile, err := getOr(r, tileKey(p.s.num, 0, n), nil)
			if err != nil {
				return err
			}
			for i := n * tileWidth; i < size && len(tile) >= tlog.HashSize; i++ {
				p.byTile[i], tile = tlog.Hash(tile), tile[tlog.HashSize:]
			}
		}
		for n := uint64(0); n*tileWidth*tileWidth < size; n++ {
			tile, err := getOr(r, tileKey(p.s.num, 1, n), nil)
			if err != nil {
				return err
			}
			for ; len(tile) >= tlog.HashSize; tile = tile[tlog.HashSize:] {
				p.above = append(p.above, tlog.Hash(tile))
			}
			for uint64(len(p.above)) < (n+1)*tileWidth {
				p.above = append(p.above, tlog.Hash{})
			}
		}
		return ctx.Err()
	})
}

// fitsAbove reports whether the leaves of a tile give the hash that the tile above has for
// it; a tile that is not full has none.
func (p *repair) fitsAbove(n uint64) bool {
	row := p.leaves[n*tileWidth : min(uint64(len(p.leaves)), (n+1)*tileWidth)]
	if len(row) < tileWidth {
		return true
	}
	data := make([]byte, 0, tileWidth*tlog.HashSize)
	for i := range row {
		data = append(data, row[i][:]...)
	}
	return p.above[n] == fold(data)
}

// decide finds the true leaves, and the bytes of entries that are damaged.
func (p *repair) decide(ctx context.Context) error {
	for i := p.anchor.Size; i < p.s.head.Size; i++ {
		if p.byEntry[i] != p.byTile[i] || p.byEntry[i] == (tlog.Hash{}) {
			return fmt.Errorf("%w, and it lies above the newest signed root", &Misfit{p.s.org, i})
		}
	}
	switch {
	case p.gives(p.byEntry):
		p.leaves = p.byEntry
		return nil
	case p.gives(p.byTile):
		p.leaves = p.byTile
		return p.refetch(ctx, p.differ(), func(i uint64, h tlog.Hash) bool { return h == p.leaves[i] })
	}
	// Both are damaged. Where they agree they are taken for true, elsewhere peers are asked:
	// first for what one of both says, so that no peer can lead astray where either is
	// whole, then for anything. The tile above decides, and the root: nothing else counts.
	p.leaves = slices.Clone(p.byEntry)
	one := func(i uint64, h tlog.Hash) bool { p.leaves[i] = h; return h == p.byEntry[i] || h == p.byTile[i] }
	var left [][]uint64
	for part := range chunked(p.differ()) {
		if p.refetch(ctx, part, one) != nil {
			left = append(left, part)
		}
	}
	for n, part := range left {
		last := part[len(part)-1]
		any := func(i uint64, h tlog.Hash) bool {
			p.leaves[i] = h
			return i < last || n+1 == len(left) && p.gives(p.leaves) || n+1 < len(left) && p.fitsAbove(i/tileWidth)
		}
		if err := p.refetch(ctx, part, any); err != nil {
			return err
		}
	}
	if !p.gives(p.leaves) {
		return fmt.Errorf("%w: %s: nothing that is held or was sent gives the signed root at %d", ErrCorrupt, p.s.org, p.anchor.Size)
	}
	return nil
}

// differ lists where entries and lowest tiles do not agree.
func (p *repair) differ() (out []uint64) {
	for i := range p.byEntry {
		if p.byEntry[i] != p.byTile[i] || p.byEntry[i] == (tlog.Hash{}) {
			out = append(out, uint64(i))
		}
	}
	return out
}

func (p *repair) gives(leaves []tlog.Hash) bool {
	r := attlog.NewRange(0)
	for _, h := range leaves[:p.anchor.Size] {
		if h == (tlog.Hash{}) || r.Append(h) != nil {
			return false
		}
	}
	root, err := r.Root()
	return err == nil && root == p.anchor.Root
}

// refetch asks peers for entries, as many at once as one package has.
func (p *repair) refetch(ctx context.Context, want []uint64, takes func(i uint64, h tlog.Hash) bool) error {
	for part := range chunked(want) {
		from := part[0] / attestation.MaxBatch * attestation.MaxBatch
		to := min(from+attestation.MaxBatch, p.s.head.Size)
		whole := false
		fits := func(list []attestation.Entry) bool { whole = p.takes(from, list, part, takes); return whole }
		if err := p.fetch(ctx, p.s.org, from, to, fits); !whole {
			return fmt.Errorf("%w, and no peer gave it: %v", &Misfit{p.s.org, part[0]}, err)
		}
	}
	return nil
}

// chunked yields ascending indexes by the package that would bring them.
func chunked(all []uint64) iter.Seq[[]uint64] {
	return func(yield func([]uint64) bool) {
		for len(all) > 0 {
			n := 1
			for n < len(all) && all[n]/attestation.MaxBatch == all[0]/attestation.MaxBatch {
				n++
			}
			if !yield(all[:n]) {
				return
			}
			all = all[n:]
		}
	}
}

// takes keeps those of some entries from one on that are wanted, if all of them fit.
func (p *repair) takes(from uint64, list []attestation.Entry, want []uint64, takes func(i uint64, h tlog.Hash) bool) bool {
	for _, i := range want {
		if i-from >= uint64(len(list)) || list[i-from].Check() != nil || !takes(i, list[i-from].Hash()) {
			return false
		}
	}
	for _, i := range want {
		if list[i-from].Hash() != p.byEntry[i] {
			p.fresh[i] = list[i-from]
		}
	}
	return true
}

func (p *repair) write(ctx context.Context) (Repaired, error) {
	p.e.write.Lock()
	defer p.e.write.Unlock()
	now, _ := p.e.state(p.s.org)
	if now.head != p.s.head {
		return Repaired{}, fmt.Errorf("%w: %s grew while it was repaired", attestation.ErrConflict, p.s.org)
	}
	p.s = now // with the verdicts and notes that came meanwhile
	out := Repaired{Org: p.s.org}
	for i := range p.fresh {
		out.Entries = append(out.Entries, i)
	}
	slices.Sort(out.Entries)
	for part := range slices.Chunk(out.Entries, 16) {
		err := p.e.db.Update(ctx, func(tx Tx) (err error) {
			for _, i := range part {
				err = errors.Join(err, tx.Set(indexKey(keyEntry, p.s.num, i), p.fresh[i]))
			}
			return err
		})
		if err != nil {
			return out, err
		}
	}
	if err := p.tiles(ctx, &out); err != nil {
		return out, err
	}
	return out, p.head(ctx, &out)
}

// tiles compares every tile with the true leaves, and makes those anew that differ.
func (p *repair) tiles(ctx context.Context, out *Repaired) error {
	row := p.leaves
	for level := byte(0); len(row) > 0; level++ {
		var up []tlog.Hash
		for n := uint64(0); n*tileWidth < uint64(len(row)); n++ {
			part := row[n*tileWidth : min(uint64(len(row)), (n+1)*tileWidth)]
			data := make([]byte, 0, tileWidth*tlog.HashSize)
			for i := range part {
				data = append(data, part[i][:]...)
			}
			if err := p.tile(ctx, tileKey(p.s.num, level, n), data, out); err != nil {
				return err
			}
			if len(part) == tileWidth {
				up = append(up, fold(data))
			}
		}
		row = up
	}
	return nil
}

func (p *repair) tile(ctx context.Context, k, data []byte, out *Repaired) error {
	var was []byte
	err := p.e.db.View(ctx, func(r Reader) (err error) {
		was, err = getOr(r, k, nil)
		return err
	})
	if err != nil || slices.Equal(was, data) {
		return err
	}
	out.Tiles++
	return p.e.db.Update(ctx, func(tx Tx) error { return tx.Set(k, data) })
}

// head makes size, root and edge anew where they are not those of the leaves.
func (p *repair) head(ctx context.Context, out *Repaired) error {
	edge := attlog.NewRange(0)
	for _, h := range p.leaves {
		if err := edge.Append(h); err != nil {
			return err
		}
	}
	root, err := edge.Root()
	if err != nil {
		return err
	}
	s := p.s
	s.edge, s.head = edge, attestation.Head{Size: edge.End(), Root: root}
	b := encodeHead(s.head, edge.Hashes())
	var was []byte
	err = p.e.db.View(ctx, func(r Reader) (err error) {
		was, err = getOr(r, logKey(keyHead, s.num), nil)
		return err
	})
	if err != nil || slices.Equal(was, b) {
		return err
	}
	out.Head = true
	if err := p.e.db.Update(ctx, func(tx Tx) error { return tx.Set(logKey(keyHead, s.num), b) }); err != nil {
		return err
	}
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	p.e.logs[s.org] = &s
	return nil
}
