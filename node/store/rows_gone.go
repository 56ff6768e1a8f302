package store

import (
	"context"
	"encoding/binary"
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
