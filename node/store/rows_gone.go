package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// GoneRows lists the numbers from from to to of rows that are their hash alone, erased or past
// their age, at most max of them. To whom they belonged is not kept.
func (e *Events) GoneRows(ctx context.Context, from, to uint64, max int) (out []uint64, err error) {
	if from == 0 || from > to || max <= 0 {
		return nil, nil
	}
	err = e.db.View(ctx, func(r Reader) error {
		return r.Scan([]byte(keyRow), key(keyRow, u64(from-1)), func(k, v []byte) bool {
			n := binary.BigEndian.Uint64(k[len(keyRow):])
			if n <= to && len(v) == goneBytes && v[0] == 0 {
				out = append(out, n)
			}
			return n < to && len(out) < max
		})
	})
	return out, err
}

// keyRowsDue is re/<index 8>: under the audit.rows at that index lie rows that the log says
// to be erased and that an older copy of the data brought back, while nothing says which they
// are: how many 8, number of the first row under it 8, how many rows 8.
const keyRowsDue = "re/"

// RowsDue are own rows to be erased again, of which it is not known which they are.
type RowsDue struct {
	Index uint64 // of what binds them in the own log
	Count uint64 // how many
	First uint64 // number of the first row it binds
	Size  uint64 // how many it binds
}

func decodeRowsDue(k, v []byte) (RowsDue, error) {
	if len(k) != len(keyRowsDue)+8 || len(v) != 24 {
		return RowsDue{}, fmt.Errorf("%w: rows to erase of %d bytes", ErrCorrupt, len(v))
	}
	d := RowsDue{Index: be64(k[len(keyRowsDue):]), Count: be64(v[:8]), First: be64(v[8:16]), Size: be64(v[16:])}
	if d.Count == 0 || d.First == 0 || d.Count > d.Size {
		return RowsDue{}, fmt.Errorf("%w: %d of %d rows to erase", ErrCorrupt, d.Count, d.Size)
	}
	return d, nil
}

func (d RowsDue) put(tx Tx) error {
	k := key(keyRowsDue, u64(d.Index))
	if d.Count == 0 {
		return tx.Delete(k)
	}
	return tx.Set(k, append(append(u64(d.Count), u64(d.First)...), u64(d.Size)...))
}

// RowsDue lists what is noted of rows to be erased again.
func (e *Events) RowsDue(ctx context.Context) (out []RowsDue, err error) {
	var bad error
	err = e.db.View(ctx, func(r Reader) error {
		return r.Scan([]byte(keyRowsDue), nil, func(k, v []byte) bool {
			var d RowsDue
			d, bad = decodeRowsDue(k, v)
			out = append(out, d)
			return bad == nil
		})
	})
	return out, errors.Join(err, bad)
}

// RowsUnder splits the rows numbered from first on that are held by whether they are their
// hash alone: the numbers of those that are not, at most max of them, and how many are.
func (e *Events) RowsUnder(ctx context.Context, first, size uint64, max int) (whole []uint64, gone uint64, err error) {
	if first == 0 || size == 0 {
		return nil, 0, nil
	}
	err = e.db.View(ctx, func(r Reader) error {
		return r.Scan([]byte(keyRow), key(keyRow, u64(first-1)), func(k, v []byte) bool {
			n := binary.BigEndian.Uint64(k[len(keyRow):])
			if n-first >= size {
				return false
			}
			if len(v) == goneBytes && v[0] == 0 {
				gone++
			} else if len(whole) < max {
				whole = append(whole, n)
			}
			return true
		})
	})
	return whole, gone, err
}

// NoteRowsDue keeps that rows are to be erased again: in place of what is noted of the same
// index, and nothing where Count is 0.
func (e *Events) NoteRowsDue(ctx context.Context, d RowsDue) error {
	return e.db.Update(ctx, func(tx Tx) error { return d.put(tx) })
}

// DropRows leaves of rows their hashes alone, all at once: at most MaxBatch of them.
func (e *Events) DropRows(ctx context.Context, rows []uint64) error {
	return e.db.Update(ctx, func(tx Tx) error {
		for _, n := range rows {
			if err := dropRow(tx, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// DropRowDue is DropRows of one row that is among those to be erased again under what binds
// it at an index, of which there is then one less. False where none is, or the row is gone.
func (e *Events) DropRowDue(ctx context.Context, n, index uint64) (done bool, err error) {
	err = e.db.Update(ctx, func(tx Tx) error {
		done = false
		k := key(keyRowsDue, u64(index))
		b, err := getOr(tx, k, nil)
		if err != nil || b == nil {
			return err
		}
		d, err := decodeRowsDue(k, b)
		if err != nil {
			return err
		}
		row, err := readRow(tx, n)
		if err != nil || row.gone || n < d.First || n-d.First >= d.Size {
			return err
		}
		done = true
		d.Count--
		return errors.Join(dropRow(tx, n), d.put(tx))
	})
	return done && err == nil, err
}
