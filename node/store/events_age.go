package store

import (
	"context"
	"errors"
	"fmt"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
)

// ageTurn is how many rows one turn of ageing looks at: with 64 keys each, a transaction
// stays below what one may write.
const ageTurn = 256

// Aged is what one turn of ageing did.
type Aged struct {
	Rows int    // that are their hash alone now
	Next uint64 // number of the row to go on from; 0 where no row behind is old enough
}

// AgeRows makes rows their hash alone that lie under an audit.rows event older than before,
// up to one turn of them from row number from on, 0 for the first that may be left. A row
// has no time of its own here, and none is later than that of its audit.rows. keep says of
// which rows the bytes stay; it is asked again at the next pass.
func (e *Events) AgeRows(ctx context.Context, own did.DID, from uint64, before envelope.Time, keep func(audit.Row) bool) (Aged, error) {
	e.write.Lock()
	defer e.write.Unlock()
	t := &ageing{own: own, before: before, keep: keep}
	if err := e.db.View(ctx, func(r Reader) error { return t.look(e, r, from) }); err != nil || t.to == 0 {
		return Aged{}, err
	}
	err := e.db.Update(ctx, func(tx Tx) error {
		for _, n := range t.old {
			if err := dropRow(tx, n); err != nil {
				return err
			}
		}
		if t.from != t.low+1 || t.kept {
			return nil
		}
		return tx.Set([]byte(keyAged), u64(t.to))
	})
	if err != nil {
		return Aged{}, err
	}
	return Aged{Rows: len(t.old), Next: t.to + 1}, nil
}

// ageing is one turn: what is to be done to rows from to to.
type ageing struct {
	own      did.DID
	before   envelope.Time
	keep     func(audit.Row) bool
	low      uint64 // rows up to here are gone, all of them
	from, to uint64 // to is 0 where there is nothing to do
	old      []uint64
	kept     bool // the bytes of one of them stay
}

func (t *ageing) look(e *Events, r Reader, from uint64) error {
	b, err := getOr(r, []byte(keyAged), nil)
	if err != nil {
		return err
	}
	t.low = be64(b)
	t.from = max(from, t.low+1)
	c, _, err := coverOf(r, t.from)
	if err != nil || c.Size == 0 {
		return err
	}
	at, err := e.timeOf(r, t.own, c.Index)
	if err != nil || !at.Before(t.before) {
		return err
	}
	return t.choose(r, c.First+c.Size-1)
}

// choose looks at rows up to the last of a cover, and not at more than a turn has. Numbers
// that are lost take no place in it: there may be millions of them.
func (t *ageing) choose(r Reader, last uint64) error {
	var bad error
	seen := 0
	t.to = last
	err := r.Scan([]byte(keyRow), key(keyRow, u64(t.from-1)), func(k, v []byte) bool {
		n := be64(k[len(keyRow):])
		if n > last {
			return false
		}
		if seen++; seen > ageTurn {
			t.to = n - 1
			return false
		}
		var row keptRow
		if row, bad = decodeKept(v); bad != nil {
			return false
		}
		switch {
		case row.gone:
		case t.keep(row.row):
			t.kept = true
		default:
			t.old = append(t.old, n)
		}
		return true
	})
	return errors.Join(err, bad)
}

// timeOf returns the time of an own event.
func (e *Events) timeOf(r Reader, own did.DID, index uint64) (envelope.Time, error) {
	s, ok := e.state(own)
	if !ok {
		return envelope.Time{}, fmt.Errorf("log of %s: %w", own, attestation.ErrNotFound)
	}
	b, err := r.Get(indexKey(keyEntry, s.num, index))
	if err != nil {
		return envelope.Time{}, fmt.Errorf("%w: entry %d: %v", ErrCorrupt, index, err)
	}
	_, ev, err := attestation.Entry(b).Envelope()
	return ev.At, err
}
