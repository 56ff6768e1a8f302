package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
)

// noteState is which notes of a log stand out.
type noteState struct {
	newest   []byte // of a size that is held
	cosigned []byte // of a size that is held, with at least one cosignature
	ahead    []byte // of a size above what is held

	newestSize, cosignedSize, aheadSize uint64

	bare []uint64 // sizes of all notes without a cosignature, in order; never changed in place
}

// step says that somebody cosigned this size at that time.
type step struct {
	size uint64
	at   int64 // seconds since 1970 UTC
}

// stair is the earliest time per index at which one organization had cosigned:
// sizes rise, and so do times, strictly. The first step above an index counts.
type stair []step

// put returns the stair with one more cosignature, and the steps it makes
// needless; added is false when it says nothing new.
func (s stair) put(n step) (next stair, gone []step, added bool) {
	if len(s) == 0 || s[len(s)-1].size < n.size && s[len(s)-1].at < n.at {
		// The usual one. Stairs are put to by one writer at a time and only grow beyond
		// the length anybody else sees, so the array may be shared.
		return append(s, n), nil, true
	}
	for _, o := range s {
		if o.size >= n.size && o.at <= n.at {
			return s, nil, false
		}
	}
	for _, o := range s {
		if o.size <= n.size && o.at >= n.at {
			gone = append(gone, o)
		} else {
			next = append(next, o)
		}
	}
	at, _ := slices.BinarySearchFunc(next, n.size, func(o step, size uint64) int { return cmp.Compare(o.size, size) })
	return slices.Insert(next, at, n), gone, true
}

// at returns the earliest time at which index was covered.
func (s stair) at(index uint64) (int64, bool) {
	i, _ := slices.BinarySearchFunc(s, index+1, func(o step, size uint64) int { return cmp.Compare(o.size, size) })
	if i == len(s) {
		return 0, false
	}
	return s[i].at, true
}

func (s *logState) loadNotes(r Reader) error {
	var bad error
	err := r.Scan(logKey(keyNote, s.num), nil, func(k, v []byte) bool {
		size := binary.BigEndian.Uint64(k[len(k)-8:])
		s.notes = s.notes.with(bytes.Clone(v), size, s.head.Size)
		return true
	})
	if err != nil {
		return err
	}
	err = r.Scan(logKey(keySeen, s.num), nil, func(k, v []byte) bool {
		at := len(keySeen) + 4
		var w did.DID
		if w, bad = did.Parse(string(k[at+8:])); bad != nil {
			return false
		}
		n := step{binary.BigEndian.Uint64(k[at:]), int64(binary.BigEndian.Uint64(v))}
		s.seen[w], _, _ = s.seen[w].put(n)
		return true
	})
	return errors.Join(err, bad)
}

// with returns the state once a note of size is held; notes come in any order.
func (n noteState) with(note []byte, size, held uint64) noteState {
	n = n.without([]uint64{size})
	if !isCosigned(note) {
		at, _ := slices.BinarySearch(n.bare, size)
		n.bare = slices.Insert(slices.Clone(n.bare), at, size)
	}
	if size > held {
		if size >= n.aheadSize {
			n.ahead, n.aheadSize = note, size
		}
		return n
	}
	if size >= n.newestSize {
		n.newest, n.newestSize = note, size
	}
	if size >= n.cosignedSize && isCosigned(note) {
		n.cosigned, n.cosignedSize = note, size
	}
	return n
}

// without is the state once notes without a cosignature are dropped.
func (n noteState) without(sizes []uint64) noteState {
	n.bare = slices.DeleteFunc(slices.Clone(n.bare), func(s uint64) bool { return slices.Contains(sizes, s) })
	return n
}

// needless are the sizes of the notes without a cosignature that are dropped for one of a
// size: the newest that it replaces, and one where too many are kept above what is held,
// never the largest.
func (n noteState) needless(note []byte, size, held uint64) (out []uint64) {
	if size <= held {
		if n.newestSize < size && slices.Contains(n.bare, n.newestSize) {
			out = append(out, n.newestSize)
		}
		return out
	}
	above := slices.DeleteFunc(slices.Clone(n.bare), func(s uint64) bool { return s <= held || s == size })
	if last := len(above) - 1; last >= maxAhead-1 && !isCosigned(note) {
		if size < above[last] {
			last--
		}
		out = append(out, above[last])
	}
	return out
}

// maxAhead is how many notes without a cosignature are kept above what is held of one log:
// whoever signs heads and shows no entries fills no disk.
const maxAhead = 64

func noteSize(b []byte) uint64 {
	n, err := attlog.ParseNote(b)
	if err != nil {
		return 0
	}
	return n.Head.Size
}

func isCosigned(b []byte) bool {
	n, err := attlog.ParseNote(b)
	return err == nil && slices.ContainsFunc(n.Lines, func(l attlog.Line) bool { _, ok := l.Witness(); return ok })
}

// noteChange is what storing one note changes.
type noteChange struct {
	note []byte
	size uint64
	drop []uint64 // sizes of notes without a cosignature that are dropped for it
	add  map[did.DID]step
	gone map[did.DID][]step
	next map[did.DID]stair
}

// noteChange computes what storing note does to s, whose head is already the
// one after any append.
func (s *logState) noteChange(note []byte, seen []attestation.Seen) (noteChange, error) {
	n, err := attlog.ParseNote(note)
	if err != nil {
		return noteChange{}, err
	}
	if n.Org != s.org {
		return noteChange{}, fmt.Errorf("note of %s in the log of %s", n.Org, s.org)
	}
	c := noteChange{note: note, size: n.Head.Size, drop: s.notes.needless(note, n.Head.Size, s.head.Size), add: map[did.DID]step{}, gone: map[did.DID][]step{}, next: maps.Clone(s.seen)}
	for _, w := range seen {
		st := step{c.size, w.At.Unix()}
		if next, gone, ok := c.next[w.Org].put(st); ok {
			c.next[w.Org], c.gone[w.Org], c.add[w.Org] = next, gone, st
		}
	}
	return c, nil
}

func (c noteChange) commit(tx Tx, o uint32) error {
	if c.note == nil {
		return nil
	}
	for _, size := range c.drop {
		if err := tx.Delete(indexKey(keyNote, o, size)); err != nil {
			return err
		}
	}
	if err := tx.Set(indexKey(keyNote, o, c.size), c.note); err != nil {
		return err
	}
	for w, st := range c.add {
		for _, g := range c.gone[w] {
			if err := tx.Delete(seenKey(o, g.size, w)); err != nil {
				return err
			}
		}
		if err := tx.Set(seenKey(o, st.size, w), u64(uint64(st.at))); err != nil {
			return err
		}
	}
	return nil
}

func (c noteChange) adopt(s *logState) {
	if c.note == nil {
		return
	}
	s.notes, s.seen = s.notes.without(c.drop).with(c.note, c.size, s.head.Size), c.next
}

// PutNote stores a verified note with its verified cosignatures, in place of
// the one of its size. attestation.ErrNotFound while no entry of the log is
// held.
func (e *Events) PutNote(ctx context.Context, d did.DID, note []byte, seen []attestation.Seen) error {
	return e.Settle(ctx, d, Settled{Note: note, Seen: seen})
}

// Note returns the note kept of one size, or attestation.ErrNotFound.
func (e *Events) Note(ctx context.Context, d did.DID, size uint64) ([]byte, error) {
	s, ok := e.state(d)
	if !ok {
		return nil, attestation.ErrNotFound
	}
	var out []byte
	err := e.db.View(ctx, func(r Reader) error {
		var err error
		out, err = r.Get(indexKey(keyNote, s.num, size))
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("note of size %d: %w", size, attestation.ErrNotFound)
	}
	return out, err
}

// Notes yields the cosigned notes of sizes above from and up to to, in order.
func (e *Events) Notes(ctx context.Context, d did.DID, from, to uint64, yield func([]byte) bool) error {
	return e.AllNotes(ctx, d, from, to, func(b []byte) bool { return !isCosigned(b) || yield(b) })
}

// AllNotes is Notes with those that nobody cosigned.
func (e *Events) AllNotes(ctx context.Context, d did.DID, from, to uint64, yield func([]byte) bool) error {
	s, ok := e.state(d)
	if !ok {
		return attestation.ErrNotFound
	}
	return e.db.View(ctx, func(r Reader) error {
		return r.Scan(logKey(keyNote, s.num), indexKey(keyNote, s.num, from), func(k, v []byte) bool {
			if binary.BigEndian.Uint64(k[len(k)-8:]) > to {
				return false
			}
			return yield(bytes.Clone(v))
		})
	})
}

// Newest returns the newest note of a held size, the newest with a
// cosignature, and the newest of a size above what is held; nil for none.
func (e *Events) Newest(d did.DID) (newest, cosigned, ahead []byte) {
	s, _ := e.state(d)
	return s.notes.newest, s.notes.cosigned, s.notes.ahead
}

// Witnessed returns, for one index, the earliest cosignature of each
// organization over a head that covers it, by time and organization.
func (e *Events) Witnessed(d did.DID, index uint64) []attestation.Seen {
	s, _ := e.state(d)
	var out []attestation.Seen
	for w, st := range s.seen {
		if at, ok := st.at(index); ok {
			out = append(out, attestation.Seen{Org: w, At: envelope.TimeOf(time.Unix(at, 0))})
		}
	}
	slices.SortFunc(out, func(a, b attestation.Seen) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Org.String(), b.Org.String()))
	})
	return out
}

// DropBare drops notes of these sizes that nobody cosigned and that are older than the newest:
// they say nothing that it does not.
func (e *Events) DropBare(ctx context.Context, d did.DID, sizes []uint64) error {
	defer e.lock(d)()
	s, ok := e.state(d)
	if !ok {
		return attestation.ErrNotFound
	}
	var list []change
	sizes = slices.DeleteFunc(slices.Clone(sizes), func(n uint64) bool { return n >= s.notes.newestSize || !slices.Contains(s.notes.bare, n) })
	for _, n := range sizes {
		list = append(list, change{indexKey(keyNote, s.num, n), nil})
	}
	if err := e.apply(ctx, list); err != nil {
		return err
	}
	if s.notes = s.notes.without(sizes); slices.Contains(sizes, s.notes.aheadSize) {
		s.notes.ahead, s.notes.aheadSize = nil, 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.logs[d] = &s
	return nil
}

// Begin makes the empty log of an organization of which nothing is held, so that its heads can
// be kept before its entries come.
func (e *Events) Begin(ctx context.Context, d did.DID) error {
	if _, ok := e.state(d); ok {
		return nil
	}
	return e.Append(ctx, attestation.Batch{Org: d})
}

// KeepEvidence keeps a note that contradicts the held log, for ever, up to maxEvidence of them.
func (e *Events) KeepEvidence(ctx context.Context, d did.DID, note []byte) error {
	e.write.Lock()
	defer e.write.Unlock()
	s, ok := e.state(d)
	if !ok {
		return attestation.ErrNotFound
	}
	sum := envelope.IDOf(note).Sum()
	k := append(indexKey(keyEvidence, s.num, noteSize(note)), sum[:8]...)
	if have, err := e.kept(ctx, d, keyEvidence); err != nil || len(have) >= maxEvidence {
		return err
	}
	return e.db.Update(ctx, func(tx Tx) error { return tx.Set(k, note) })
}

// maxEvidence is how many notes are kept against one log: whoever signs without end fills no
// disk.
const maxEvidence = 32

// KeepFork keeps a proof that the log of d has forked, in place of another if instead is not
// nil.
func (e *Events) KeepFork(ctx context.Context, d did.DID, proof, instead []byte) error {
	e.write.Lock()
	defer e.write.Unlock()
	s, ok := e.state(d)
	if !ok {
		return attestation.ErrNotFound
	}
	return e.db.Update(ctx, func(tx Tx) error {
		if instead != nil {
			if err := tx.Delete(forkKey(s.num, instead)); err != nil {
				return err
			}
		}
		return tx.Set(forkKey(s.num, proof), proof)
	})
}

func forkKey(o uint32, proof []byte) []byte {
	sum := envelope.IDOf(proof).Sum()
	return append(logKey(keyFork, o), sum[:8]...)
}

// Forks returns the proofs kept that the log of d has forked.
func (e *Events) Forks(ctx context.Context, d did.DID) ([][]byte, error) {
	return e.kept(ctx, d, keyFork)
}

// Evidence returns the notes kept that contradict the held log.
func (e *Events) Evidence(ctx context.Context, d did.DID) ([][]byte, error) {
	return e.kept(ctx, d, keyEvidence)
}

// kept returns all that a log has under one prefix.
func (e *Events) kept(ctx context.Context, d did.DID, prefix string) ([][]byte, error) {
	s, ok := e.state(d)
	if !ok {
		return nil, attestation.ErrNotFound
	}
	var out [][]byte
	err := e.db.View(ctx, func(r Reader) error {
		return r.Scan(logKey(prefix, s.num), nil, func(_, v []byte) bool {
			out = append(out, bytes.Clone(v))
			return true
		})
	})
	return out, err
}
