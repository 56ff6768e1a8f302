package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"trustnode/node/config"
	"trustnode/node/daemon"
	"trustnode/node/fault"
	"trustnode/node/vault"
)

const backupHelp = `Writes state, logs, audit rows, pins and configuration into one file, which a restore refuses if any
byte of it is altered. The node may run, and goes on meanwhile; what is in the file fits together. It
is compressed and not encrypted: the file holds lent memory, so keep it as you keep DIR. The
operator's token is left out.

Keys are left out too: keep a copy of DIR/keys apart, it changes only when a key is made. --with-keys
puts them in, those of persons as well, each still encrypted under its passphrase: a node is then
back from the one file, and so is whoever has file and passphrase. The keys of the next DID entry
come along only with --with-update-keys: whoever has them and the passphrase can take the identity
over.`

func backupCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "backup", Usage: "write all of the node into one file, while it runs or not", Description: backupHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "o", Usage: "the backup, `FILE`; one that is there is replaced once the new one is whole"},
			&cli.BoolFlag{Name: "with-keys", Usage: "also the keys of the node and of its persons, still encrypted"},
			&cli.BoolFlag{Name: "with-update-keys", Usage: "also the keys of the next DID entry, still encrypted"}},
		Action: func(c *cli.Context) error {
			if err := need(c, "o"); err != nil {
				return err
			}
			cfg, err := configOf(c)
			if err != nil {
				return err
			}
			h, size, err := backup(c, s, cfg)
			if err != nil {
				return err
			}
			out := backupResult{File: c.String("o"), Bytes: size, Head: h, Keys: c.Bool("with-keys"), UpdateKeys: c.Bool("with-update-keys")}
			return s.result(out, func(w writer) {
				fmt.Fprintf(w, "backup      %s, %d KiB, verified\n", out.File, (size+1023)>>10)
				printLogs(w, h.Logs)
				fmt.Fprintf(w, "keys        %s\n", keysIn(out))
				fmt.Fprintf(w, "restore     trustnode restore %s --data NEWDIR\n", out.File)
			})
		}}
}

// backupResult is what backup prints as JSON.
type backupResult struct {
	File       string `json:"file"`
	Bytes      int64  `json:"bytes"`
	Keys       bool   `json:"keys"`
	UpdateKeys bool   `json:"update_keys"`
	vault.Head
}

// keysIn says which keys a backup holds, and where the rest is to be kept.
func keysIn(b backupResult) string {
	switch {
	case b.Keys && b.UpdateKeys:
		return "in the file, encrypted: those of the node and of the next DID entry"
	case b.Keys:
		return "in the file, encrypted; not those of the next DID entry"
	case b.UpdateKeys:
		return "in the file, encrypted: those of the next DID entry alone; keep a copy of DIR/keys apart, a restored node does not start without it"
	}
	return "not in the file: keep a copy of DIR/keys apart, a restored node does not start without it (or: --with-keys)"
}

func printLogs(w writer, logs []vault.Log) {
	for _, l := range logs {
		fmt.Fprintf(w, "log         %s: %s\n", l.Org, count(l.Size, "entry"))
	}
}

// backup writes beside the file, reads it back to its last byte, and gives it its name.
func backup(c *cli.Context, s *streams, cfg config.Config) (h vault.Head, size int64, err error) {
	name := c.String("o")
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".part-") // mode 0600
	if err != nil {
		return h, 0, noFile(named(err, name))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := fetchBackup(c, s, cfg, w); err != nil {
		return h, 0, err
	}
	if err := errors.Join(w.Flush(), f.Sync()); err != nil {
		return h, 0, err
	}
	if h, _, err = vault.Verify(f, nil); err != nil {
		return h, 0, fault.Wrap(fault.Unavailable, "backup", err).WithHint("the node stopped meanwhile, or the disk is full; run the same command again")
	}
	st, err := f.Stat()
	if err != nil {
		return h, 0, err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return h, 0, err
	}
	return h, st.Size(), errors.Join(f.Close(), syncDir(filepath.Dir(name)))
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// fetchBackup has the running node write the backup, or writes it here where none runs; a
// process that starts, stops or is another verb is waited for.
func fetchBackup(c *cli.Context, s *streams, cfg config.Config, w io.Writer) error {
	for deadline := time.Now().Add(startWait); ; {
		h, held := daemon.Held(cfg.Dir)
		switch {
		case !held:
			if err := backupHere(c, s, cfg, w); !errors.Is(err, daemon.ErrLocked) {
				return err
			}
		case h.HTTP != "":
			return download(c, s, cfg, h, w)
		}
		if time.Now().After(deadline) {
			return daemon.Locked(cfg.Dir, h)
		}
		select {
		case <-c.Context.Done():
			return c.Context.Err()
		case <-time.After(lookAgain):
		}
	}
}

// download has the running node h write the backup.
func download(c *cli.Context, s *streams, cfg config.Config, h daemon.Holder, w io.Writer) error {
	k, err := remote(cfg, h)
	if err != nil {
		return err
	}
	tell, done := s.told("KiB")
	defer done()
	return k.api.Download(c.Context, "POST", fmt.Sprintf("/api/v1/backup?keys=%t&update_keys=%t", c.Bool("with-keys"), c.Bool("with-update-keys")), &told{w: w, tell: tell})
}

func backupHere(c *cli.Context, s *streams, cfg config.Config, w io.Writer) error {
	tell, done := s.told("keys")
	defer done()
	o := daemon.BackupOptions{Keys: c.Bool("with-keys"), UpdateKeys: c.Bool("with-update-keys"), Version: version, Log: quiet()}
	if tell != nil {
		o.Progress = func(keys uint64) { tell(keys, 0) }
	}
	return daemon.Backup(c.Context, cfg, w, o)
}

// told counts what is written through it.
type told struct {
	w    io.Writer
	n    uint64
	tell func(done, total uint64)
}

func (t *told) Write(b []byte) (int, error) {
	n, err := t.w.Write(b)
	if t.n += uint64(n); t.tell != nil {
		t.tell(t.n>>10, 0)
	}
	return n, err
}

const restoreHelp = `Verifies FILE to its last byte, writes what it holds into NEWDIR, which must be empty or not there,
and verifies all of that as fsck does before NEWDIR gets its name: it is there whole, or not at all.

A node that runs on it is recovering: it signs nothing and lends nothing until its peers have told
it what it itself said last, and given back what came after the backup. Never run it beside the
original. The operator's token is a new one.

A backup made without --with-keys has no keys: copy those of the original to NEWDIR/keys, with their
passphrase, before the node runs.`

func restoreCommand(s *streams) *cli.Command {
	return &cli.Command{Name: "restore", Usage: "make a data directory from a backup", ArgsUsage: "FILE --data NEWDIR", Description: restoreHelp,
		Action: func(c *cli.Context) error {
			names, err := args(c, "FILE")
			if err != nil {
				return err
			}
			if err := need(c, "data"); err != nil {
				return err
			}
			return restore(c.Context, s, names[0], c.String("data"))
		}}
}

func restore(ctx context.Context, s *streams, name, dir string) error {
	f, err := os.Open(name)
	if err != nil {
		return noFile(err)
	}
	defer f.Close()
	read, readDone := s.told("bytes")
	tell, done := s.told("entries")
	r, err := daemon.Restore(ctx, f, daemon.RestoreOptions{Dir: dir, Log: quiet(), Read: read, Progress: tell})
	readDone()
	done()
	switch {
	case errors.Is(err, daemon.ErrDamaged):
		if err := s.result(r, func(w writer) { printFsck(w, r.Fsck) }); err != nil {
			return err
		}
		return &failedError{exitUnverified, fmt.Sprintf("what %s holds does not verify: %s", name, count(uint64(len(r.Fsck.Faults)), "fault")), "nothing was restored; take an earlier backup"}
	case errors.Is(err, vault.ErrAltered):
		return &failedError{exitUnverified, fmt.Sprintf("%s: %v", name, err), "nothing was restored; take another copy of the file, or an earlier backup"}
	case err != nil:
		return err
	}
	return s.result(r, func(w writer) {
		fmt.Fprintf(w, "restored    %s, as of %s\n", r.Dir, r.At)
		fmt.Fprintf(w, "of          %s\n", r.Org)
		fmt.Fprintf(w, "privacy     what was forgotten, or revoked for a person, after %s is back: repeat it; ended loans come back by the log\n", r.At)
		printLogs(w, r.Logs)
		printFsck(w, r.Fsck)
		if !r.Keys {
			fmt.Fprintf(w, "keys        the backup is without the keys of the node: copy keys/ of the original to %s before it runs\n", filepath.Join(r.Dir, "keys"))
		}
		if !r.UpdateKeys {
			fmt.Fprintf(w, "keys        the backup is without the keys of the next DID entry: put the update store back, or rotate by the recovery key\n")
		}
		if r.Fsck.Charters == 0 {
			fmt.Fprintf(w, "next        trustnode run --data %s --accept-unconfirmed: it is in no federation, so nobody can tell it its last numbers\n", dir)
			return
		}
		fmt.Fprintf(w, "next        trustnode run --data %s; it is recovering until peers have told it its last numbers\n", dir)
	})
}
