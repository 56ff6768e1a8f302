package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
)

// Append implements attestation.Store. Who calls it has verified b.Note, and
// that the entries lie under it; b.Seen are its verified cosignatures.
func (e *Events) Append(ctx context.Context, b attestation.Batch) error {
	if err := checkBatch(b); err != nil {
		return err
	}
	e.write.Lock()
	defer e.write.Unlock()
	s, known := e.state(b.Org)
	if s.head.Size != b.From {
		return fmt.Errorf("%w: %s has %d, batch from %d", attestation.ErrConflict, b.Org, s.head.Size, b.From)
	}
	a, err := e.plan(s, b)
	if err != nil {
		return err
	}
	a.fresh = !known
	if a.unwanted, err = e.wantedFor(ctx, b.Erased); err != nil {
		return err
	}
	if err := e.db.Update(ctx, func(tx Tx) error { return a.commit(tx) }); err != nil {
		return err
	}
	e.adopt(a)
	return nil
}

func checkBatch(b attestation.Batch) error {
	size := 0
	for _, en := range b.Entries {
		if err := en.Check(); err != nil {
			return err
		}
		size += len(en)
	}
	for _, r := range b.Rows {
		size += len(r.Body)
	}
	if len(b.Entries) > attestation.MaxBatch || len(b.Rows) > attestation.MaxRows || size > attestation.MaxBatchBytes {
		return fmt.Errorf("%w: %d entries, %d rows, %d bytes", attestation.ErrTooLarge, len(b.Entries), len(b.Rows), size)
	}
	return nil
}

// appending is one append, computed before its transaction.
type appending struct {
	b      attestation.Batch
	was    attestation.Head
	s      logState // as it will be
	leaves []tlog.Hash
	posts  map[string][]byte // posting prefix to offsets
	note   noteChange
	mark   uint64
	rows   uint64 // before
	cov    uint64 // after
	fresh  bool

	unwanted [][]byte // keys of wishes for bodies that the batch erases
}

func (e *Events) plan(s logState, b attestation.Batch) (*appending, error) {
	a := &appending{b: b, was: s.head, s: s, posts: map[string][]byte{}}
	e.mu.RLock()
	a.mark, a.rows, a.cov = max(e.mark, b.Mark), e.rows, e.cov
	e.mu.RUnlock()
	edge := s.edge.Clone()
	for i, en := range b.Entries {
		h := en.Hash()
		a.leaves = append(a.leaves, h)
		if err := edge.Append(h); err != nil {
			return nil, err
		}
		a.post(uint64(i), en)
	}
	root, err := edge.Root()
	if err != nil {
		return nil, err
	}
	a.s.edge, a.s.head = edge, attestation.Head{Size: edge.End(), Root: root}
	for _, c := range b.Covers {
		a.cov = c.First + c.Size - 1
	}
	if b.Lost != nil {
		a.cov = b.Lost.First + b.Lost.Size - 1
	}
	if b.Note != nil {
		a.note, err = a.s.noteChange(b.Note, b.Seen)
	}
	return a, err
}

// post notes under which values an entry is found.
func (a *appending) post(offset uint64, en attestation.Entry) {
	eachPosting(a.b.Org, en, func(dim byte, value string) { a.add(dim, value, offset) })
}

// eachPosting yields the values under which an entry of a log is found, each once. What
// has not the form of an event of this log is found by its index alone.
func eachPosting(org did.DID, en attestation.Entry, yield func(dim byte, value string)) {
	_, ev, err := en.Envelope()
	if err != nil || ev.Org != org {
		return
	}
	put := func(dim byte, value string) {
		if value != "" {
			yield(dim, value)
		}
	}
	family, _, _ := strings.Cut(string(ev.Type), ".")
	put(dimType, string(ev.Type))
	put(dimFamily, family)
	put(dimSubject, ev.Subject)
	put(dimActor, ev.Actor.String())
	put(dimBody, ev.Body.String())
	for i, r := range ev.Refs {
		if !slices.Contains(ev.Refs[:i], r) {
			put(dimRef, r.String())
		}
	}
}

func (a *appending) add(dim byte, value string, offset uint64) {
	k := string(postingPrefix(dim, value))
	a.posts[k] = binary.AppendUvarint(a.posts[k], offset)
}

func (a *appending) commit(tx Tx) error {
	if err := a.commitLog(tx); err != nil {
		return err
	}
	if err := a.commitRows(tx); err != nil {
		return err
	}
	for _, body := range a.b.Bodies {
		if err := tx.Set(bodyKey(envelope.IDOf(body)), body); err != nil {
			return err
		}
	}
	return tx.Set([]byte(keyMark), u64(a.mark))
}

func (a *appending) commitLog(tx Tx) error {
	if err := a.commitHead(tx); err != nil {
		return err
	}
	if err := writeTiles(tx, a.s.num, a.b.From, a.leaves); err != nil {
		return err
	}
	for i, en := range a.b.Entries {
		at := a.b.From + uint64(i)
		if err := tx.Set(indexKey(keyEntry, a.s.num, at), en); err != nil {
			return err
		}
		if err := setOnce(tx, idKey(en.ID(), a.s.num), u64(at)); err != nil {
			return err
		}
	}
	for prefix, offsets := range a.posts {
		if err := tx.Set(indexKey(prefix, a.s.num, a.b.From), offsets); err != nil {
			return err
		}
	}
	return a.note.commit(tx, a.s.num)
}

// commitHead checks that the log is where the plan saw it, and moves it.
func (a *appending) commitHead(tx Tx) error {
	k := logKey(keyHead, a.s.num)
	b, err := getOr(tx, k, nil)
	if err != nil {
		return err
	}
	if (b == nil) != a.fresh || b != nil && binary.BigEndian.Uint64(b) != a.b.From {
		return fmt.Errorf("%w: %s", attestation.ErrConflict, a.b.Org)
	}
	if a.fresh {
		if err := a.commitName(tx); err != nil {
			return err
		}
	}
	return tx.Set(k, encodeHead(a.s.head, a.s.edge.Hashes()))
}

func (a *appending) commitName(tx Tx) error {
	num := binary.BigEndian.AppendUint32(nil, a.s.num)
	if err := tx.Set(key(keyLogNumber, []byte(a.s.org.String())), num); err != nil {
		return err
	}
	return tx.Set(key(keyLogName, num), []byte(a.s.org.String()))
}

func setOnce(tx Tx, k, v []byte) error {
	b, err := getOr(tx, k, nil)
	if err != nil || b != nil {
		return err
	}
	return tx.Set(k, v)
}

// adopt makes a committed append visible.
func (e *Events) adopt(a *appending) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a.note.adopt(&a.s)
	e.logs[a.s.org] = &a.s
	e.mark, e.rows, e.cov = a.mark, a.rowsAfter(), a.cov
}

// ReadBack reads size, edge and tiles of a log from the database, computes the
// root from each and returns the head when all agree, else ErrCorrupt.
func (e *Events) ReadBack(ctx context.Context, d did.DID) (attestation.Head, error) {
	s, ok := e.state(d)
	if !ok {
		return s.head, nil
	}
	var h attestation.Head
	err := e.db.View(ctx, func(r Reader) error {
		b, err := r.Get(logKey(keyHead, s.num))
		if err != nil {
			return fmt.Errorf("%w: head: %v", ErrCorrupt, err)
		}
		var edge attlog.Range
		if h, edge, err = decodeHead(b); err != nil {
			return err
		}
		return e.compare(r, s.num, h, edge)
	})
	return h, err
}

func (e *Events) compare(r Reader, num uint32, h attestation.Head, edge attlog.Range) error {
	root, err := edge.Root()
	if err != nil {
		return err
	}
	tiles, err := attlog.RootAt(h.Size, nodeReader{r, num})
	if err != nil {
		return err
	}
	if root != h.Root || tiles.Root != h.Root {
		return fmt.Errorf("%w: size %d: stored %s, edge %s, tiles %s", ErrCorrupt, h.Size, h.Root, root, tiles.Root)
	}
	return nil
}

// nodeReader reads hashes from one snapshot or transaction.
type nodeReader struct {
	g   getter
	num uint32
}

// ReadHashes implements tlog.HashReader.
func (n nodeReader) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, x := range at {
		h, err := readNode(n.g, n.num, x)
		if err != nil {
			return nil, err
		}
		out[i] = h
	}
	return out, nil
}

// CheckTail hashes the newest entries of a log, up to two tiles, against their
// leaves; ErrCorrupt names the first that does not fit.
func (e *Events) CheckTail(ctx context.Context, d did.DID) error {
	s, ok := e.state(d)
	if !ok {
		return nil
	}
	from := uint64(0)
	if s.head.Size > 2*tileWidth {
		from = (s.head.Size/tileWidth - 1) * tileWidth
	}
	l := &heldLog{treeReader{e.db, s.num}, s}
	return l.Entries(ctx, from, s.head.Size, func(i uint64, en attestation.Entry) error {
		h, err := l.ReadHashes([]int64{tlog.StoredHashIndex(0, int64(i))})
		if err != nil {
			return err
		}
		if h[0] != en.Hash() {
			return &Misfit{d, i}
		}
		return nil
	})
}
