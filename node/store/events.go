package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
)

// Events keeps every log held here, the node's own audit rows and the bodies
// of events, in the audit database. Keys are listed at their constants.
//
// It is safe for concurrent use. It checks sizes and keeps indexes; whether a
// note is signed and who may append is for the recorder.
type Events struct {
	db DB

	// write is held by whoever changes the database; shared, with the lock of its log, by
	// who appends to a log or settles what is known of it.
	write sync.RWMutex
	each  LogLocks

	mu     sync.RWMutex // guards what follows; values behind it are replaced, not changed
	logs   map[did.DID]*logState
	mark   uint64
	rows   uint64             // rows ever numbered
	cov    uint64             // of those, under an audit.rows
	wanted map[did.DID]uint64 // by log, the index where Wanted left off

	branches map[did.DID]Branch // as far as they were asked for
	branched uint64             // how often one was changed
}

var _ attestation.Store = (*Events)(nil)

// logState is what is known of one log without a read.
type logState struct {
	org    did.DID
	num    uint32
	head   attestation.Head
	edge   attlog.Range
	judged uint64
	notes  noteState
	seen   map[did.DID]stair
}

// OpenEvents reads the heads of all logs in db. ErrIndexes where some of their events are in
// no index.
func OpenEvents(ctx context.Context, db DB) (*Events, error) {
	e, err := openEvents(ctx, db)
	if err != nil {
		return nil, err
	}
	held := uint64(0)
	for _, s := range e.logs {
		held += s.head.Size
	}
	err = db.View(ctx, func(r Reader) error {
		n, err := ingested(r)
		if err == nil && n < held {
			err = fmt.Errorf("%w: %d of %d are numbered", ErrIndexes, n, held)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// ErrIndexes says that events are missing in the indexes: they were kept by an older version,
// or the indexes are damaged. Nothing is lost.
var ErrIndexes error = attestation.NewFault("events are missing in the indexes", "unavailable", "corrupt", "trustnode fsck --rebuild makes them anew")

func openEvents(ctx context.Context, db DB) (*Events, error) {
	e := &Events{db: db, logs: map[did.DID]*logState{}, wanted: map[did.DID]uint64{}, branches: map[did.DID]Branch{}}
	err := db.View(ctx, func(r Reader) error {
		if err := e.loadCounts(r); err != nil {
			return err
		}
		var bad error
		err := r.Scan([]byte(keyLogNumber), nil, func(k, v []byte) bool {
			bad = e.loadLog(r, string(k[len(keyLogNumber):]), binary.BigEndian.Uint32(v))
			return bad == nil
		})
		return errors.Join(err, bad)
	})
	if err == nil {
		err = e.finishCuts(ctx)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Events) loadCounts(r Reader) error {
	b, err := getOr(r, []byte(keyRowCount), make([]byte, 16))
	if err != nil {
		return err
	}
	e.rows, e.cov = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])
	if b, err = getOr(r, []byte(keyMark), make([]byte, 8)); err != nil {
		return err
	}
	e.mark = binary.BigEndian.Uint64(b)
	return nil
}

func getOr(g getter, k, or []byte) ([]byte, error) {
	b, err := g.Get(k)
	if errors.Is(err, ErrNotFound) {
		return or, nil
	}
	return b, err
}

func (e *Events) loadLog(r Reader, name string, num uint32) error {
	d, err := did.Parse(name)
	if err != nil {
		return fmt.Errorf("%w: log %d is of %q", ErrCorrupt, num, name)
	}
	s := &logState{org: d, num: num, seen: map[did.DID]stair{}}
	b, err := r.Get(logKey(keyHead, num))
	if err != nil {
		return fmt.Errorf("head of %s: %w", d, err)
	}
	if s.head, s.edge, err = decodeHead(b); err != nil {
		return fmt.Errorf("head of %s: %w", d, err)
	}
	if b, err = getOr(r, logKey(keyLevel, num), make([]byte, 8)); err != nil {
		return err
	}
	s.judged = binary.BigEndian.Uint64(b)
	if err := s.loadNotes(r); err != nil {
		return err
	}
	e.logs[d] = s
	return nil
}

func encodeHead(h attestation.Head, edge []tlog.Hash) []byte {
	sum := h.Root.Sum()
	b := append(u64(h.Size), sum[:]...)
	for i := range edge {
		b = append(b, edge[i][:]...)
	}
	return b
}

func decodeHead(b []byte) (attestation.Head, attlog.Range, error) {
	if len(b) < 40 || (len(b)-40)%tlog.HashSize != 0 {
		return attestation.Head{}, attlog.Range{}, fmt.Errorf("%w: head of %d bytes", ErrCorrupt, len(b))
	}
	h := attestation.Head{Size: binary.BigEndian.Uint64(b), Root: envelope.IDFromSum([32]byte(b[8:40]))}
	var edge []tlog.Hash
	for b = b[40:]; len(b) > 0; b = b[tlog.HashSize:] {
		edge = append(edge, tlog.Hash(b[:tlog.HashSize]))
	}
	r, err := attlog.ParseRange(0, h.Size, edge)
	if err != nil {
		return attestation.Head{}, attlog.Range{}, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	return h, r, nil
}

// state returns what is known of a log; the empty log of a new number when
// nothing is.
func (e *Events) state(d did.DID) (logState, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if s, ok := e.logs[d]; ok {
		return *s, true
	}
	empty, _ := attlog.NewRange(0).Root()
	return logState{
		org: d, num: uint32(len(e.logs)) + 1, edge: attlog.NewRange(0),
		head: attestation.Head{Root: empty}, seen: map[did.DID]stair{},
	}, false
}

// lock keeps others from changing a log until it is released. One that is not held yet
// takes the next number, so all wait for that.
func (e *Events) lock(d did.DID) (release func()) {
	if _, known := e.state(d); !known {
		e.write.Lock()
		return e.write.Unlock
	}
	e.write.RLock()
	free := e.each.Lock(d)
	return func() { free(); e.write.RUnlock() }
}

// Mark implements attestation.Store.
func (e *Events) Mark(context.Context) (uint64, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.mark, nil
}

// Orgs returns the organizations whose logs are held, in no order.
func (e *Events) Orgs() []did.DID {
	e.mu.RLock()
	defer e.mu.RUnlock()
	out := make([]did.DID, 0, len(e.logs))
	for d := range e.logs {
		out = append(out, d)
	}
	return out
}

// Log implements attestation.Store.
func (e *Events) Log(_ context.Context, d did.DID) (attestation.Log, error) {
	s, ok := e.state(d)
	if !ok {
		return nil, fmt.Errorf("log of %s: %w", d, attestation.ErrNotFound)
	}
	return &heldLog{treeReader{e.db, s.num}, s}, nil
}

// Edge returns the compact range [0, size) of a log: all that appending needs.
func (e *Events) Edge(d did.DID) attlog.Range {
	s, _ := e.state(d)
	return s.edge.Clone()
}

// heldLog is a log at one size.
type heldLog struct {
	treeReader
	s logState
}

// Head implements attestation.Log.
func (l *heldLog) Head() (attestation.Head, []byte) { return l.s.head, l.s.notes.newest }

// Find implements attestation.Log.
func (l *heldLog) Find(ctx context.Context, id envelope.ID) (uint64, error) {
	var at uint64
	err := l.db.View(ctx, func(r Reader) (err error) {
		at, err = l.s.find(r, id)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("event %s: %w", id, attestation.ErrNotFound)
	}
	return at, err
}

// Indexes returns where ids stand first in a log, without those that are not in it.
func (e *Events) Indexes(ctx context.Context, d did.DID, ids []envelope.ID) (map[envelope.ID]uint64, error) {
	s, ok := e.state(d)
	if !ok {
		return nil, nil
	}
	out := map[envelope.ID]uint64{}
	err := e.db.View(ctx, func(r Reader) error {
		for _, id := range ids {
			at, err := s.find(r, id)
			if err == nil {
				out[id] = at
			} else if !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		return nil
	})
	return out, err
}

// find returns the first index of an event's id, or ErrNotFound.
func (s *logState) find(r Reader, id envelope.ID) (uint64, error) {
	b, err := r.Get(idKey(id, s.num))
	if err != nil {
		return 0, err
	}
	at := binary.BigEndian.Uint64(b)
	en, err := r.Get(indexKey(keyEntry, s.num, at))
	if err != nil {
		return 0, err
	}
	if at >= s.head.Size || attestation.Entry(en).ID() != id {
		return 0, ErrNotFound
	}
	return at, nil
}

// Entries implements attestation.Log.
func (l *heldLog) Entries(ctx context.Context, from, to uint64, yield func(uint64, attestation.Entry) error) error {
	if to > l.s.head.Size || from > to {
		return &attestation.Beyond{Size: l.s.head.Size}
	}
	for from < to {
		n := min(to, from+attestation.MaxBatch)
		part, err := l.read(ctx, from, n)
		if err != nil {
			return err
		}
		for i, en := range part {
			if err := yield(from+uint64(i), en); err != nil {
				return err
			}
		}
		from = n
	}
	return nil
}

// scanFrom is how many entries are read by one scan rather than each by its key: from there
// on the iterator costs less than the look-ups.
const scanFrom = 16

func (l *heldLog) read(ctx context.Context, from, to uint64) ([]attestation.Entry, error) {
	out := make([]attestation.Entry, 0, to-from)
	err := l.db.View(ctx, func(r Reader) error {
		if to-from >= scanFrom {
			return l.scan(r, from, to, &out)
		}
		for i := from; i < to; i++ {
			b, err := r.Get(indexKey(keyEntry, l.num, i))
			if err != nil {
				return fmt.Errorf("%w: entry %d: %v", ErrCorrupt, i, err)
			}
			out = append(out, b)
		}
		return nil
	})
	return out, err
}

func (l *heldLog) scan(r Reader, from, to uint64, out *[]attestation.Entry) error {
	next := from
	err := r.Scan(logKey(keyEntry, l.num), beforeKey(keyEntry, l.num, from), func(k, v []byte) bool {
		if be64(k[len(k)-8:]) != next {
			return false
		}
		*out = append(*out, bytes.Clone(v))
		next++
		return next < to
	})
	if err == nil && next < to {
		err = fmt.Errorf("%w: entry %d is not held", ErrCorrupt, next)
	}
	return err
}
