package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/envelope"
)

// A row that was erased or is past its age is kept as a zero byte, which is the length of
// no row's kind, then its leaf and its id: the trees above it stay what they are, and it is
// known when an old copy of the outbox brings it again. Nothing finds it by a key.
const goneBytes = 1 + tlog.HashSize + 32

// keptRow is a row as it is stored.
type keptRow struct {
	row  audit.Row // zero where it is gone
	leaf tlog.Hash
	id   envelope.ID
	gone bool
}

func encodeGone(k keptRow) []byte {
	id := k.id.Sum()
	return append(append(make([]byte, 1, goneBytes), k.leaf[:]...), id[:]...)
}

func decodeKept(b []byte) (keptRow, error) {
	if len(b) == goneBytes && b[0] == 0 {
		return keptRow{leaf: tlog.Hash(b[1:33]), id: envelope.IDFromSum([32]byte(b[33:])), gone: true}, nil
	}
	r, err := DecodeRow(b)
	if err != nil {
		return keptRow{}, err
	}
	return keptRow{row: r, leaf: audit.Leaf(r.Body), id: audit.ID(r)}, nil
}

// readRow returns one row by number, or attestation.ErrNotFound.
func readRow(g getter, n uint64) (keptRow, error) {
	b, err := g.Get(key(keyRow, u64(n)))
	if errors.Is(err, ErrNotFound) {
		return keptRow{}, fmt.Errorf("row %d: %w", n, attestation.ErrNotFound)
	}
	if err != nil {
		return keptRow{}, err
	}
	return decodeKept(b)
}

// dropRow leaves of a row its hashes alone. One that is not held, or gone before, stays as
// it is.
func dropRow(tx Tx, n uint64) error {
	k, err := readRow(tx, n)
	if errors.Is(err, attestation.ErrNotFound) || err == nil && k.gone {
		return nil
	}
	if err != nil {
		return err
	}
	for _, by := range k.row.Keys {
		if err := tx.Delete(binary.BigEndian.AppendUint64(rowKeyPrefix(by), n)); err != nil {
			return err
		}
	}
	return tx.Set(key(keyRow, u64(n)), encodeGone(k))
}

// dropBody takes a body away for good.
func dropBody(tx Tx, id envelope.ID) error {
	return errors.Join(tx.Delete(bodyKey(id)), tx.Set(goneBodyKey(id), nil))
}

func erasedBody(g getter, id envelope.ID) (bool, error) {
	b, err := getOr(g, goneBodyKey(id), nil)
	return b != nil, err
}

func erasedErr(id envelope.ID, gone bool) error {
	if !gone {
		return nil
	}
	return fmt.Errorf("body %s: %w", id, attestation.ErrErased)
}

// heldOrErased reports whether there is no use in asking for a body.
func heldOrErased(g getter, id envelope.ID) (bool, error) {
	held, err := getOr(g, bodyKey(id), nil)
	if err != nil || held != nil {
		return held != nil, err
	}
	return erasedBody(g, id)
}

// erase takes away what the log.erased of a batch name.
func (a *appending) erase(tx Tx) error {
	for _, x := range a.b.Erased {
		if x.Body.IsZero() {
			if err := dropRow(tx, x.Row); err != nil {
				return err
			}
			continue
		}
		if err := dropBody(tx, x.Body); err != nil {
			return err
		}
		if err := tx.Set(indexKey(keyErased, a.s.num, x.Index), u64(0)); err != nil {
			return err
		}
	}
	for _, k := range a.unwanted {
		if err := tx.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// wantedFor returns the keys under which bodies are wanted that are erased.
func (e *Events) wantedFor(ctx context.Context, erased []attestation.Erasure) (out [][]byte, err error) {
	for _, x := range erased {
		if x.Body.IsZero() {
			continue
		}
		by, err := e.Naming(ctx, x.Body)
		if err != nil {
			return nil, err
		}
		for _, f := range by {
			s, _ := e.state(f.Org)
			out = append(out, indexKey(keyWanted, s.num, f.Index))
		}
	}
	return out, nil
}

// BodyErased reports whether a body was erased: it is not held and never taken again.
func (e *Events) BodyErased(ctx context.Context, id envelope.ID) (gone bool, err error) {
	err = e.db.View(ctx, func(r Reader) (err error) {
		gone, err = erasedBody(r, id)
		return err
	})
	return gone, err
}

// RowGone reports whether a row is its hash alone; attestation.ErrNotFound for one that is
// not held at all.
func (e *Events) RowGone(ctx context.Context, n uint64) (bool, error) {
	var k keptRow
	err := e.db.View(ctx, func(r Reader) (err error) {
		k, err = readRow(r, n)
		return err
	})
	return k.gone, err
}

// Due is an event whose origin has erased its body, while that body may be held here.
type Due struct {
	Org   did.DID
	Index uint64
	At    int64 // seconds since 1970 UTC from which on it is due; 0: it is done
}

// Erasure returns what is noted of the erasure of one event's body; false for nothing.
func (e *Events) Erasure(ctx context.Context, d did.DID, index uint64) (at int64, noted bool, err error) {
	s, ok := e.state(d)
	if !ok {
		return 0, false, nil
	}
	err = e.db.View(ctx, func(r Reader) error {
		b, err := getOr(r, indexKey(keyErased, s.num, index), nil)
		at, noted = int64(be64(b)), b != nil
		return err
	})
	return at, noted, err
}

// Dues lists up to max erasures that are due by a time, in seconds since 1970 UTC.
func (e *Events) Dues(ctx context.Context, by int64, max int) ([]Due, error) {
	var out []Due
	logs := e.states()
	err := e.db.View(ctx, func(r Reader) error {
		for _, s := range logs {
			err := r.Scan(logKey(keyErased, s.num), nil, func(k, v []byte) bool {
				if at := int64(be64(v)); at > 0 && at <= by {
					out = append(out, Due{s.org, be64(k[len(k)-8:]), at})
				}
				return len(out) < max
			})
			if err != nil || len(out) >= max {
				return err
			}
		}
		return nil
	})
	return out, err
}

// NoteErasures keeps that events of a log were erased, each with when it is due here, and
// that every log.erased below an index is taken in. What is noted before stays as it is.
func (e *Events) NoteErasures(ctx context.Context, d did.DID, list []Due, upto uint64) error {
	e.write.Lock()
	defer e.write.Unlock()
	s, ok := e.state(d)
	if !ok {
		return fmt.Errorf("log of %s: %w", d, attestation.ErrNotFound)
	}
	return e.db.Update(ctx, func(tx Tx) error {
		for _, x := range list {
			if err := setOnce(tx, indexKey(keyErased, s.num, x.Index), u64(uint64(x.At))); err != nil {
				return err
			}
		}
		return tx.Set(logKey(keyErasedTo, s.num), u64(upto))
	})
}

// ErasedTo returns the index below which every log.erased of a log is taken in.
func (e *Events) ErasedTo(ctx context.Context, d did.DID) (upto uint64, err error) {
	s, ok := e.state(d)
	if !ok {
		return 0, nil
	}
	err = e.db.View(ctx, func(r Reader) error {
		b, err := getOr(r, logKey(keyErasedTo, s.num), nil)
		upto = be64(b)
		return err
	})
	return upto, err
}

// Postpone makes a noted erasure due at a later time, in seconds since 1970 UTC.
func (e *Events) Postpone(ctx context.Context, x Due, to int64) error {
	s, _ := e.state(x.Org)
	e.write.Lock()
	defer e.write.Unlock()
	return e.db.Update(ctx, func(tx Tx) error { return tx.Set(indexKey(keyErased, s.num, x.Index), u64(uint64(to))) })
}

// EraseBody takes a body away that others held too, and notes that the erasure of the event
// that names it is done. A zero body is one that no event of the log names any more.
func (e *Events) EraseBody(ctx context.Context, x Due, body envelope.ID) error {
	s, _ := e.state(x.Org)
	unwanted, err := e.wantedFor(ctx, []attestation.Erasure{{Body: body}})
	if err != nil {
		return err
	}
	e.write.Lock()
	defer e.write.Unlock()
	return e.db.Update(ctx, func(tx Tx) error {
		if !body.IsZero() {
			if err := dropBody(tx, body); err != nil {
				return err
			}
		}
		for _, k := range unwanted {
			if err := tx.Delete(k); err != nil {
				return err
			}
		}
		return tx.Set(indexKey(keyErased, s.num, x.Index), u64(0))
	})
}

// EventsOf yields the events of one exact type in one log from an index on, in order,
// whatever became of them, until yield returns false.
func (e *Events) EventsOf(ctx context.Context, d did.DID, t attestation.Type, from uint64, yield func(attestation.Found) bool) error {
	s, ok := e.state(d)
	if !ok {
		return nil
	}
	return e.db.View(ctx, func(r Reader) error {
		q := attestation.Query{Org: d, Type: t, Any: true}
		_, err := s.walk(r, q, always, from, s.head.Size, func(i uint64) (bool, error) {
			f, fits, err := s.found(r, q, always, i)
			return err == nil && (!fits || yield(f)), err
		})
		return err
	})
}
