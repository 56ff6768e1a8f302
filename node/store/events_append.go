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
	said := make([]attestation.Event, len(b.Entries))
	for i, en := range b.Entries {
		if c, err := en.Claim(); err == nil {
			said[i] = c.Body()
		}
	}
	return e.AppendJudged(ctx, b, said, Settled{})
}

// AppendJudged is Append of entries that are decoded, and judged as far as s says: the
// verdicts become durable with what they are about. said are the events that b.Entries claim
// to be, in order, the zero one for what is none. The note is b.Note, and s has none.
func (e *Events) AppendJudged(ctx context.Context, b attestation.Batch, said []attestation.Event, s Settled) error {
	if err := checkBatch(b); err != nil {
		return err
	}
	defer e.lock(b.Org)()
	was, known := e.state(b.Org)
	if was.head.Size != b.From {
		return fmt.Errorf("%w: %s has %d, batch from %d", attestation.ErrConflict, b.Org, was.head.Size, b.From)
	}
	a, err := e.plan(was, b, said, s)
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
	judged Settled
	was    logState
	s      logState // as it will be
	leaves []tlog.Hash
	posts  map[string][]byte // posting prefix to offsets
	times  times
	note   noteChange
	rows   uint64 // before; of the own log alone
	cov    uint64 // after
	fresh  bool

	unwanted [][]byte // keys of wishes for bodies that the batch erases
}

func (e *Events) plan(s logState, b attestation.Batch, said []attestation.Event, judged Settled) (*appending, error) {
	a := &appending{b: b, judged: judged, was: s, s: s, posts: map[string][]byte{}, times: times{}}
	e.mu.RLock()
	a.rows, a.cov = e.rows, e.cov
	e.mu.RUnlock()
	edge := s.edge.Clone()
	for i, en := range b.Entries {
		h := en.Hash()
		a.leaves = append(a.leaves, h)
		if err := edge.Append(h); err != nil {
			return nil, err
		}
		a.post(uint64(i), said[i])
	}
	root, err := edge.Root()
	if err != nil {
		return nil, err
	}
	a.s.edge, a.s.head = edge, attestation.Head{Size: edge.End(), Root: root}
	a.s.judged = judged.upto(&a.s)
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

// post notes under which values and times an event is found. What is no event of this log is
// found by its place alone.
func (a *appending) post(offset uint64, ev attestation.Event) {
	if ev.Org != a.b.Org {
		return
	}
	a.times.see(a.b.From+offset, ev.At)
	eachPosting(ev, func(dim byte, value string) { a.add(dim, value, offset) })
}

// indexed returns the event of an entry, and false for what has not the form of an event of
// this log: that is found by its place alone.
func indexed(org did.DID, en attestation.Entry) (attestation.Event, bool) {
	_, ev, err := en.Envelope()
	return ev, err == nil && ev.Org == org
}

// eachPosting yields the values under which an event is found, each once.
func eachPosting(ev attestation.Event, yield func(dim byte, value string)) {
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
	if a.b.Mark == 0 {
		return nil
	}
	return tx.Set([]byte(keyMark), u64(a.b.Mark))
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
	if err := a.times.commit(tx, a.s.num); err != nil {
		return err
	}
	if err := arrived(tx, a.s.num, a.b.From, uint64(len(a.b.Entries))); err != nil {
		return err
	}
	if err := a.note.commit(tx, a.s.num); err != nil {
		return err
	}
	return a.judged.commit(tx, &a.was, &a.s)
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
	a.judged.tell()
	e.logs[a.s.org] = &a.s
	e.mark = max(e.mark, a.b.Mark)
	if a.numbers() {
		e.rows, e.cov = a.rowsAfter(), a.cov
	}
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
	return readNodes(n.g, n.num, at)
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
