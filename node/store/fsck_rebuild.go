package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"trustnode/attestation"
)

// rebuildKeys is how many keys one update of a rebuild deletes.
const rebuildKeys = 8192

// Rebuild makes the derived indexes of an audit database anew: ids, postings and times from
// the entries, ids and keys of rows from the rows. What of the order of arrival is damaged is
// numbered anew, for no bytes say it. Entries, tiles, notes and rows stay as they
// are. A rebuild that was cut short is carried out by the next. What has no frame of an
// entry or does not read is told and left out.
func Rebuild(ctx context.Context, db DB, in Inspection) error {
	for _, prefix := range []string{keyID, keyPosting, keyTimes, keyRowID, keyRowKey} {
		if err := clearPrefix(ctx, db, prefix); err != nil {
			return err
		}
	}
	e, err := openEvents(ctx, db)
	if err != nil {
		return err
	}
	if err := renumber(ctx, db, e.states()); err != nil {
		return err
	}
	b := &rebuilder{ctx: ctx, db: db, in: in}
	for _, s := range e.states() {
		b.total += s.head.Size
	}
	for _, s := range e.states() {
		for from := uint64(0); from < s.head.Size; from += attestation.MaxBatch {
			if err := b.entries(&s, from, min(s.head.Size, from+attestation.MaxBatch)); err != nil {
				return err
			}
		}
	}
	return b.allRows()
}

// allRows indexes the rows that there are: numbers that are lost may be millions.
func (b *rebuilder) allRows() error {
	last := uint64(0)
	for {
		var page []uint64
		err := b.db.View(b.ctx, func(r Reader) error {
			return r.Scan([]byte(keyRow), key(keyRow, u64(last)), func(k, _ []byte) bool {
				page = append(page, be64(k[len(keyRow):]))
				return len(page) < attestation.MaxBatch
			})
		})
		if err != nil || len(page) == 0 {
			return err
		}
		if err := b.rows(page); err != nil {
			return err
		}
		last = page[len(page)-1]
	}
}

func clearPrefix(ctx context.Context, db DB, prefix string) error {
	for {
		var keys [][]byte
		err := db.View(ctx, func(r Reader) error {
			return r.Scan([]byte(prefix), nil, func(k, _ []byte) bool {
				keys = append(keys, bytes.Clone(k))
				return len(keys) < rebuildKeys
			})
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		err = db.Update(ctx, func(tx Tx) error {
			for _, k := range keys {
				if err := tx.Delete(k); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

type rebuilder struct {
	ctx         context.Context
	db          DB
	in          Inspection
	done, total uint64
}

// entries indexes entries [from, to) of a log as one append of them would.
func (b *rebuilder) entries(s *logState, from, to uint64) error {
	a := &appending{b: attestation.Batch{Org: s.org, From: from}, posts: map[string][]byte{}, times: times{}}
	err := b.db.Update(b.ctx, func(tx Tx) error {
		clear(a.posts)
		clear(a.times)
		for i := from; i < to; i++ {
			en, err := getOr(tx, indexKey(keyEntry, s.num, i), nil)
			if err != nil {
				return err
			}
			if attestation.Entry(en).Check() != nil {
				continue // told by the inspection that follows
			}
			if err := setOnce(tx, idKey(attestation.Entry(en).ID(), s.num), u64(i)); err != nil {
				return err
			}
			if ev, ok := indexed(s.org, en); ok {
				a.post(i-from, ev)
			}
		}
		for prefix, offsets := range a.posts {
			if err := tx.Set(indexKey(prefix, s.num, from), offsets); err != nil {
				return err
			}
		}
		return a.times.commit(tx, s.num)
	})
	if b.done += to - from; b.in.Progress != nil {
		b.in.Progress(b.done, b.total)
	}
	return err
}

// rows indexes some rows.
func (b *rebuilder) rows(numbers []uint64) error {
	return b.db.Update(b.ctx, func(tx Tx) error {
		for _, n := range numbers {
			k, err := readRow(tx, n)
			if errors.Is(err, attestation.ErrNotFound) || errors.Is(err, ErrCorrupt) {
				continue // told by the inspection that follows
			}
			if err != nil {
				return err
			}
			if err := tx.Set(rowIDKey(k.id), u64(n)); err != nil {
				return err
			}
			for _, by := range k.row.Keys {
				if err := tx.Set(binary.BigEndian.AppendUint64(rowKeyPrefix(by), n), nil); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
