package pins

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func tempOf(path string) string { return path + ".tmp" }

// rewriteAt returns the size at which a file is rewritten whose last rewrite left size bytes: RewriteAt, or twice the
// size where the newest lines alone come near it, so that a full file is not rewritten for each line.
func rewriteAt(size int64) int64 { return max(RewriteAt, 2*size) }

// write makes lines durable. The caller holds disk.
func (f *File) write(lines []pin) error {
	if f.torn || f.size >= f.at {
		if err := f.rewrite(); err != nil {
			return err
		}
	}
	var b []byte
	for i := range lines {
		lines[i].line = f.rows + uint64(i) + 1
		b = lines[i].appendTo(b)
	}
	// After a failed write or fsync nobody knows what the disk holds, and a second fsync may report success for
	// bytes that were dropped. The next write therefore starts with a new file made from what is known.
	f.torn = true
	if _, err := f.f.WriteAt(b, f.size); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	if err := f.testingOnlySync(f.f); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	f.torn = false
	f.size += int64(len(b))
	f.rows += uint64(len(lines))
	return nil
}

// rewrite replaces the file by one with the newest line of each kind and key. At every moment the path names a whole
// file: the old one until the rename, the new one after it. The caller holds disk.
func (f *File) rewrite() error {
	lines := f.newest()
	var b []byte
	for _, p := range lines {
		b = p.appendTo(b)
	}
	next, err := os.OpenFile(tempOf(f.path), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	if err := f.replace(next, b); err != nil {
		next.Close()
		os.Remove(tempOf(f.path))
		return err
	}
	f.f.Close()
	f.f, f.size, f.rows, f.at, f.torn = next, int64(len(b)), uint64(len(lines)), rewriteAt(int64(len(b))), false
	f.renumber(lines)
	return nil
}

func (f *File) replace(next *os.File, b []byte) error {
	if _, err := next.Write(b); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	if err := f.testingOnlySync(next); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	// From here on a write must go to the new file, or start over: torn stays set until the directory is durable.
	f.torn = true
	if err := os.Rename(tempOf(f.path), f.path); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	return syncDir(filepath.Dir(f.path))
}

// newest returns the newest pin of each kind and key, by kind and key.
func (f *File) newest() []pin {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines := make([]pin, 0, len(f.heads))
	for _, p := range f.heads {
		lines = append(lines, p)
	}
	slices.SortFunc(lines, func(a, b pin) int {
		if a.slot.Kind != b.slot.Kind {
			return int(a.slot.Kind) - int(b.slot.Kind)
		}
		return strings.Compare(a.slot.Key, b.slot.Key)
	})
	return lines
}

// renumber notes where the pins stand in the file that was just rewritten. The caller holds disk, so heads has not
// changed since they were taken from it.
func (f *File) renumber(lines []pin) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range lines {
		p.line = uint64(i) + 1
		f.heads[p.place()] = p
	}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("pins: %w", err)
	}
	return nil
}
