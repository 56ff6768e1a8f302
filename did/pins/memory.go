package pins

import (
	"context"
	"io"
	"sync"
)

// Memory returns pins that live as long as the process.
func Memory() Pins { return &memory{heads: make(map[place]pin)} }

// Read reads the lines of a pins file into memory and leaves the file as it is, so that it may be one that a node has
// open: bytes after the last line feed are left out. Errors are those of r, *CorruptError, and ErrCorrupt above MaxFile.
func Read(r io.Reader) (Pins, error) {
	heads, _, _, _, err := parse(r)
	if err != nil {
		return nil, err
	}
	return &memory{heads: heads}, nil
}

type memory struct {
	mu    sync.Mutex
	heads map[place]pin // guarded by mu
}

var _ Pins = (*memory)(nil)

func (m *memory) Put(ctx context.Context, s Slot, value string) error {
	return m.put(ctx, pin{slot: s, value: value}, false)
}

func (m *memory) Move(ctx context.Context, s Slot, value, decidedBy string) error {
	if err := checkMove(s.Kind, decidedBy); err != nil {
		return err
	}
	return m.put(ctx, pin{slot: s, value: value}, true)
}

func (m *memory) put(ctx context.Context, p pin, move bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	cur, ok := m.heads[p.place()]
	v, err := judge(cur, ok, p, move)
	if err == nil && v == verdictNew {
		m.heads[p.place()] = p
	}
	return err
}

// Line implements Pins: there is no file.
func (m *memory) Line(Kind, string) uint64 { return 0 }

func (m *memory) Highest(k Kind, key string) (Slot, string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.heads[place{k, key}]
	return p.slot, p.value, ok
}
