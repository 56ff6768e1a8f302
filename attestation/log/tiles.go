package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
)

// The errors of tile trees.
var (
	// ErrTile is wrapped by the error for a path that names no tile, or none of
	// a log of this size.
	ErrTile = errors.New("no such tile")
	// ErrTiles is wrapped by the error for files that are not the tree of a head.
	ErrTiles = errors.New("not the tile tree of this head")
)

// CheckpointFile is the path of the signed head in a tile tree.
const CheckpointFile = "checkpoint"

// entryTiles is the level that sumdb/tlog gives to tiles of entries.
const entryTiles = -1

// TileSource is what tiles are made of; an attestation.Log is one.
type TileSource interface {
	tlog.HashReader
	Head() (attestation.Head, []byte)
	Entries(ctx context.Context, from, to uint64, yield func(uint64, attestation.Entry) error) error
}

// Files returns one file of a C2SP tlog-tiles tree by its path, such as
// "tile/entries/x001/234.p/56": that of a log, of a directory or of a server.
type Files func(ctx context.Context, path string) ([]byte, error)

// TilesOf returns the tiles of a log: at each path the bytes that a tree of any
// size up to the held one has there, made when they are asked for. ErrTile at
// every other path.
func TilesOf(src TileSource) Files {
	return func(ctx context.Context, path string) ([]byte, error) {
		t, err := torchwood.ParseTilePath(path)
		if err != nil {
			return nil, fmt.Errorf("%w: %.200q", ErrTile, path)
		}
		if head, _ := src.Head(); !within(t, head.Size) {
			return nil, fmt.Errorf("%w: %s in a log of %d entries", ErrTile, path, head.Size)
		}
		if t.L == entryTiles {
			return bundle(ctx, src, t)
		}
		return tlog.ReadTileData(t, src)
	}
}

// within reports whether a log of size has every hash or entry of t.
func within(t tlog.Tile, size uint64) bool {
	width := size >> (torchwood.TileHeight * max(t.L, 0))
	return t.N >= 0 && uint64(t.N) < width && uint64(t.N)*torchwood.TileWidth+uint64(t.W) <= width
}

func bundle(ctx context.Context, src TileSource, t tlog.Tile) ([]byte, error) {
	from := uint64(t.N) * torchwood.TileWidth
	var out []byte
	err := src.Entries(ctx, from, from+uint64(t.W), func(_ uint64, e attestation.Entry) (err error) {
		out, err = torchwood.AppendTileEntry(out, e)
		return err
	})
	return out, err
}

// Export copies the tree of the head of n from files to put: bundles and tiles in
// the order of the log, the checkpoint last. What put is given fits together and
// hangs under n, or an error follows and no checkpoint: ErrTiles where a file is
// not what the head says. Nobody's signature is checked. Memory is bounded by one
// tile per level.
func Export(ctx context.Context, n Note, files Files, put func(path string, data []byte) error) error {
	if err := walk(ctx, n.Head, files, put, nil); err != nil {
		return err
	}
	return put(CheckpointFile, n.Bytes())
}

// CheckTiles reads the tree of a head back from files, entry by entry: every hash
// is computed from below. ErrTiles where it is another one.
func CheckTiles(ctx context.Context, head attestation.Head, files Files) error {
	return walk(ctx, head, files, func(string, []byte) error { return nil }, nil)
}

// ReadTiles is CheckTiles that hands out the entries in their order, for yield to keep. What yield was given lies under head only if nil is returned. An error of yield ends it.
func ReadTiles(ctx context.Context, head attestation.Head, files Files, yield func(uint64, attestation.Entry) error) error {
	return walk(ctx, head, files, func(string, []byte) error { return nil }, yield)
}

// walk computes each tile of head from the entries and compares it with the file.
func walk(ctx context.Context, head attestation.Head, files Files, visit func(string, []byte) error, yield func(uint64, attestation.Entry) error) error {
	w := tileWalk{files: files, visit: visit, yield: yield, edge: NewRange(0)}
	for n := uint64(0); n*torchwood.TileWidth < head.Size; n++ {
		width := min(torchwood.TileWidth, head.Size-n*torchwood.TileWidth)
		if err := w.entries(ctx, tlog.Tile{H: torchwood.TileHeight, L: entryTiles, N: int64(n), W: int(width)}); err != nil {
			return err
		}
	}
	if err := w.partial(ctx); err != nil {
		return err
	}
	if root, err := w.edge.Root(); err != nil || root != head.Root {
		return fmt.Errorf("%w: the entries have the root %s, the head of size %d says %s", ErrTiles, root, head.Size, head.Root)
	}
	return nil
}

// tileWalk is a walk over one tree, from the first entry on.
type tileWalk struct {
	files Files
	visit func(string, []byte) error
	yield func(uint64, attestation.Entry) error // nil: nobody asks for entries
	edge  Range
	rows  [][]byte // by level, the hashes of the tile that is not full yet
	done  []int64  // by level, the full tiles before it
}

// take reads one file and hands it on.
func (w *tileWalk) take(ctx context.Context, t tlog.Tile) (path string, data []byte, err error) {
	path = torchwood.TilePath(t)
	if data, err = w.files(ctx, path); err != nil {
		return path, nil, err
	}
	return path, data, w.visit(path, data)
}

// entries takes one bundle, and the tiles that it fills.
func (w *tileWalk) entries(ctx context.Context, t tlog.Tile) error {
	path, rest, err := w.take(ctx, t)
	if err != nil {
		return err
	}
	for range t.W {
		var e []byte
		if e, rest, err = torchwood.ReadTileEntry(rest); err != nil {
			return fmt.Errorf("%w: %s: %v", ErrTiles, path, err)
		}
		leaf := tlog.RecordHash(e)
		if err := w.edge.Append(leaf); err != nil {
			return err
		}
		if err := w.add(ctx, 0, leaf); err != nil {
			return err
		}
		if w.yield == nil {
			continue
		}
		if err := w.yield(w.edge.End()-1, e); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("%w: %s: %d bytes after entry %d", ErrTiles, path, len(rest), t.W)
	}
	return nil
}

// add puts a hash on a level; a tile that is full by it is compared and becomes a
// hash of the level above.
func (w *tileWalk) add(ctx context.Context, level int, h tlog.Hash) error {
	if level == len(w.rows) {
		w.rows, w.done = append(w.rows, nil), append(w.done, 0)
	}
	w.rows[level] = append(w.rows[level], h[:]...)
	if len(w.rows[level]) < torchwood.TileWidth*tlog.HashSize {
		return nil
	}
	if err := w.compare(ctx, level); err != nil {
		return err
	}
	up := RootOf(hashesOf(w.rows[level])).Sum()
	w.rows[level], w.done[level] = w.rows[level][:0], w.done[level]+1
	return w.add(ctx, level+1, up)
}

func (w *tileWalk) compare(ctx context.Context, level int) error {
	want := w.rows[level]
	path, data, err := w.take(ctx, tlog.Tile{H: torchwood.TileHeight, L: level, N: w.done[level], W: len(want) / tlog.HashSize})
	if err != nil {
		return err
	}
	if !bytes.Equal(data, want) {
		return fmt.Errorf("%w: %s is not what lies below it", ErrTiles, path)
	}
	return nil
}

// partial compares the last tile of each level, where that is not full.
func (w *tileWalk) partial(ctx context.Context) error {
	for level := range w.rows {
		if len(w.rows[level]) == 0 {
			continue
		}
		if err := w.compare(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

func hashesOf(row []byte) []tlog.Hash {
	out := make([]tlog.Hash, len(row)/tlog.HashSize)
	for i := range out {
		out[i] = tlog.Hash(row[i*tlog.HashSize:])
	}
	return out
}
