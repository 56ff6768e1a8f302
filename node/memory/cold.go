package memory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"trustnode/node/store"
)

// Content that nobody has read for long lies in blocks (04 section 1): record
// and revisions of up to maxBlock entries of one place, compressed together.
// The index stays as it is, so a tier changes how long a read takes and nothing
// of what matches.
//
//	ent/P/<id>     0, then the number of the block, in place of the record
//	cold/P/<n>     the block; numbers are not used again
//	cold/P/#       the next number
//
// Whoever changes or forgets one entry of a block takes the whole block apart.

const (
	// maxBlock is the most entries of one block.
	maxBlock = 64
	// maxBlockBytes is how much of them is packed together, in bytes; one entry
	// may be longer and is a block of its own, up to maxFrozen.
	maxBlockBytes = 128 << 10
	maxFrozen     = 900 << 10
)

var errBlock = errors.New("stored block is malformed")

// coder compresses and decompresses; both are safe for concurrent use.
var coder = sync.OnceValues(func() (c struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}, err error) {
	if c.enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
		return c, err
	}
	c.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2<<20))
	return c, err
})

// frozen is one entry in a block.
type frozen struct {
	id     string
	record []byte
	views  [][]byte // of revisions 1, 2, …
}

func (f frozen) size() int {
	n := len(f.id) + len(f.record) + 32
	for _, v := range f.views {
		n += len(v) + 4
	}
	return n
}

func (p Place) blockKey(n uint64) []byte {
	return binary.BigEndian.AppendUint64(p.key("cold", ""), n)
}
func (p Place) nextBlockKey() []byte { return p.key("cold", "#") }

// coldAt reads what stands in place of a record.
func coldAt(stored []byte) (block uint64, cold bool, err error) {
	if len(stored) == 0 || stored[0] != 0 {
		return 0, false, nil
	}
	if len(stored) != 9 {
		return 0, false, errBlock
	}
	return binary.BigEndian.Uint64(stored[1:]), true, nil
}

// freeze packs entries of a place that are not cold yet into one block. Nothing
// of what matches changes, so neither epoch rises.
func freeze(tx store.Tx, in Place, fs []frozen) error {
	c, err := coder()
	if err != nil {
		return err
	}
	n, err := getNumber(tx, in.nextBlockKey())
	if err != nil {
		return err
	}
	var plain []byte
	stub := binary.BigEndian.AppendUint64([]byte{0}, n)
	for _, f := range fs {
		plain = appendBytes(appendBytes(plain, []byte(f.id)), f.record)
		plain = binary.AppendUvarint(plain, uint64(len(f.views)))
		for i, v := range f.views {
			plain = appendBytes(plain, v)
			if err := tx.Delete(in.viewKey(f.id, uint64(i)+1)); err != nil {
				return err
			}
		}
		if err := tx.Set(in.entryKey(f.id), stub); err != nil {
			return err
		}
	}
	return errors.Join(tx.Set(in.blockKey(n), c.enc.EncodeAll(plain, nil)), setNumber(tx, in.nextBlockKey(), n+1))
}

func appendBytes(b, part []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(part))), part...)
}

// block reads a block.
func block(g Getter, in Place, n uint64) ([]frozen, error) {
	c, err := coder()
	if err != nil {
		return nil, err
	}
	packed, err := g.Get(in.blockKey(n))
	if err != nil {
		return nil, fmt.Errorf("block %d of %s: %w", n, in, err)
	}
	plain, err := c.dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("block %d of %s: %v", n, in, err)
	}
	r, out := cut{b: plain}, []frozen(nil)
	for len(r.b) > 0 && !r.bad && len(out) <= maxBlock {
		f := frozen{id: string(r.bytes()), record: r.bytes()}
		views := r.number()
		if views > uint64(len(r.b)) {
			return nil, errBlock
		}
		for range views {
			f.views = append(f.views, r.bytes())
		}
		out = append(out, f)
	}
	if r.bad || len(r.b) > 0 {
		return nil, errBlock
	}
	return out, nil
}

// cut takes parts off a text; after a damaged one bad is set.
type cut struct {
	b   []byte
	bad bool
}

func (c *cut) number() uint64 {
	n, k := binary.Uvarint(c.b)
	if k <= 0 {
		c.bad, c.b = true, nil
		return 0
	}
	c.b = c.b[k:]
	return n
}

func (c *cut) bytes() []byte {
	n := c.number()
	if n > uint64(len(c.b)) {
		c.bad, c.b = true, nil
		return nil
	}
	part := c.b[:n:n]
	c.b = c.b[n:]
	return part
}

// frozenAt finds one entry in a block.
func frozenAt(g Getter, in Place, n uint64, id string) (frozen, error) {
	fs, err := block(g, in, n)
	if err != nil {
		return frozen{}, err
	}
	for _, f := range fs {
		if f.id == id {
			return f, nil
		}
	}
	return frozen{}, fmt.Errorf("block %d of %s lacks %s", n, in, id)
}

// view returns the bytes of a revision, wherever they lie. ErrGone: there are
// none.
func view(g Getter, in Place, id string, rev uint64) ([]byte, error) {
	v, err := g.Get(in.viewKey(id, rev))
	if !errors.Is(err, store.ErrNotFound) {
		return v, err
	}
	stored, err := g.Get(in.entryKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	n, cold, err := coldAt(stored)
	if err != nil {
		return nil, err
	}
	if !cold {
		return nil, ErrGone
	}
	f, err := frozenAt(g, in, n, id)
	if err != nil {
		return nil, err
	}
	if rev == 0 || rev > uint64(len(f.views)) {
		return nil, ErrGone
	}
	return f.views[rev-1], nil
}

// thaw takes the block apart that an entry lies in, if it lies in one.
func thaw(tx store.Tx, in Place, id string) error {
	stored, err := tx.Get(in.entryKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	n, cold, err := coldAt(stored)
	if err != nil || !cold {
		return err
	}
	fs, err := block(tx, in, n)
	if err != nil {
		return err
	}
	for _, f := range fs {
		if err := tx.Set(in.entryKey(f.id), f.record); err != nil {
			return err
		}
		for i, v := range f.views {
			if err := tx.Set(in.viewKey(f.id, uint64(i)+1), v); err != nil {
				return err
			}
		}
	}
	return tx.Delete(in.blockKey(n))
}
