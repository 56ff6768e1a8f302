package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"trustnode/attestation/audit"
	"trustnode/did"
	"trustnode/did/pins"
	"trustnode/node/config"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
	"trustnode/node/store"
	"trustnode/node/vault"
)

// backup has a running seat write a backup into a file.
func (s *seat) backup() (name string) {
	s.t.Helper()
	name = filepath.Join(s.t.TempDir(), "backup")
	f, err := os.Create(name)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := errors.Join(s.api.Download(s.t.Context(), http.MethodPost, "/api/v1/backup?keys=true&update_keys=true", f), f.Close()); err != nil {
		s.t.Fatal(err)
	}
	return name
}

// restored puts a backup in the place of a stopped seat's directory.
func (s *seat) restored(name string) RestoreReport {
	s.t.Helper()
	if err := os.RemoveAll(s.cfg.Dir); err != nil {
		s.t.Fatal(err)
	}
	r, err := restoreFile(s.t.Context(), name, s.cfg.Dir)
	if err != nil {
		s.t.Fatalf("%v: %+v", err, r.Fsck.Faults)
	}
	if s.cfg, err = config.Read(s.cfg.Dir); err != nil {
		s.t.Fatal(err)
	}
	return r
}

func restoreFile(ctx context.Context, name, dir string) (RestoreReport, error) {
	f, err := os.Open(name)
	if err != nil {
		return RestoreReport{}, err
	}
	defer f.Close()
	return Restore(ctx, f, RestoreOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)})
}

// fsck verifies all of a stopped seat, every event judged anew.
func (s *seat) fsck() FsckReport {
	s.t.Helper()
	r, err := Fsck(s.t.Context(), s.cfg, FsckOptions{Rebuild: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// TestABackupTakenWhileWritesGoOnComesBack: backups of a lender under load, the last of
// which is restored after more was decided and published. What comes back verifies, signs
// nothing before its peers answer, and then goes on as one log that counts everywhere.
func TestABackupTakenWhileWritesGoOnComesBack(t *testing.T) {
	x := newTrio(t)
	x.remember("it prefers mail")
	loan := x.lend(1000)
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for ctx.Err() == nil {
				_, _ = x.read(loan.ID)
			}
		})
	}
	writers.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			_ = x.acme.call(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: fmt.Sprint("many-", i), Can: []string{"lend"}, Project: "shelf"}, nil)
		}
	})
	var name string
	for range 3 {
		time.Sleep(300 * time.Millisecond)
		name = x.acme.backup()
		dir := filepath.Join(t.TempDir(), "copy")
		if r, err := restoreFile(t.Context(), name, dir); err != nil || r.Fsck.Entries == 0 || r.Fsck.Rows == 0 {
			t.Fatalf("%v: %+v", err, r)
		}
	}
	stop()
	writers.Wait()
	x.acme.rotate() // what the backup knows nothing of
	acme := x.acme.cfg.Org
	head := x.acme.state(acme).ID
	soon(t, "the rotation at the vendor", func() bool { return x.vendor.state(acme).ID == head })
	own, err := x.acme.node.self.Rec.Head(t.Context(), acme)
	if err != nil {
		t.Fatal(err)
	}
	soon(t, "all of the log at the vendor", func() bool {
		h, err := x.vendor.node.self.Rec.Head(t.Context(), acme)
		return err == nil && h.Size >= own.Size
	})
	x.acme.stop()
	token, err := os.ReadFile(filepath.Join(x.acme.cfg.Dir, TokenFile))
	if err != nil {
		t.Fatal(err)
	}
	r := x.acme.restored(name)
	for _, l := range r.Logs {
		if l.Org == acme.String() && l.Size >= own.Size {
			t.Fatalf("the backup holds %d entries of %d: nothing is to be learned", l.Size, own.Size)
		}
	}
	if fresh, err := os.ReadFile(filepath.Join(x.acme.cfg.Dir, TokenFile)); err != nil || bytes.Equal(fresh, token) {
		t.Errorf("the token is the old one (%v)", err)
	}
	x.vendor.stop()
	x.arbiter.stop()
	x.acme.start()
	var st httpapi.Status
	x.acme.must(http.MethodGet, "/api/v1/status", nil, &st)
	if st.State != "recovering" {
		t.Errorf("alone it is %s: %v", st.State, st.Reasons)
	}
	before, _ := x.acme.node.self.Rec.Head(t.Context(), acme)
	time.Sleep(time.Second)
	if after, _ := x.acme.node.self.Rec.Head(t.Context(), acme); after.Size != before.Size {
		t.Errorf("alone it appended: %d entries, then %d", before.Size, after.Size)
	}
	x.vendor.start()
	x.arbiter.start()
	x.acme.waitFresh()
	again, err := x.acme.node.self.Rec.Head(t.Context(), acme)
	if err != nil || again.Size < own.Size {
		t.Errorf("it holds %d entries, published were %d (%v)", again.Size, own.Size, err)
	}
	// The key of the newest entry was made after the backup: the node knows, and takes another.
	for _, s := range []*seat{x.vendor, x.arbiter} {
		if bad, _ := s.node.events.Evidence(t.Context(), acme); len(bad) > 0 {
			t.Errorf("%s has seen two logs of acme", s.cfg.Name)
		}
	}
	x.acme.stop()
	if r := x.acme.fsck(); !r.OK {
		t.Errorf("after it went on: %+v", r.Faults)
	}
}

// between does something before the second of two snapshots is taken.
type between struct {
	store.DB
	views *int
	do    func()
}

func (b between) View(ctx context.Context, f func(store.Reader) error) error {
	if *b.views++; *b.views == 2 {
		b.do()
	}
	return b.DB.View(ctx, f)
}

// TestTheTwoSnapshotsOfABackupFit: while the second one waits, rows are decided and the log
// would have taken them and dropped them from the outbox. All of them are in the backup:
// decided, and waiting.
func TestTheTwoSnapshotsOfABackupFit(t *testing.T) {
	s := newSeat(t, "acme")
	s.start()
	n := s.node
	const rows = 1500 // more than the log leaves in the outbox once it took them
	decide := func() {
		for i := range rows {
			err := n.state.Update(t.Context(), func(tx store.Tx) error {
				_, err := n.self.Rec.Row(tx, audit.Row{Kind: "look", Body: fmt.Appendf(nil, `{"n":%d,"op":"look","salt":"s"}`, i)})
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		time.Sleep(2500 * time.Millisecond)
	}
	var w bytes.Buffer
	views := 0
	snap := snapshot{n.cfg, between{n.state, &views, decide}, between{n.audit, &views, decide}, n.self.Rec.Hold, BackupOptions{}}
	if err := snap.write(t.Context(), &w); err != nil {
		t.Fatal(err)
	}
	r, err := Restore(t.Context(), bytes.NewReader(w.Bytes()), RestoreOptions{Dir: filepath.Join(t.TempDir(), "new"), Log: slog.New(slog.DiscardHandler)})
	if err != nil || r.Fsck.Waiting < rows {
		t.Errorf("%v: %d of %d rows wait: %+v", err, r.Fsck.Waiting, rows, r.Fsck.Faults)
	}
}

// TestARestoredNodeGoesOn: without a rotation in between, a restored lender lends, reads
// and rotates again.
func TestARestoredNodeGoesOn(t *testing.T) {
	x := newTrio(t)
	name := x.acme.backup()
	x.remember("it prefers mail")
	loan := x.lend(2)
	if _, err := x.read(loan.ID); err != nil {
		t.Fatal(err)
	}
	acme := x.acme.cfg.Org
	own, err := x.acme.node.self.Rec.Head(t.Context(), acme)
	if err != nil {
		t.Fatal(err)
	}
	soon(t, "all of the log at the vendor", func() bool {
		h, err := x.vendor.node.self.Rec.Head(t.Context(), acme)
		return err == nil && h.Size >= own.Size
	})
	x.acme.stop()
	x.acme.restored(name)
	x.acme.start()
	x.acme.waitFresh()
	x.goesOn()
	x.acme.stop()
	if r := x.acme.fsck(); !r.OK {
		t.Errorf("after it went on: %+v", r.Faults)
	}
}

// offlineBackup is a backup of a node that does not run and holds a few entries and rows.
func offlineBackup(t *testing.T) (s *seat, b []byte) {
	t.Helper()
	s = newSeat(t, "acme")
	s.offline("/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}, Project: "portfolio"}, nil)
	s.offline("/api/v1/memory", httpapi.MemoryAdd{Agent: "research", Statement: "it prefers mail", Tags: []string{"client:acme"}}, nil)
	var w bytes.Buffer
	if err := Backup(t.Context(), s.cfg, &w, BackupOptions{Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	return s, w.Bytes()
}

// TestWhatABackupHolds: no token and, unless asked for, no keys; what it was made of
// verifies, and no directory that holds anything is written to.
func TestWhatABackupHolds(t *testing.T) {
	s, b := offlineBackup(t)
	_, parts, err := vault.Verify(bytes.NewReader(b), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if strings.HasPrefix(p.Name, updateDir) || strings.HasPrefix(p.Name, keysDir) || p.Name == TokenFile {
			t.Errorf("part %s", p.Name)
		}
	}
	if _, err := Restore(t.Context(), bytes.NewReader(b), RestoreOptions{Dir: s.cfg.Dir, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a directory that holds a node is written to")
	}
	if r := s.fsck(); !r.OK || r.Entries == 0 || r.Objects == 0 {
		t.Errorf("%+v", r)
	}
	dir := filepath.Join(t.TempDir(), "new")
	if r, err := Restore(t.Context(), bytes.NewReader(b), RestoreOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)}); err != nil || r.Keys || r.UpdateKeys {
		t.Fatalf("%v: %+v", err, r)
	}
	err = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil && st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", p, st.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestKeysComeBackWhereAskedFor: a backup with keys brings back the stores of the node and of
// its persons byte for byte; one with update keys alone brings those alone.
func TestKeysComeBackWhereAskedFor(t *testing.T) {
	s, _ := offlineBackup(t)
	person, err := PersonDir(s.cfg.Dir, "ada")
	if err == nil {
		_, err = HolderKey(t.Context(), person, []byte("a passphrase of hers"), did.DID{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]BackupOptions{"keys": {Keys: true}, "update keys": {UpdateKeys: true}, "both": {Keys: true, UpdateKeys: true}} {
		o.Log = slog.New(slog.DiscardHandler)
		var w bytes.Buffer
		if err := Backup(t.Context(), s.cfg, &w, o); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "new")
		r, err := Restore(t.Context(), bytes.NewReader(w.Bytes()), RestoreOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		if err != nil || r.Keys != o.Keys || r.UpdateKeys != o.UpdateKeys {
			t.Fatalf("%s: %v: %+v", name, err, r)
		}
		for part, asked := range map[string]bool{keysDir: o.Keys, updateDir: o.UpdateKeys} {
			got, want := filesIn(t, filepath.Join(dir, part)), filesIn(t, filepath.Join(s.cfg.Dir, part))
			if !asked {
				want = nil
			} else if len(want) == 0 {
				t.Fatalf("%s: nothing in %s", name, part)
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s: %s holds %d files, want %d", name, part, len(got), len(want))
			}
		}
		_, err = OpenOffline(t.Context(), config.Config{Dir: dir, Org: s.cfg.Org}, []byte("no passphrase at all"), slog.New(slog.DiscardHandler))
		if d := fault.From(err); !o.Keys && (d.Reason != "keys" || d.Hint == "") || o.Keys && d.Reason != "passphrase" {
			t.Errorf("%s: opened with %v", name, err)
		}
	}
}

// filesIn returns what the files beneath a directory hold.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		out[strings.TrimPrefix(p, dir)] = string(b)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

// TestARestoreThatEndsHalfwayLeavesNoNode: a restore that is cancelled at any moment leaves
// neither the directory nor one beside it that could be run.
func TestARestoreThatEndsHalfwayLeavesNoNode(t *testing.T) {
	_, b := offlineBackup(t)
	for at := range 12 {
		above := t.TempDir()
		dir := filepath.Join(above, "new")
		ctx, cancel := context.WithCancel(t.Context())
		r := &cutting{Reader: bytes.NewReader(b), left: len(b) + at*len(b)/8, cut: cancel}
		_, err := Restore(ctx, r, RestoreOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		cancel()
		if _, statErr := os.Stat(dir); (err == nil) != (statErr == nil) {
			t.Fatalf("cut %d: restored with %v, directory %v", at, err, statErr)
		}
		left, _ := filepath.Glob(filepath.Join(above, "*", config.File))
		if err != nil && len(left) > 0 {
			t.Errorf("cut %d: %v", at, left)
		}
	}
}

// cutting ends a restore after some bytes were read.
type cutting struct {
	*bytes.Reader
	left int
	cut  func()
}

func (c *cutting) Read(b []byte) (int, error) {
	if c.left -= len(b); c.left < 0 {
		c.cut()
		return 0, io.ErrClosedPipe
	}
	return c.Reader.Read(b[:min(len(b), 512)])
}

// TestABackupOfDamagedDataIsNotRestored: a backup that is whole, of a log in which one byte
// of an entry or of a pin is another, is refused by what it holds.
func TestABackupOfDamagedDataIsNotRestored(t *testing.T) {
	s, _ := offlineBackup(t)
	db, err := store.OpenBadger(filepath.Join(s.cfg.Dir, auditDir), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var k, v []byte
	err = db.View(t.Context(), func(r store.Reader) error {
		return r.Scan([]byte("en/"), nil, func(key, val []byte) bool {
			k, v = bytes.Clone(key), bytes.Clone(val)
			return false
		})
	})
	v[len(v)/2] ^= 1
	err = errors.Join(err, db.Update(t.Context(), func(tx store.Tx) error { return tx.Set(k, v) }), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	var w bytes.Buffer
	if err := Backup(t.Context(), s.cfg, &w, BackupOptions{Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	r, err := Restore(t.Context(), bytes.NewReader(w.Bytes()), RestoreOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, ErrDamaged) || len(r.Fsck.Faults) == 0 || r.Fsck.Faults[0].Index == nil || *r.Fsck.Faults[0].Index != 0 {
		t.Errorf("%v: %+v", err, r.Fsck.Faults)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory is there")
	}
}

// TestFsckComparesWithThePins: a log that is shorter than its pin, one with another root,
// and pins that lack what is signed, are named.
func TestFsckComparesWithThePins(t *testing.T) {
	s, _ := offlineBackup(t)
	org := s.cfg.Org.String()
	name := filepath.Join(s.cfg.Dir, pinsFile)
	was, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(p *pins.File, n uint64, root string) error{
		"pins name": func(p *pins.File, n uint64, root string) error {
			return p.Put(t.Context(), pins.Slot{Kind: pins.KindLog, Key: org, N: n + 3}, root)
		},
		"is not the pinned one": nil,
		"is signed, pins name":  nil,
	} {
		var lines [][]byte
		for _, l := range bytes.SplitAfter(was, []byte("\n")) {
			if change != nil || !bytes.HasPrefix(l, []byte("log ")) {
				lines = append(lines, l)
			}
		}
		if err := os.WriteFile(name, bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := pins.Open(name, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		slot, root, _ := p.Highest(pins.KindLog, org)
		if change != nil {
			err = change(p, slot.N, root)
		} else if what == "is not the pinned one" {
			err = p.Put(t.Context(), pins.Slot{Kind: pins.KindLog, Key: org, N: 1}, "zQmRzpNSPHZ847RCg2H2cQdMHsUky3bifEC5SGHRGPm7FTw")
		}
		if err := errors.Join(err, p.Close()); err != nil {
			t.Fatal(err)
		}
		if r := s.fsck(); r.OK || !strings.Contains(fmt.Sprint(r.Faults), what) {
			t.Errorf("%s: %+v", what, r.Faults)
		}
	}
}
