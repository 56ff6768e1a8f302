package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"

	"trustnode/node/config"
	"trustnode/node/fault"
	"trustnode/node/recorder"
	"trustnode/node/store"
	"trustnode/node/vault"
)

// RestoreOptions are what restoring needs beside the backup.
type RestoreOptions struct {
	Dir      string
	Log      *slog.Logger
	Read     func(done, total uint64) // bytes of the backup read; optional
	Progress func(done, total uint64) // log entries verified; optional
}

// RestoreReport says what was brought back.
type RestoreReport struct {
	Dir        string      `json:"data"`
	Org        string      `json:"org"`
	At         string      `json:"at"` // of the backup
	Version    string      `json:"version"`
	Logs       []vault.Log `json:"logs"`
	Keys       bool        `json:"keys"`        // they came along
	UpdateKeys bool        `json:"update_keys"` // likewise
	Fsck       FsckReport  `json:"fsck"`
}

// ErrDamaged says that a backup holds, byte for byte, a data directory that does not verify.
var ErrDamaged error = fault.New(fault.Refused, "damaged", "what the backup holds does not verify")

// Restore makes a data directory from a backup: the file is verified to its last byte, its
// parts are written beside the directory's place, all of that is verified as Fsck does, and
// only then it gets its name. The node that is started on it is recovering until peers have
// told it its own last numbers. With ErrDamaged the report says what does not verify.
func Restore(ctx context.Context, f io.ReadSeeker, o RestoreOptions) (RestoreReport, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return RestoreReport{}, err
	}
	if err := free(dir); err != nil {
		return RestoreReport{}, err
	}
	h, _, err := vault.Verify(f, o.Read)
	if err != nil {
		return RestoreReport{}, unverified(err)
	}
	r := RestoreReport{Dir: dir, Org: h.Org, At: h.At, Version: h.Version, Logs: h.Logs}
	err = whole(dir, func(tmp string) error {
		b := &bringing{ctx: ctx, dir: tmp, o: o, head: h}
		if err := b.all(f); err != nil {
			return err
		}
		r.Keys, r.UpdateKeys = b.keys, b.update
		r.Fsck, err = b.verify()
		return err
	})
	return r, err
}

// unverified is the refusal of a file that is no backup as it was written.
func unverified(err error) error {
	if !errors.Is(err, vault.ErrAltered) {
		return err
	}
	return fault.Wrap(fault.Refused, "backup", err).WithHint("nothing was restored; take another copy of the file, or an earlier backup")
}

// bringing is a restore under way, into a directory without its final name.
type bringing struct {
	ctx    context.Context
	dir    string
	o      RestoreOptions
	head   vault.Head
	config []byte // put in its place last: a directory without it is no node's
	keys   bool   // parts of keys/ came
	update bool   // parts of update-keys/ did
}

func (b *bringing) all(f io.ReadSeeker) error {
	if _, _, err := vault.Read(f, b.part); err != nil {
		return unverified(err)
	}
	if len(b.config) == 0 {
		return fault.New(fault.Refused, "backup", "the backup holds no %s", config.File)
	}
	if err := writeToken(b.dir); err != nil {
		return err
	}
	if err := b.write(filepath.Join(restoring, config.File), bytes.NewReader(b.config)); err != nil {
		return err
	}
	return b.pointUpdateKeys()
}

// part puts one part in its place.
func (b *bringing) part(name string, r io.Reader) error {
	dir, file := path.Split(name)
	switch {
	case name == partState:
		return b.fill(stateDir, r, func(db store.DB) error {
			return recorder.Restored(b.ctx, db, "restored from a backup of "+b.head.At)
		})
	case name == partAudit:
		return b.fill(auditDir, r, func(store.DB) error { return nil })
	case name == config.File:
		var err error
		b.config, err = io.ReadAll(io.LimitReader(r, maxConfig))
		return err
	case name == pinsFile:
		return b.write(name, r)
	case !fs.ValidPath(name) || file == "":
	case dir == keysDir+"/", isPerson(path.Clean(dir)):
		b.keys = true
		return b.write(name, r)
	case dir == updateDir+"/":
		b.update = true
		return b.write(name, r)
	}
	return fault.New(fault.Refused, "backup", "the backup holds a part %.80q that this version does not know", name)
}

// restoring is where the configuration waits until all is verified.
const restoring = "restoring"

// maxConfig is more than any configuration takes, in bytes.
const maxConfig = 1 << 20

// fill makes a database of a dump.
func (b *bringing) fill(name string, r io.Reader, then func(store.DB) error) (err error) {
	db, err := store.OpenBadger(filepath.Join(b.dir, name), b.o.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := store.Fill(b.ctx, db, r); err != nil {
		return err
	}
	return then(db)
}

// closed closes every file of a directory to all but its owner.
func closed(dir string) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chmod(p, 0o600)
	})
}

// write makes a file, durable, for its owner's eyes only.
func (b *bringing) write(name string, r io.Reader) error {
	to := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Sync(), f.Close(), syncDir(filepath.Dir(to)))
}

// pointUpdateKeys takes away where the update store lay, if it came along.
func (b *bringing) pointUpdateKeys() error {
	if !b.update {
		return nil
	}
	err := os.Remove(filepath.Join(b.dir, updateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// verify looks at what was written as Fsck does.
func (b *bringing) verify() (FsckReport, error) {
	cfg, err := config.Read(filepath.Join(b.dir, restoring))
	if err != nil {
		return FsckReport{}, err
	}
	cfg.Dir = b.dir
	if cfg.Org.String() != b.head.Org {
		return FsckReport{}, fault.New(fault.Refused, "backup", "the backup is of %s, its configuration of %s", b.head.Org, cfg.Org)
	}
	r, err := Fsck(b.ctx, cfg, FsckOptions{Progress: b.o.Progress, Log: b.o.Log})
	if err == nil && !r.OK {
		err = fmt.Errorf("%w: %d faults", ErrDamaged, len(r.Faults))
	}
	if err != nil {
		return r, err
	}
	if err := closed(b.dir); err != nil {
		return r, err
	}
	return r, errors.Join(os.Rename(filepath.Join(b.dir, restoring, config.File), filepath.Join(b.dir, config.File)),
		os.Remove(filepath.Join(b.dir, restoring)), syncDir(b.dir))
}
