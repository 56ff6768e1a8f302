package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
)

// cutKeys is how many keys one update of a cut writes.
const cutKeys = 2048

// Cut takes everything of the log of d from a size on away, so that another branch can take
// its place: its entries are kept as the branch beside it, in place of what was kept of one,
// as many as fit into MaxBranch. Evidence stays. A cut that was interrupted is carried out
// when the database is next opened. attestation.ErrNotFound for a log that is not held.
func (e *Events) Cut(ctx context.Context, d did.DID, size uint64) error {
	e.write.Lock()
	defer e.write.Unlock()
	s, ok := e.state(d)
	if !ok {
		return attestation.ErrNotFound
	}
	if size >= s.head.Size {
		return nil
	}
	if err := e.db.Update(ctx, func(tx Tx) error { return tx.Set(logKey(keyCut, s.num), u64(size)) }); err != nil {
		return err
	}
	return e.finishCut(ctx, s, size)
}

// finishCuts carries out what was interrupted.
func (e *Events) finishCuts(ctx context.Context) error {
	for _, s := range e.states() {
		var size []byte
		err := e.db.View(ctx, func(r Reader) (err error) {
			size, err = getOr(r, logKey(keyCut, s.num), nil)
			return err
		})
		if err == nil && size != nil {
			err = e.finishCut(ctx, s, binary.BigEndian.Uint64(size))
		}
		if err != nil {
			return fmt.Errorf("cut of %s: %w", s.org, err)
		}
	}
	return nil
}

// finishCut does what is left of a cut: the branch is kept before the head moves, and nothing
// below the new head depends on what is taken away after it.
func (e *Events) finishCut(ctx context.Context, s logState, size uint64) error {
	if size < s.head.Size {
		if err := e.setAside(ctx, s, size); err != nil {
			return err
		}
		if err := e.cutHead(ctx, s, size); err != nil {
			return err
		}
		if err := e.reload(ctx, s); err != nil { // nobody reads past it from here on
			return err
		}
	}
	for _, step := range []func(context.Context, logState, uint64) error{e.cutIndexes, e.cutRows, e.cutTimes, e.cutOrder, e.cutTiles, e.cutSeen} {
		if err := step(ctx, s, size); err != nil {
			return err
		}
	}
	if err := e.db.Update(ctx, func(tx Tx) error { return tx.Delete(logKey(keyCut, s.num)) }); err != nil {
		return err
	}
	return e.reload(ctx, s)
}

// reload reads a log anew.
func (e *Events) reload(ctx context.Context, s logState) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.db.View(ctx, func(r Reader) error { return e.loadLog(r, s.org.String(), s.num) })
}

// DropNote takes a note away that turned out to be of another branch, with the times it gave.
func (e *Events) DropNote(ctx context.Context, d did.DID, size uint64) error {
	e.write.Lock()
	defer e.write.Unlock()
	s, ok := e.state(d)
	if !ok {
		return attestation.ErrNotFound
	}
	list, err := e.seenAnew(ctx, s, func(n uint64) bool { return n != size })
	if err != nil {
		return err
	}
	if err := e.apply(ctx, append(list, change{indexKey(keyNote, s.num, size), nil})); err != nil {
		return err
	}
	return e.reload(ctx, s)
}

// setAside keeps the entries from size on as the branch.
func (e *Events) setAside(ctx context.Context, s logState, size uint64) error {
	e.setBranch(s.org, nil)
	defer e.setBranch(s.org, nil)
	if err := clearPrefix(ctx, e.db, string(logKey(keyBranch, s.num))); err != nil {
		return err
	}
	l, total := &heldLog{treeReader{e.db, s.num}, s}, 0
	for from := size; from < s.head.Size && total < MaxBranch; from += attestation.MaxBatch {
		part, err := l.read(ctx, from, min(s.head.Size, from+attestation.MaxBatch))
		if err != nil {
			return err
		}
		kept := 0
		for _, en := range part {
			if total += len(en); total > MaxBranch {
				break
			}
			kept++
		}
		for list, at := part[:kept], from; len(list) > 0; {
			run := firstRun(list)
			err = e.db.Update(ctx, func(tx Tx) error {
				for i, en := range run {
					if err := tx.Set(indexKey(keyBranch, s.num, at+uint64(i)), en); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			list, at = list[len(run):], at+uint64(len(run))
		}
	}
	return nil
}

// cutHead makes the log one of size.
func (e *Events) cutHead(ctx context.Context, s logState, size uint64) error {
	edge, err := attlog.ReadRange(0, size, treeReader{e.db, s.num})
	if err != nil {
		return err
	}
	root, err := edge.Root()
	if err != nil {
		return err
	}
	head := attestation.Head{Size: size, Root: root}
	return e.db.Update(ctx, func(tx Tx) error {
		return errors.Join(tx.Set(logKey(keyHead, s.num), encodeHead(head, edge.Hashes())), tx.Set(logKey(keyLevel, s.num), u64(min(s.judged, size))))
	})
}

// change is a key with its new value; nil deletes it.
type change struct{ k, v []byte }

// apply makes changes durable, some at a time.
func (e *Events) apply(ctx context.Context, list []change) error {
	for len(list) > 0 {
		part := list[:min(cutKeys, len(list))]
		list = list[len(part):]
		err := e.db.Update(ctx, func(tx Tx) error {
			for _, c := range part {
				err := error(nil)
				if c.v == nil {
					err = tx.Delete(c.k)
				} else {
					err = tx.Set(c.k, c.v)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cutIndexes takes ids and postings of the entries from size on away. The entries are still
// there, and say which.
func (e *Events) cutIndexes(ctx context.Context, s logState, size uint64) error {
	for from := size; ; {
		var part []attestation.Entry
		err := e.db.View(ctx, func(r Reader) error {
			return r.Scan(logKey(keyEntry, s.num), beforeKey(keyEntry, s.num, from), func(_, v []byte) bool {
				part = append(part, bytes.Clone(v))
				return len(part) < attestation.MaxBatch
			})
		})
		if err != nil || len(part) == 0 {
			return err
		}
		var list []change
		err = e.db.View(ctx, func(r Reader) error {
			list, err = s.unindex(r, part, size)
			return err
		})
		if err == nil {
			err = e.apply(ctx, list)
		}
		if err != nil {
			return err
		}
		from += uint64(len(part))
	}
}

// unindex lists what entries from size on have in the indexes.
func (s logState) unindex(r Reader, part []attestation.Entry, size uint64) (list []change, err error) {
	seen := map[string]bool{}
	for _, en := range part {
		k := idKey(en.ID(), s.num)
		at, err := getOr(r, k, nil)
		if err != nil {
			return nil, err
		}
		if at != nil && binary.BigEndian.Uint64(at) >= size {
			list = append(list, change{k, nil})
		}
		if ev, ok := indexed(s.org, en); ok {
			eachPosting(ev, func(dim byte, value string) { seen[string(postingPrefix(dim, value))] = true })
		}
	}
	for prefix := range seen {
		err := r.Scan(logKey(prefix, s.num), nil, func(k, v []byte) bool {
			base := binary.BigEndian.Uint64(k[len(k)-8:])
			if left := offsetsBelow(v, base, size); len(left) == 0 {
				list = append(list, change{bytes.Clone(k), nil})
			} else if len(left) < len(v) {
				list = append(list, change{bytes.Clone(k), left})
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// offsetsBelow are the offsets from base, which ascend, of indexes below size.
func offsetsBelow(v []byte, base, size uint64) []byte {
	n := 0
	for n < len(v) {
		off, w := binary.Uvarint(v[n:])
		if w <= 0 || base+off >= size {
			break
		}
		n += w
	}
	return bytes.Clone(v[:n])
}

// beforeKey is a key right below that of an index, for a scan to begin after.
func beforeKey(prefix string, o uint32, n uint64) []byte {
	if n == 0 {
		return nil
	}
	return append(indexKey(prefix, o, n-1), 0xff)
}

// cutRows takes what lies under an index from size on, and notes of larger sizes, away. Entries
// go first: one without its row would read as valid.
func (e *Events) cutRows(ctx context.Context, s logState, size uint64) error {
	for _, c := range []struct {
		prefix string
		from   uint64
	}{{keyEntry, size}, {keyStanding, size}, {keyWanted, size}, {keyErased, size}, {keyNote, size + 1}} {
		for {
			var list []change
			err := e.db.View(ctx, func(r Reader) error {
				return r.Scan(logKey(c.prefix, s.num), beforeKey(c.prefix, s.num, c.from), func(k, _ []byte) bool {
					list = append(list, change{bytes.Clone(k), nil})
					return len(list) < cutKeys
				})
			})
			if err == nil {
				err = e.apply(ctx, list)
			}
			if err != nil {
				return err
			}
			if len(list) < cutKeys {
				break
			}
		}
	}
	return nil
}

// cutTimes keeps the times of blocks of what is left alone, and how far its log.erased are taken in.
func (e *Events) cutTimes(ctx context.Context, s logState, size uint64) error {
	if err := clearPrefix(ctx, e.db, string(logKey(keyTimes, s.num))); err != nil {
		return err
	}
	for from := uint64(0); from < size; from += attestation.MaxBatch {
		err := e.db.Update(ctx, func(tx Tx) error {
			t := times{}
			for i := from; i < min(size, from+attestation.MaxBatch); i++ {
				en, err := tx.Get(indexKey(keyEntry, s.num, i))
				if err != nil {
					return err
				}
				if ev, ok := indexed(s.org, en); ok {
					t.see(i, ev.At)
				}
			}
			return t.commit(tx, s.num)
		})
		if err != nil {
			return err
		}
	}
	return e.db.Update(ctx, func(tx Tx) error {
		k := logKey(keyErasedTo, s.num)
		b, err := getOr(tx, k, nil)
		if err != nil || be64(b) <= size {
			return err
		}
		return tx.Set(k, u64(size))
	})
}

// cutOrder numbers the arrivals of what is left anew. Whoever follows with a cursor of before is told that it is
// ahead, or misses nothing but repetitions.
func (e *Events) cutOrder(ctx context.Context, s logState, size uint64) error {
	logs := e.states()
	for i := range logs {
		if logs[i].num == s.num {
			logs[i].head.Size = size
		}
	}
	return renumber(ctx, e.db, logs)
}

// cutTiles shortens the tiles to those of a tree of size.
func (e *Events) cutTiles(ctx context.Context, s logState, size uint64) error {
	var list []change
	err := e.db.View(ctx, func(r Reader) error {
		return r.Scan(logKey(keyTile, s.num), nil, func(k, v []byte) bool {
			level, n := k[len(k)-9], binary.BigEndian.Uint64(k[len(k)-8:])
			full := size >> (tileHeight * uint(level)) // hashes of that level
			keep := uint64(0)
			if full > n*tileWidth {
				keep = min(full-n*tileWidth, tileWidth) * tlog.HashSize
			}
			switch {
			case keep == 0:
				list = append(list, change{bytes.Clone(k), nil})
			case keep < uint64(len(v)):
				list = append(list, change{bytes.Clone(k), bytes.Clone(v[:keep])})
			}
			return true
		})
	})
	if err != nil {
		return err
	}
	return e.apply(ctx, list)
}

// cutSeen says anew who cosigned when, from the notes that are left.
func (e *Events) cutSeen(ctx context.Context, s logState, _ uint64) error {
	list, err := e.seenAnew(ctx, s, func(uint64) bool { return true })
	if err != nil {
		return err
	}
	return e.apply(ctx, list)
}

// seenAnew is what changes of who cosigned when if only the notes of some sizes are left: a
// later step may have stood for an earlier one. What comes again is before what goes, so that
// no time is lost where it is cut short.
func (e *Events) seenAnew(ctx context.Context, s logState, left func(size uint64) bool) (list []change, err error) {
	stairs, gone := map[did.DID]stair{}, map[string]uint64{}
	err = e.db.View(ctx, func(r Reader) error {
		err := r.Scan(logKey(keyNote, s.num), nil, func(k, v []byte) bool {
			n, err := attlog.ParseNote(v)
			if err != nil || !left(binary.BigEndian.Uint64(k[len(k)-8:])) {
				return true // of a damaged one an inspection tells
			}
			for _, l := range n.Lines {
				if w, ok := l.Witness(); ok && len(l.Sig) >= 8 { // its time, then the signature
					stairs[w], _, _ = stairs[w].put(step{n.Head.Size, int64(binary.BigEndian.Uint64(l.Sig))})
				}
			}
			return true
		})
		if err != nil {
			return err
		}
		return r.Scan(logKey(keySeen, s.num), nil, func(k, v []byte) bool {
			gone[string(k)] = be64(v)
			return true
		})
	})
	if err != nil {
		return nil, err
	}
	for w, st := range stairs {
		for _, x := range st {
			k := seenKey(s.num, x.size, w)
			if at, ok := gone[string(k)]; !ok || at != uint64(x.at) {
				list = append(list, change{k, u64(uint64(x.at))})
			}
			delete(gone, string(k))
		}
	}
	for k := range gone {
		list = append(list, change{[]byte(k), nil})
	}
	return list, nil
}
