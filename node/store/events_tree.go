package store

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// The tree of a log lies in tiles: tile n of level l holds the hashes
// n·256 to n·256+255 of tree level 8·l, those that are complete. A partial
// tile is overwritten in place. Hashes of the levels between are computed from
// a tile's row when they are asked for.
const (
	tileWidth  = 256
	tileHeight = 8
)

// ErrCorrupt says that what is kept does not read back as it was written.
var ErrCorrupt = errors.New("the log's tree does not fit its entries")

// getter is what both a transaction and a snapshot can do.
type getter interface {
	Get(key []byte) ([]byte, error)
}

// writeTiles adds leaf hashes after the first from leaves of log o.
func writeTiles(tx Tx, o uint32, from uint64, leaves []tlog.Hash) error {
	for level := byte(0); len(leaves) > 0; level++ {
		var full []tlog.Hash
		at := from
		for rest := leaves; len(rest) > 0; {
			n := min(tileWidth-int(at%tileWidth), len(rest))
			data, err := fillTile(tx, o, level, at, rest[:n])
			if err != nil {
				return err
			}
			if len(data) == tileWidth*tlog.HashSize {
				full = append(full, fold(data))
			}
			at, rest = at+uint64(n), rest[n:]
		}
		from, leaves = from/tileWidth, full
	}
	return nil
}

// fillTile appends hashes to the tile that holds position at.
func fillTile(tx Tx, o uint32, level byte, at uint64, add []tlog.Hash) ([]byte, error) {
	k := tileKey(o, level, at/tileWidth)
	var data []byte
	if have := int(at%tileWidth) * tlog.HashSize; have > 0 {
		var err error
		if data, err = tx.Get(k); err != nil || len(data) != have {
			return nil, fmt.Errorf("%w: tile %d of level %d has %d bytes, wanted %d (%v)", ErrCorrupt, at/tileWidth, level, len(data), have, err)
		}
	}
	for i := range add {
		data = append(data, add[i][:]...)
	}
	return data, tx.Set(k, data)
}

// fold returns the hash over a row of 2^k hashes.
func fold(row []byte) tlog.Hash {
	if len(row) == tlog.HashSize {
		return tlog.Hash(row)
	}
	half := len(row) / 2
	return tlog.NodeHash(fold(row[:half]), fold(row[half:]))
}

// readNodes returns hashes of the tree of log o. Those of one proof lie in few tiles, each of
// which is read once.
func readNodes(g getter, o uint32, at []int64) ([]tlog.Hash, error) {
	out, tiles := make([]tlog.Hash, len(at)), tileCache{g: g, tiles: map[string][]byte{}}
	for i, x := range at {
		h, err := readNode(tiles, o, x)
		if err != nil {
			return nil, err
		}
		out[i] = h
	}
	return out, nil
}

// tileCache keeps what was read through it.
type tileCache struct {
	g     getter
	tiles map[string][]byte
}

func (c tileCache) Get(key []byte) ([]byte, error) {
	if b, ok := c.tiles[string(key)]; ok {
		return b, nil
	}
	b, err := c.g.Get(key)
	if err == nil {
		c.tiles[string(key)] = b
	}
	return b, err
}

// readNode returns one hash of the tree of log o.
func readNode(g getter, o uint32, index int64) (tlog.Hash, error) {
	level, n := tlog.SplitStoredHashIndex(index)
	width := uint64(1) << (level % tileHeight)
	first := uint64(n) * width
	tile, err := g.Get(tileKey(o, byte(level/tileHeight), first/tileWidth))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return tlog.Hash{}, err
	}
	lo := int(first%tileWidth) * tlog.HashSize
	hi := lo + int(width)*tlog.HashSize
	if hi > len(tile) {
		return tlog.Hash{}, fmt.Errorf("%w: hash %d of level %d is not held", ErrCorrupt, n, level)
	}
	return fold(tile[lo:hi]), nil
}

// treeReader reads the hashes of one log from the newest durable state.
type treeReader struct {
	db  DB
	num uint32
}

// ReadHashes implements tlog.HashReader.
func (t treeReader) ReadHashes(at []int64) (out []tlog.Hash, err error) {
	err = t.db.View(context.Background(), func(r Reader) (err error) {
		out, err = readNodes(r, t.num, at)
		return err
	})
	return out, err
}
