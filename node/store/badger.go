package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// OpenBadger opens, or makes, the database in directory dir. Every commit is
// synced before it is acknowledged. Badger's own messages go to log at debug
// level, its errors at error level. A directory that another process has open
// is ErrLocked.
func OpenBadger(dir string, log *slog.Logger) (DB, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	for _, step := range []func(string) error{sweepEmpty, unseal, checkLogs, checkTables} {
		if err := step(dir); err != nil {
			return nil, errors.Join(err, unlock())
		}
	}
	bdb, err := badger.OpenManaged(badgerOptions(dir, log))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: database: %v", dir, err), unlock())
	}
	e := &engineBadger{dir: dir, db: bdb, unlock: unlock, durable: bdb.MaxVersion(), readers: make(map[uint64]int)}
	return newDatabase(e, log), nil
}

// sweepEmpty removes memtable and value log files without a byte. A process that was killed
// between making such a file and growing it leaves one, and Badger then opens the directory
// no more. Nothing was ever written to it.
func sweepEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".mem" && ext != ".vlog" {
			continue
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		if st.Size() > 0 {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func badgerOptions(dir string, log *slog.Logger) badger.Options {
	o := badger.DefaultOptions(dir)
	o.Logger = badgerLog{log}
	o.SyncWrites = true
	o.DetectConflicts = false // one writer: the committer
	o.NumVersionsToKeep = 1
	o.MetricsEnabled = false
	o.MemTableSize = memTableBytes
	o.NumMemtables = 2
	o.ValueThreshold = MaxValueBytes + 1
	o.ValueLogFileSize = valueLogBytes
	o.BlockCacheSize = blockCacheSize
	o.NumCompactors = 2
	// A tile is overwritten by each append: what a log takes at rest is its newest ones.
	o.CompactL0OnClose = true
	o.BaseTableSize, o.TableSizeMultiplier = tableBytes, 1
	o.ChecksumVerificationMode = options.OnBlockRead
	return o
}

// engineBadger runs Badger with timestamps of its own: the committer alone
// advances durable, after the fsync, so snapshots neither wait for a commit
// nor see one that is not durable.
type engineBadger struct {
	dir    string
	db     *badger.DB
	unlock func() error

	mu      sync.Mutex
	durable uint64         // guarded by mu: version of the last durable commit
	readers map[uint64]int // guarded by mu: open snapshots by version
}

func (e *engineBadger) begin() batch {
	e.mu.Lock()
	ts := e.durable
	e.mu.Unlock()
	return &badgerBatch{e: e, ts: ts, txn: e.db.NewTransactionAt(ts, true)}
}

func (e *engineBadger) snapshot() snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.readers[e.durable]++
	return &badgerSnapshot{e: e, ts: e.durable, txn: e.db.NewTransactionAt(e.durable, false)}
}

func (e *engineBadger) close() error {
	err := e.db.Close()
	if err == nil {
		err = seal(e.dir)
	}
	return errors.Join(err, e.unlock())
}

// advance makes a commit visible and lets Badger drop the versions that no
// open snapshot can see.
func (e *engineBadger) advance(ts uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.durable = ts
	oldest := ts
	for r := range e.readers {
		oldest = min(oldest, r)
	}
	e.db.SetDiscardTs(oldest)
}

func (e *engineBadger) leave(ts uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.readers[ts]--; e.readers[ts] == 0 {
		delete(e.readers, ts)
	}
}

type badgerBatch struct {
	e   *engineBadger
	ts  uint64
	txn *badger.Txn
}

func (b *badgerBatch) Get(key []byte) ([]byte, error) { return badgerGet(b.txn, key) }
func (b *badgerBatch) Set(key, val []byte) error      { return b.txn.Set(key, val) }
func (b *badgerBatch) Delete(key []byte) error        { return b.txn.Delete(key) }
func (b *badgerBatch) discard()                       { b.txn.Discard() }

func (b *badgerBatch) commit() error {
	defer b.txn.Discard()
	if err := b.txn.CommitAt(b.ts+1, nil); err != nil {
		return err
	}
	b.e.advance(b.ts + 1)
	return nil
}

type badgerSnapshot struct {
	e   *engineBadger
	ts  uint64
	txn *badger.Txn
}

func (s *badgerSnapshot) Get(key []byte) ([]byte, error) { return badgerGet(s.txn, key) }

func (s *badgerSnapshot) release() {
	s.txn.Discard()
	s.e.leave(s.ts)
}

func (s *badgerSnapshot) Scan(prefix, after []byte, yield func(k, v []byte) bool) error {
	// Values lie beside their keys, so Badger's prefetching goroutines
	// would only cost.
	it := s.txn.NewIterator(badger.IteratorOptions{Prefix: prefix})
	defer it.Close()
	for it.Seek(firstKey(prefix, after)); it.ValidForPrefix(prefix); it.Next() {
		item, more := it.Item(), false
		err := item.Value(func(v []byte) error {
			more = yield(item.Key(), v)
			return nil
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// firstKey is the least key that Scan may yield.
func firstKey(prefix, after []byte) []byte {
	if after == nil || string(after) < string(prefix) {
		return prefix
	}
	return append(append(make([]byte, 0, len(after)+1), after...), 0)
}

func badgerGet(txn *badger.Txn, key []byte) ([]byte, error) {
	if len(key) == 0 {
		return nil, ErrNotFound
	}
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	val, err := item.ValueCopy([]byte{})
	if val == nil {
		val = []byte{}
	}
	return val, err
}

// badgerLog passes Badger's messages to slog.
type badgerLog struct{ log *slog.Logger }

func (l badgerLog) say(level slog.Level, format string, args []any) {
	if ctx := context.Background(); l.log.Enabled(ctx, level) {
		l.log.Log(ctx, level, "badger", "message", strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

func (l badgerLog) Errorf(f string, a ...any)   { l.say(slog.LevelError, f, a) }
func (l badgerLog) Warningf(f string, a ...any) { l.say(slog.LevelDebug, f, a) }
func (l badgerLog) Infof(f string, a ...any)    { l.say(slog.LevelDebug, f, a) }
func (l badgerLog) Debugf(f string, a ...any)   { l.say(slog.LevelDebug, f, a) }
