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

// A body that was erased leaves a mark by its id. That of an own erasure is empty and stays:
// whoever names the body again does not bring it back. That of others' is lifted by the next
// event that counts and names the body, for whose that is has not erased it; so it matters
// to nobody whose log came first.
var goneByOthers = []byte{1}

// dropBody takes a body away, and marks it unless an own erasure did.
func dropBody(tx Tx, id envelope.ID, mark []byte) error {
	was, err := getOr(tx, goneBodyKey(id), goneByOthers)
	if err != nil || len(was) == 0 {
		return errors.Join(err, tx.Delete(bodyKey(id)))
	}
	return errors.Join(tx.Delete(bodyKey(id)), tx.Set(goneBodyKey(id), mark))
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

// wants reports whether the body is to be asked for that an event of a log which counts now
// names, and lifts the mark of its erasure where that was not of this event.
func wants(tx Tx, o uint32, index uint64, id envelope.ID) (bool, error) {
	held, err := getOr(tx, bodyKey(id), nil)
	if err != nil || held != nil {
		return false, err
	}
	gone, err := getOr(tx, goneBodyKey(id), nil)
	if err != nil || gone == nil {
		return err == nil, err
	}
	erased, err := getOr(tx, indexKey(keyErased, o, index), nil)
	if err != nil || erased != nil || len(gone) == 0 {
		return false, err
	}
	return true, tx.Delete(goneBodyKey(id))
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
		if err := dropBody(tx, x.Body, nil); err != nil {
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

// Row returns an own row by its id: the zero one where it is its hash alone, and
// attestation.ErrNotFound where it is not held.
func (e *Events) Row(ctx context.Context, id envelope.ID) (audit.Row, error) {
	n, err := e.RowNumber(ctx, id)
	if err != nil {
		return audit.Row{}, err
	}
	var k keptRow
	err = e.db.View(ctx, func(r Reader) (err error) {
		k, err = readRow(r, n)
		return err
	})
	return k.row, err
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

// Postpone makes a noted erasure due at a later time, in seconds since 1970 UTC. One that is
// noted no more stays so.
func (e *Events) Postpone(ctx context.Context, x Due, to int64) error {
	s, _ := e.state(x.Org)
	e.write.Lock()
	defer e.write.Unlock()
	return e.db.Update(ctx, func(tx Tx) error {
		k := indexKey(keyErased, s.num, x.Index)
		if noted, err := getOr(tx, k, nil); err != nil || noted == nil {
			return err
		}
		return tx.Set(k, u64(uint64(to)))
	})
}

// EraseBody takes a body away that others held too, and notes that the erasure of the event
// that names it is done. A zero body is one that no event of the log names any more. own: the
// erasure is of this organization, and the body is never taken again. Where another event
// counts and names the body that is not erased, it does nothing: attestation.ErrConflict.
func (e *Events) EraseBody(ctx context.Context, x Due, body envelope.ID, own bool) error {
	e.write.Lock()
	defer e.write.Unlock()
	s, _ := e.state(x.Org)
	if x.Index >= s.head.Size { // it was cut off since
		return e.db.Update(ctx, func(tx Tx) error { return tx.Delete(indexKey(keyErased, s.num, x.Index)) })
	}
	if body.IsZero() {
		return e.db.Update(ctx, func(tx Tx) error { return tx.Set(indexKey(keyErased, s.num, x.Index), u64(0)) })
	}
	by, err := e.Naming(ctx, body)
	if err != nil {
		return err
	}
	mark := goneByOthers
	if own {
		mark = nil
	}
	return e.db.Update(ctx, func(tx Tx) error {
		for _, f := range by {
			o, _ := e.state(f.Org)
			noted, err := getOr(tx, indexKey(keyErased, o.num, f.Index), nil)
			if err != nil {
				return err
			}
			if noted == nil && f.Verdict.Counts() {
				return fmt.Errorf("%w: event %d of %s names body %s", attestation.ErrConflict, f.Index, f.Org, body)
			}
			if err := tx.Delete(indexKey(keyWanted, o.num, f.Index)); err != nil {
				return err
			}
		}
		return errors.Join(dropBody(tx, body, mark), tx.Set(indexKey(keyErased, s.num, x.Index), u64(0)))
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
