package pins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// File keeps pins in one append-only file. It is safe for concurrent use; concurrent Puts share one write and one fsync.
type File struct {
	path string
	now  func() time.Time

	mu     sync.Mutex
	heads  map[place]pin    // what is durable; guarded by mu
	staged map[place]staged // what waits for the disk; guarded by mu
	open   *batch           // takes the next lines; guarded by mu
	closed bool             // guarded by mu

	disk chan struct{} // holding its one token is the right to write; guards the fields below
	f    *os.File
	size int64  // bytes of f that are durable lines
	rows uint64 // how many lines those are
	at   int64  // size at which the file is rewritten
	torn bool   // a write failed: what lies after size, or f itself, is not to be relied on

	testingOnlySync func(*os.File) error // replaces fsync of the file
}

var _ Pins = (*File)(nil)

// batch is the lines that become durable together.
type batch struct {
	pins []pin
	done chan struct{} // closed after err is set
	err  error
}

// staged is the newest pin of a place that is not durable yet, and the batch it waits in.
type staged struct {
	pin
	in *batch
}

// Open opens or creates the pins file at path, whose directory must exist. now gives the time written beside each pin,
// which nothing relies on. A torn last line is dropped; any other line that is not as it was written is a *CorruptError. The
// caller must see to it that only one File has the path open.
func Open(path string, now func() time.Time) (*File, error) {
	if err := os.Remove(tempOf(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("pins: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("pins: %w", err)
	}
	heads, size, rows, err := load(f)
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &File{
		path: path, now: now, f: f, heads: heads, staged: make(map[place]staged),
		disk: make(chan struct{}, 1), size: size, rows: rows, at: rewriteAt(0),
		testingOnlySync: (*os.File).Sync,
	}, nil
}

// load reads the lines of f and cuts off a torn one, so that the next line does not grow onto it.
func load(f *os.File) (map[place]pin, int64, uint64, error) {
	heads, rows, good, size, err := parse(f)
	if err != nil {
		return nil, 0, 0, err
	}
	if good < size {
		if err := f.Truncate(good); err != nil {
			return nil, 0, 0, fmt.Errorf("pins: %w", err)
		}
	}
	// What was read may be in the page cache only, left there by a process that died before its fsync.
	if err := f.Sync(); err != nil {
		return nil, 0, 0, fmt.Errorf("pins: %w", err)
	}
	return heads, good, rows, nil
}

// parse reads a pins file: the newest pin of each place, how many lines there are, how many of its size bytes those take.
func parse(r io.Reader) (heads map[place]pin, rows uint64, good, size int64, err error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, 0, 0, 0, fmt.Errorf("pins: %w", err)
	}
	if len(b) > MaxFile {
		return nil, 0, 0, 0, fmt.Errorf("%w: more than %d bytes", ErrCorrupt, MaxFile)
	}
	lines, n, err := parseFile(b)
	if err == nil {
		heads, err = fold(lines)
	}
	return heads, uint64(len(lines)), int64(n), int64(len(b)), err
}

// Put implements Pins. ctx is looked at once, at the start: what is written cannot be taken back.
func (f *File) Put(ctx context.Context, s Slot, value string) error {
	return f.put(ctx, s, value, false)
}

// Move implements Pins. ctx is looked at once, at the start.
func (f *File) Move(ctx context.Context, s Slot, value, decidedBy string) error {
	if err := checkMove(s.Kind, decidedBy); err != nil {
		return err
	}
	return f.put(ctx, s, value, true)
}

// Highest implements Pins.
func (f *File) Highest(k Kind, key string) (Slot, string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.heads[place{k, key}]
	return p.slot, p.value, ok
}

// Line implements Pins.
func (f *File) Line(k Kind, key string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.heads[place{k, key}].line
}

// Close waits for Puts under way and closes the file. Later Puts return ErrClosed; Highest goes on answering.
func (f *File) Close() error {
	f.mu.Lock()
	was := f.closed
	f.closed = true
	f.mu.Unlock()
	if was {
		return nil
	}
	f.flush(nil)
	f.disk <- struct{}{}
	defer func() { <-f.disk }()
	if err := f.f.Close(); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	return nil
}

func (f *File) put(ctx context.Context, s Slot, value string, move bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := pin{slot: s, value: value, at: f.now().UTC().Truncate(time.Second)}
	if err := p.check(); err != nil {
		return err
	}
	b, err := f.stage(p, move)
	if err != nil || b == nil {
		return err
	}
	f.flush(b)
	<-b.done
	return b.err
}

// stage puts p into the open batch and returns the batch to wait for; nil if p is durable already. A pin that waits counts
// as taken: of two racing values for one slot the second is refused even if the first never becomes durable.
func (f *File) stage(p pin, move bool) (*batch, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	cur, ok := f.heads[p.place()]
	wait, waits := f.staged[p.place()]
	if waits {
		cur, ok = wait.pin, true
	}
	v, err := judge(cur, ok, p, move)
	if err != nil || v == verdictSame {
		return wait.in, err
	}
	if f.open == nil {
		f.open = &batch{done: make(chan struct{})}
	}
	f.open.pins = append(f.open.pins, p)
	f.staged[p.place()] = staged{p, f.open}
	return f.open, nil
}

// flush makes the open batch durable, unless want was made durable by another while this one waited its turn.
func (f *File) flush(want *batch) {
	f.disk <- struct{}{}
	defer func() { <-f.disk }()
	f.mu.Lock()
	b := f.open
	if b == nil || want != nil && b != want {
		f.mu.Unlock()
		return
	}
	f.open = nil
	f.mu.Unlock()

	b.err = f.write(b.pins)

	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range b.pins {
		if b.err == nil {
			f.heads[p.place()] = p
		}
		if f.staged[p.place()].in == b {
			delete(f.staged, p.place())
		}
	}
	close(b.done)
}
