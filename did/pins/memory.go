package pins

import (
	"context"
	"sync"
)

// Memory returns pins that live as long as the process.
func Memory() Pins { return &memory{heads: make(map[place]pin)} }

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
