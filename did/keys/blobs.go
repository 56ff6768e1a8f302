package keys

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Blobs stores byte strings by id: the shape of aries' kms.Store, and a way to list. Implementations are safe for concurrent
// use. Ids are 1 to 64 characters of A-Z a-z 0-9 - _; any other is ErrBlobID.
type Blobs interface {
	// Put stores b, in place of what the id held before. It is durable on return, and never half stored.
	Put(id string, b []byte) error
	// Get returns what Put stored, or an error that wraps ErrNoBlob.
	Get(id string) ([]byte, error)
	// Delete removes what the id holds, durably on return. An id that holds nothing is no error.
	Delete(id string) error
	// List returns the ids in ascending order.
	List() ([]string, error)
}

func checkID(id string) error {
	if id == "" || len(id) > maxBlobID {
		return ErrBlobID
	}
	for _, c := range []byte(id) {
		if !('A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return ErrBlobID
		}
	}
	return nil
}

const blobSuffix = ".key"

// dirBlobs keeps one file for each blob, mode 0600: its id and the suffix.
type dirBlobs struct {
	disk        disk
	dir, suffix string
	mu          sync.Mutex // one writer at a time, since a blob's temporary file has one name
}

var _ Blobs = (*dirBlobs)(nil)

// DirBlobs returns the blobs in dir, which must exist: a file ID.key of mode 0600 for each.
func DirBlobs(dir string) Blobs { return &dirBlobs{dir: dir, suffix: blobSuffix} }

func (d *dirBlobs) path(id string) string { return filepath.Join(d.dir, id+d.suffix) }

func (d *dirBlobs) Put(id string, b []byte) error {
	if err := checkID(id); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.disk.replace(d.path(id), b)
}

func (d *dirBlobs) Get(id string) ([]byte, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	b, err := readFile(d.path(id), maxBlob)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNoBlob, id)
	}
	return b, err
}

func (d *dirBlobs) Delete(id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.disk.remove(d.path(id)); err != nil {
		return err
	}
	return d.disk.syncDir(d.dir)
}

func (d *dirBlobs) List() ([]string, error) {
	id := func(name string) string { return strings.TrimSuffix(name, d.suffix) }
	ids, err := filesIn(d.dir, func(name string) bool { return strings.HasSuffix(name, d.suffix) && checkID(id(name)) == nil })
	for i, name := range ids {
		ids[i] = id(name)
	}
	slices.Sort(ids) // by name they are sorted with the suffix, which orders "a-b" before "a"
	return ids, err
}

// memBlobs is the twin in memory.
type memBlobs struct {
	mu    sync.Mutex
	blobs map[string][]byte // guarded by mu
}

var _ Blobs = (*memBlobs)(nil)

// MemoryBlobs returns blobs that live as long as the process.
func MemoryBlobs() Blobs { return &memBlobs{blobs: make(map[string][]byte)} }

func (m *memBlobs) Put(id string, b []byte) error {
	if err := checkID(id); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blobs[id] = slices.Clone(b)
	return nil
}

func (m *memBlobs) Get(id string) ([]byte, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blobs[id]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNoBlob, id)
	}
	return slices.Clone(b), nil
}

func (m *memBlobs) Delete(id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.blobs, id)
	return nil
}

func (m *memBlobs) List() ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for id := range m.blobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}
