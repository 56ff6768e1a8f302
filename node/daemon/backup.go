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
	"strings"
	"time"

	"trustnode/node/config"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
	"trustnode/node/recorder"
	"trustnode/node/store"
	"trustnode/node/vault"
)

// The parts of a backup beside files, which are named by their paths in the directory.
const (
	partState = "db/state"
	partAudit = "db/audit"
)

// flushWait is how long a backup waits for what was decided to reach the log. What does not
// is in the backup all the same, in the outbox.
const flushWait = 5 * time.Second

// BackupOptions say what goes into a backup.
type BackupOptions struct {
	Keys       bool // also DIR/keys, sealed as it is
	UpdateKeys bool // also the store of the keys of the next DID entry, likewise
	Version    string
	Log        *slog.Logger
	Progress   func(keys uint64) // database keys written; optional
}

// snapshot is where a backup reads: a directory and its two databases.
type snapshot struct {
	cfg          config.Config
	state, audit store.DB
	hold         func() (release func()) // keeps log, outbox and pins together for a moment
	o            BackupOptions
}

// Backup writes a backup of a running node to w; nothing of it waits but the log, for the
// moment in which both snapshots are taken.
func (n *Node) Backup(ctx context.Context, w io.Writer, o BackupOptions) error {
	flush, cancel := context.WithTimeout(ctx, flushWait)
	err := n.self.Rec.Flush(flush)
	cancel()
	if err != nil && !errors.Is(err, recorder.ErrRecovering) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	o.Version = n.version
	return snapshot{n.cfg, n.state, n.audit, n.self.Rec.Hold, o}.write(ctx, w)
}

func (n *Node) backup(ctx context.Context, w io.Writer, with httpapi.BackupWith) error {
	return n.Backup(ctx, w, BackupOptions{Keys: with.Keys, UpdateKeys: with.UpdateKeys})
}

// Backup writes a backup of a directory that no process has open. It needs no passphrase:
// keys stay sealed. ErrLocked: a process has the directory open.
func Backup(ctx context.Context, cfg config.Config, w io.Writer, o BackupOptions) error {
	l, err := acquire(ctx, cfg.Dir, 0)
	if err != nil {
		return err
	}
	s := snapshot{cfg: cfg, hold: func() func() { return func() {} }, o: o}
	err = s.opened(func() error { return s.write(ctx, w) })
	return errors.Join(err, l.release())
}

// opened runs f with both databases open.
func (s *snapshot) opened(f func() error) (err error) {
	for name, db := range map[string]*store.DB{stateDir: &s.state, auditDir: &s.audit} {
		if *db, err = store.OpenBadger(filepath.Join(s.cfg.Dir, name), s.o.Log); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		defer func() { err = errors.Join(err, (*db).Close()) }()
	}
	return f()
}

// write takes pins, audit and state in that order while log and outbox stand still. So
// pins name no head that the audit snapshot lacks, and state is the newer of the two: of
// every decision it holds, the event is in the log or waits in the outbox. State first
// would lose the decisions between the two, whose events the log has.
func (s snapshot) write(ctx context.Context, w io.Writer) error {
	release := s.hold()
	defer release()
	pins, err := s.pins()
	if err != nil {
		return err
	}
	return s.audit.View(ctx, func(a store.Reader) error {
		return s.state.View(ctx, func(st store.Reader) error {
			release()
			return s.stream(ctx, w, pins, a, st)
		})
	})
}

// pins returns the whole lines of the pins file: one that is being written belongs to what
// comes after the backup.
func (s snapshot) pins() ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(s.cfg.Dir, pinsFile))
	return b[:bytes.LastIndexByte(b, '\n')+1], err
}

func (s snapshot) stream(ctx context.Context, w io.Writer, pins []byte, a, st store.Reader) error {
	h := vault.Head{At: time.Now().UTC().Format(time.RFC3339), Org: s.cfg.Org.String(), Version: s.o.Version}
	var err error
	if h.Mark, err = store.Sizes(a, func(org string, size uint64) { h.Logs = append(h.Logs, vault.Log{Org: org, Size: size}) }); err != nil {
		return err
	}
	v, err := vault.NewWriter(w, h)
	if err != nil {
		return err
	}
	for _, p := range []struct {
		name string
		from store.Reader
	}{{partAudit, a}, {partState, st}} {
		if err := v.Part(p.name, func(w io.Writer) error { return store.Dump(ctx, p.from, w, s.o.Progress) }); err != nil {
			return err
		}
	}
	if err := v.Part(pinsFile, func(w io.Writer) error { _, err := w.Write(pins); return err }); err != nil {
		return err
	}
	// Keys come after state: a key is made before anything names it.
	for _, f := range []func(*vault.Writer) error{s.keys, s.updateKeys} {
		if err := f(v); err != nil {
			return err
		}
	}
	if err := s.file(v, config.File); err != nil {
		return err
	}
	return v.Close()
}

func (s snapshot) file(v *vault.Writer, name string) error {
	return copyPart(v, name, filepath.Join(s.cfg.Dir, filepath.FromSlash(name)))
}

func copyPart(v *vault.Writer, name, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return v.Part(name, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}

// keys adds the key store where asked for, with those of persons beneath it, each sealed
// under its own passphrase.
func (s snapshot) keys(v *vault.Writer) error {
	if !s.o.Keys {
		return nil
	}
	if err := copyDir(v, keysDir, filepath.Join(s.cfg.Dir, keysDir)); err != nil {
		return err
	}
	people, err := os.ReadDir(filepath.Join(s.cfg.Dir, keysDir, peopleDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, p := range people {
		if name := path.Join(keysDir, peopleDir, p.Name()); p.IsDir() && isPerson(name) {
			err = errors.Join(err, copyDir(v, name, filepath.Join(s.cfg.Dir, filepath.FromSlash(name))))
		}
	}
	return err
}

// isPerson reports whether a name inside the data directory is that of a person's store.
func isPerson(dir string) bool {
	above, name := path.Split(dir)
	return above == keysDir+"/"+peopleDir+"/" && handle.MatchString(name)
}

// updateKeys adds the update store where asked for, wherever it lies.
func (s snapshot) updateKeys(v *vault.Writer) error {
	if !s.o.UpdateKeys {
		return nil
	}
	place := filepath.Join(s.cfg.Dir, updateDir)
	b, err := os.ReadFile(filepath.Join(s.cfg.Dir, updateFile))
	if err == nil {
		place = strings.TrimSpace(string(b))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := copyDir(v, updateDir, place); errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(fault.NotFound, "update_keys", err).WithHint("bring the medium with the update keys, or leave out --with-update-keys")
	} else if err != nil {
		return err
	}
	return nil
}

// copyDir adds the files of one directory.
func copyDir(v *vault.Writer, name, from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		if err := copyPart(v, path.Join(name, e.Name()), filepath.Join(from, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
