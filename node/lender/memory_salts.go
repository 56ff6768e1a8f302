package lender

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/memory"
	"trustnode/node/self"
	"trustnode/node/store"
)

// What an answer hashed to stays in its row. With the salt, which the lender alone keeps in
// side/, somebody who guesses a forgotten text could try the hash against the guess; so the
// salts of answers that held a forgotten entry are dropped (04 section 5). Which entries are
// still to be looked for waits under keyForgot, written in the transaction that forgets. A row
// that is its hash alone says no more which entries it held: what is kept beside it goes with it.

// saltDelay is how long after forgetting salts go: what else is made of them has the rows by
// then.
const saltDelay = 2 * time.Minute

// markForgotten notes entries whose answers keep their salts for now.
func markForgotten(tx store.Tx, at time.Time, in memory.Place, gone []memory.Entry) error {
	when := binary.BigEndian.AppendUint64(nil, uint64(at.Unix()))
	for _, e := range gone {
		if err := tx.Set([]byte(keyForgot+in.String()+"\x00"+e.ID), when); err != nil {
			return err
		}
	}
	return nil
}

// sweepSalts drops the salts of answers that held what was forgotten a while ago. A mark goes
// once all rows of before it were looked at: those that wait for the log are not.
func (l *Lender) sweepSalts(ctx context.Context, at time.Time) error {
	due := func(_, v []byte) bool {
		return len(v) == 8 && int64(binary.BigEndian.Uint64(v)) <= at.Add(-saltDelay).Unix()
	}
	marks, err := l.scan(ctx, keyForgot, due)
	if err != nil || len(marks) == 0 {
		return err
	}
	flushing, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	if err := l.n.Rec.Flush(flushing); err != nil {
		return fmt.Errorf("salts of forgotten answers stay until the log takes what waits: %w", err)
	}
	if err := l.indexReaders(ctx); err != nil {
		return err
	}
	for len(marks) > 0 {
		whole, err := l.dropSalts(ctx, marks)
		if err != nil || !whole {
			return err
		}
		if err := l.deleteAll(ctx, marks); err != nil {
			return err
		}
		if marks, err = l.scan(ctx, keyForgot, due); err != nil {
			return err
		}
	}
	return nil
}

// dropSalts looks through the rows of the loans under which a forgotten entry was read. What
// the index of readers has not taken up keeps what lies beside it, for that alone says whom the
// answer was about; whole says that there was no such row.
func (l *Lender) dropSalts(ctx context.Context, marks [][]byte) (whole bool, err error) {
	upTo, err := indexed(self.ViewGetter(ctx, l.n.DB))
	if err != nil {
		return false, err
	}
	gone := map[envelope.ID]map[string]bool{} // entries by permission
	for _, k := range marks {
		place, entry, _ := bytes.Cut(k[len(keyForgot):], []byte{0})
		perms, err := l.scanIDs(ctx, entryReaders(string(place), string(entry)), math.MaxInt)
		if err != nil {
			return false, err
		}
		for _, p := range perms {
			if gone[p] == nil {
				gone[p] = map[string]bool{}
			}
			gone[p][string(entry)] = true
		}
	}
	whole = true
	for perm, entries := range gone {
		held, all, err := l.held(ctx, perm, entries, upTo)
		if err != nil {
			return false, err
		}
		if err := l.deleteAll(ctx, held); err != nil {
			return false, err
		}
		whole = whole && all
	}
	return whole, nil
}

// held lists the keys of what is kept beside the rows of answers under a permission that held
// one of some entries, in rows numbered at most upTo; all says that no later row did.
func (l *Lender) held(ctx context.Context, perm envelope.ID, entries map[string]bool, upTo uint64) (out [][]byte, all bool, err error) {
	all = true
	err = l.n.Rec.RowsOf(ctx, perm.String(), func(n uint64, row audit.Row) error {
		r, err := auditRow(row)
		if err != nil {
			return err
		}
		g, ok := r.Row.(lending.GrantedRow)
		if !ok || !slices.ContainsFunc(g.Entries, func(ref lending.Ref) bool { return entries[ref.Entry] }) {
			return nil
		}
		if n > upTo {
			all = false
		} else {
			out = append(out, idKey(keySide, r.ID))
		}
		return nil
	})
	return out, all, err
}

// sweepSides drops what is kept beside rows that are their hash alone, of maxSides rows a
// turn: what such a row held is not to be found by it any more. Whoever takes rows up for the
// index of readers is waited for.
func (l *Lender) sweepSides(ctx context.Context) error {
	l.indexing.Lock()
	defer l.indexing.Unlock()
	var keys [][]byte
	err := l.n.DB.View(ctx, func(r store.Reader) error {
		keys = nil
		return r.Scan([]byte(keySide), l.sided, func(k, _ []byte) bool {
			keys = append(keys, bytes.Clone(k))
			return len(keys) < maxSides
		})
	})
	if err != nil {
		return err
	}
	var gone [][]byte
	for _, k := range keys {
		id, err := envelope.ParseID(string(bytes.TrimPrefix(k, []byte(keySide))))
		if err != nil {
			return err
		}
		is, err := l.n.Rec.RowGone(ctx, id)
		if err != nil {
			return err
		}
		if is {
			gone = append(gone, k)
		}
	}
	if err := l.deleteAll(ctx, gone); err != nil {
		return err
	}
	if l.sided = nil; len(keys) == maxSides {
		l.sided = keys[len(keys)-1]
	}
	return nil
}

// deleteAll deletes keys, sweepBatch in one transaction.
func (l *Lender) deleteAll(ctx context.Context, keys [][]byte) error {
	for some := range slices.Chunk(keys, sweepBatch) {
		err := l.n.DB.Update(ctx, func(tx store.Tx) error {
			for _, k := range some {
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
	return ctx.Err()
}
