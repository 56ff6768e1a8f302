package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Dump writes all of a snapshot to w: for each key, in byte order, the length of the key,
// the key, the length of the value, the value; lengths are uvarints. progress is told how
// many keys were written; it may be nil.
func Dump(ctx context.Context, r Reader, w io.Writer, progress func(keys uint64)) error {
	var bad error
	var head []byte
	keys := uint64(0)
	err := r.Scan(nil, nil, func(k, v []byte) bool {
		for _, b := range [][]byte{k, v} {
			head = binary.AppendUvarint(head[:0], uint64(len(b)))
			if _, bad = w.Write(head); bad != nil {
				return false
			}
			if _, bad = w.Write(b); bad != nil {
				return false
			}
		}
		if keys++; keys%4096 == 0 {
			bad = ctx.Err()
			if progress != nil {
				progress(keys)
			}
		}
		return bad == nil
	})
	if bad != nil {
		return bad
	}
	return err
}

// pair is one key with its value.
type pair struct{ k, v []byte }

// Fill writes what Dump wrote into an empty database, in updates as large as may be. What
// is in the database after an error is a part of it.
func Fill(ctx context.Context, db DB, r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var last []byte
	for {
		var group []pair
		end := false
		for size := 0; size < MaxUpdateBytes/2 && len(group) < MaxUpdateKeys/2; {
			p, err := readPair(in)
			if err == io.EOF {
				end = true
				break
			}
			if err != nil {
				return err
			}
			if bytes.Compare(p.k, last) <= 0 {
				return fmt.Errorf("%w: keys of the dump are not in order", ErrCorrupt)
			}
			last = p.k
			group = append(group, p)
			size += len(p.k) + len(p.v) + entryOverhead
		}
		if err := put(ctx, db, group); err != nil || end {
			return err
		}
	}
}

func put(ctx context.Context, db DB, group []pair) error {
	if len(group) == 0 {
		return nil
	}
	return db.Update(ctx, func(tx Tx) error {
		for _, p := range group {
			if err := tx.Set(p.k, p.v); err != nil {
				return err
			}
		}
		return nil
	})
}

// readPair reads one key and its value; io.EOF where there is none more.
func readPair(in *bufio.Reader) (pair, error) {
	if _, err := in.Peek(1); err != nil {
		return pair{}, err
	}
	k, err := readBytes(in, MaxKeyBytes)
	if err != nil {
		return pair{}, err
	}
	v, err := readBytes(in, MaxValueBytes)
	return pair{k, v}, err
}

func readBytes(in *bufio.Reader, most uint64) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil || n > most {
		return nil, fmt.Errorf("%w: a length of %d in the dump (%v)", ErrCorrupt, n, err)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, fmt.Errorf("%w: the dump is cut short", ErrCorrupt)
	}
	return b, nil
}

// Sizes calls yield with the size of each log in a snapshot of an audit database, by DID,
// and returns the last outbox number that the own log took in.
func Sizes(r Reader, yield func(org string, size uint64)) (mark uint64, err error) {
	var bad error
	err = r.Scan([]byte(keyLogNumber), nil, func(k, v []byte) bool {
		var b []byte
		if b, bad = r.Get(append([]byte(keyHead), v...)); bad == nil && len(b) >= 8 {
			yield(string(k[len(keyLogNumber):]), be64(b[:8]))
		}
		return bad == nil
	})
	if err = errors.Join(err, bad); err != nil {
		return 0, err
	}
	b, err := getOr(r, []byte(keyMark), nil)
	return be64(b), err
}
