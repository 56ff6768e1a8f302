package keys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

const (
	blobSuffix = ".key"
	tempSuffix = ".tmp"
)

// dirBlobs keeps one file for each blob, mode 0600.
type dirBlobs struct {
	dir string
	mu  sync.Mutex // one writer at a time, since a blob's temporary file has one name
}

var _ Blobs = (*dirBlobs)(nil)

// DirBlobs returns the blobs in dir, which must exist: a file ID.key of mode 0600 for each.
func DirBlobs(dir string) Blobs { return &dirBlobs{dir: dir} }

func (d *dirBlobs) path(id string) string { return filepath.Join(d.dir, id+blobSuffix) }

func (d *dirBlobs) Put(id string, b []byte) error {
	if err := checkID(id); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return writeFile(d.path(id), b)
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
	if err := os.Remove(d.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keys: %w", err)
	}
	return syncDir(d.dir)
}

func (d *dirBlobs) List() ([]string, error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), blobSuffix); ok && e.Type().IsRegular() && checkID(id) == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids) // ReadDir sorts with the suffix, which orders "a-b" before "a"
	return ids, nil
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

// writeFile replaces the file at path durably: at each moment the path names the old content or the new one, whole.
func writeFile(path string, b []byte) error {
	temp := path + tempSuffix
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
		return fmt.Errorf("keys: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

func readFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("keys: %s is longer than %d bytes", filepath.Base(path), most)
	}
	return b, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

// sweep removes what a crash left of files being written, so that no copy of a key outlives its deletion.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), tempSuffix) || !e.Type().IsRegular() {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("keys: %w", err)
		}
	}
	return nil
}
