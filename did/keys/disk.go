package keys

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const tempSuffix = ".tmp"

// disk does the file operations that change a store, each of which may be the last one before a crash.
type disk struct {
	// testingOnlyStep is called before each operation; its error is that of the operation.
	testingOnlyStep func(op, path string) error
}

func (d disk) step(op, path string) error {
	if d.testingOnlyStep == nil {
		return nil
	}
	return d.testingOnlyStep(op, path)
}

// do runs one operation, and says where its error comes from.
func (d disk) do(op, path string, f func() error) error {
	err := d.step(op, path)
	if err == nil {
		err = f()
	}
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

// replace gives the file at path new content, durably: at each moment the path names the old content or the new one, whole.
func (d disk) replace(path string, b []byte) error {
	temp := path + tempSuffix
	err := d.write(temp, b)
	if err == nil {
		err = d.rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
		return err
	}
	return d.syncDir(filepath.Dir(path))
}

// write makes a file of mode 0600 and fsyncs it; its name is not durable yet.
func (d disk) write(path string, b []byte) (err error) {
	var f *os.File
	err = d.do("create", path, func() (err error) {
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	err = d.do("write", path, func() error { _, err := f.Write(b); return err })
	if err != nil {
		return err
	}
	return d.do("sync", path, f.Sync)
}

func (d disk) rename(from, to string) error {
	return d.do("rename", from, func() error { return os.Rename(from, to) })
}

// remove unlinks a file; one that is not there is no error.
func (d disk) remove(path string) error {
	return d.do("remove", path, func() error {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// syncDir makes durable what was created, renamed and removed in dir.
func (d disk) syncDir(dir string) error {
	return d.do("syncdir", dir, func() error {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// makeDir makes dir and what is missing above it, mode 0700, durably.
func (d disk) makeDir(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	var made []string // directories that get a new name in them
	for p := dir; ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) || p == filepath.Dir(p) {
			break
		}
		made = append(made, filepath.Dir(p))
	}
	if err := d.do("mkdir", dir, func() error { return os.MkdirAll(dir, 0o700) }); err != nil {
		return err
	}
	for _, p := range made {
		if err := d.syncDir(p); err != nil {
			return err
		}
	}
	return nil
}

// private takes a directory from everybody else. A medium without modes (FAT) refuses; there the files are as private as
// the medium.
func private(dir string) { _ = os.Chmod(dir, 0o700) }

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

// sweep removes what a crash left of files being written, so that no copy of a key outlives its deletion. On a medium that is
// shared with other files only those of a store are touched.
func (d disk) sweep(dir string) error {
	left, err := filesIn(dir, func(name string) bool {
		name, temp := strings.CutSuffix(name, tempSuffix)
		id, key := strings.CutSuffix(name, blobSuffix)
		return temp && (name == lockName || key && checkID(id) == nil || isStaged(name))
	})
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := d.remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// filesIn lists the regular files in dir with the names that are wanted.
func filesIn(dir string, want func(name string) bool) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	var names []string
	for _, e := range entries {
		if want(e.Name()) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
