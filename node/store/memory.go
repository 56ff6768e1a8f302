package store

import (
	"bytes"
	"hash/maphash"
	"log/slog"
	"sync/atomic"
)

// Memory returns a database that lives in memory: the same rules, and gone
// when the process ends. It is for tests and for networks inside one process.
func Memory() DB {
	return newDatabase(&memory{seed: maphash.MakeSeed()}, slog.New(slog.DiscardHandler))
}

// memory is an engine over an immutable treap: a commit swaps the root, so a
// snapshot is one pointer.
type memory struct {
	seed maphash.Seed
	root atomic.Pointer[node]
}

// node is never changed once it can be reached from a root.
type node struct {
	key, val    []byte
	prio        uint64
	left, right *node
}

func (m *memory) begin() batch       { return &memBatch{m: m, root: m.root.Load()} }
func (m *memory) snapshot() snapshot { return memSnapshot{m.root.Load()} }
func (m *memory) close() error       { m.root.Store(nil); return nil }

type memBatch struct {
	m    *memory
	root *node
}

func (b *memBatch) Get(key []byte) ([]byte, error) { return b.root.get(key) }

func (b *memBatch) Set(key, val []byte) error {
	n := &node{key: key, val: val, prio: maphash.Bytes(b.m.seed, key)}
	less, _, more := b.root.split(key)
	b.root = join(join(less, n), more)
	return nil
}

func (b *memBatch) Delete(key []byte) error {
	less, _, more := b.root.split(key)
	b.root = join(less, more)
	return nil
}

func (b *memBatch) commit() error { b.m.root.Store(b.root); return nil }
func (b *memBatch) discard()      {}

type memSnapshot struct{ root *node }

func (s memSnapshot) Get(key []byte) ([]byte, error) { return s.root.get(key) }
func (s memSnapshot) release()                       {}

func (s memSnapshot) Scan(prefix, after []byte, yield func(k, v []byte) bool) error {
	s.root.scan(prefix, after, yield)
	return nil
}

func (n *node) get(key []byte) ([]byte, error) {
	for n != nil {
		switch c := bytes.Compare(key, n.key); {
		case c < 0:
			n = n.left
		case c > 0:
			n = n.right
		default:
			return append([]byte{}, n.val...), nil
		}
	}
	return nil, ErrNotFound
}

// scan reports false when yield ended it.
func (n *node) scan(prefix, after []byte, yield func(k, v []byte) bool) bool {
	if n == nil {
		return true
	}
	above := after == nil || bytes.Compare(n.key, after) > 0
	if above && bytes.Compare(n.key, prefix) >= 0 && !n.left.scan(prefix, after, yield) {
		return false
	}
	has := bytes.HasPrefix(n.key, prefix)
	if above && has && !yield(n.key, n.val) {
		return false
	}
	if !has && bytes.Compare(n.key, prefix) > 0 {
		return true
	}
	return n.right.scan(prefix, after, yield)
}

// split returns copies along one path: keys below key, the node of key itself
// or nil, keys above.
func (n *node) split(key []byte) (less, same, more *node) {
	if n == nil {
		return nil, nil, nil
	}
	cp := *n
	switch c := bytes.Compare(key, n.key); {
	case c < 0:
		less, same, cp.left = n.left.split(key)
		return less, same, &cp
	case c > 0:
		cp.right, same, more = n.right.split(key)
		return &cp, same, more
	}
	return n.left, n, n.right
}

// join unites two treaps, every key of a being below every key of b.
func join(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.prio > b.prio:
		cp := *a
		cp.right = join(a.right, b)
		return &cp
	}
	cp := *b
	cp.left = join(a, b.left)
	return &cp
}
