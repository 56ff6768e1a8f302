package lender

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/memory"
	"trustnode/node/store"
)

// What an answer hashed to stays in its row. With the salt, which the lender alone keeps in
// side/, somebody who guesses a forgotten text could try the hash against the guess; so the
// salts of answers that held a forgotten entry are dropped (04 section 5). Which entries are
// still to be looked for waits under keyForgot, written in the transaction that forgets.

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

// sweepSalts drops the salts of answers that held what was forgotten a while ago.
func (l *Lender) sweepSalts(ctx context.Context, at time.Time) error {
	for {
		marks, err := l.scan(ctx, keyForgot, func(_, v []byte) bool {
			return len(v) == 8 && int64(binary.BigEndian.Uint64(v)) <= at.Add(-saltDelay).Unix()
		})
		if err != nil || len(marks) == 0 {
			return err
		}
		gone := map[string]map[string]bool{} // by place
		for _, k := range marks {
			place, id, _ := bytes.Cut(k[len(keyForgot):], []byte{0})
			if gone[string(place)] == nil {
				gone[string(place)] = map[string]bool{}
			}
			gone[string(place)][string(id)] = true
		}
		if err := l.dropSalts(ctx, gone); err != nil {
			return err
		}
		err = l.n.DB.Update(ctx, func(tx store.Tx) error {
			for _, k := range marks {
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

// dropSalts looks through the rows of every loan of these places.
func (l *Lender) dropSalts(ctx context.Context, gone map[string]map[string]bool) error {
	loans, err := l.scanIDs(ctx, keyLoan, MaxLoans)
	if err != nil {
		return err
	}
	for _, perm := range loans {
		k, err := l.permission(ctx, perm)
		if err != nil {
			return err
		}
		ids := gone[k.place.String()]
		if ids == nil {
			continue
		}
		rows, err := l.rows(ctx, perm)
		if err != nil {
			return err
		}
		var held []envelope.ID
		for _, r := range rows {
			g, ok := r.Row.(lending.GrantedRow)
			if ok && slices.ContainsFunc(g.Entries, func(ref lending.Ref) bool { return ids[ref.Entry] }) {
				held = append(held, r.ID)
			}
		}
		for some := range slices.Chunk(held, sweepBatch) {
			err := l.n.DB.Update(ctx, func(tx store.Tx) error {
				for _, id := range some {
					if err := tx.Delete(idKey(keySide, id)); err != nil {
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
	return ctx.Err()
}
