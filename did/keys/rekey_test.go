package keys

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"trustnode/did"
)

var newPassphrase = []byte("staple-battery-horse")

// ring is a store with keys, and what has to be true of it whatever happens.
type ring struct {
	dir  string
	pubs []did.PublicKey
	host []byte
}

func newRing(t *testing.T) ring {
	t.Helper()
	s, dir := create(t)
	defer s.Close()
	r := ring{dir: dir}
	for range 2 {
		r.pubs = append(r.pubs, generate(t, s).Public())
	}
	var err error
	if r.host, err = s.HostKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// copyTo copies the store to another directory.
func (r ring) copyTo(t *testing.T, dir string) ring {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(r.dir)); err != nil {
		t.Fatal(err)
	}
	r.dir = dir
	return r
}

// whole opens the store with the one passphrase that opens it, wants every key in it and says whether it is the new one.
func (r ring) whole(t *testing.T) (isNew bool) {
	t.Helper()
	s, err := Open(r.dir, passphrase)
	if errors.Is(err, ErrPassphrase) {
		isNew = true
		s, err = Open(r.dir, newPassphrase)
	}
	if err != nil {
		t.Fatalf("neither passphrase opens it: %v", err)
	}
	defer s.Close()
	wantList(t, s, r.pubs...)
	for _, pub := range r.pubs {
		g, err := s.Signer(t.Context(), pub)
		if err != nil {
			t.Fatal(err)
		}
		signed(t, g)
	}
	if host, err := s.HostKey(t.Context()); err != nil || !bytes.Equal(host, r.host) {
		t.Errorf("host key %x, %v, want the old one", host, err)
	}
	generated := generate(t, s).Public()
	if err := s.Delete(t.Context(), generated); err != nil {
		t.Error(err)
	}
	left, err := filesIn(r.dir, func(name string) bool { return !strings.HasSuffix(name, blobSuffix) && name != lockName })
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return isNew
}

func TestRekey(t *testing.T) {
	r := newRing(t)
	before := r.copyTo(t, filepath.Join(t.TempDir(), "before"))
	sub, err := Create(filepath.Join(r.dir, "agents"), passphrase, FastParams)
	if err != nil {
		t.Fatal(err)
	}
	agent := generate(t, sub).Public()
	if err := Rekey(r.dir, passphrase, newPassphrase, FastParams); err != nil {
		t.Fatal(err)
	}
	if !r.whole(t) {
		t.Error("the old passphrase still opens it")
	}
	wantList(t, reopen(t, filepath.Join(r.dir, "agents")), agent)
	// The old lock and the old passphrase open nothing that was sealed since.
	old, err := os.ReadFile(filepath.Join(before.dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, lockName), old, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := reopen(t, r.dir).List(t.Context()); !errors.Is(err, ErrDamaged) {
		t.Errorf("with the old lock.json: %v", err)
	}
}

func TestRekeyRefuses(t *testing.T) {
	r := newRing(t)
	for _, c := range []struct {
		name     string
		dir      string
		old, new []byte
		params   Params
		want     error
	}{
		{"a wrong passphrase", r.dir, newPassphrase, passphrase, FastParams, ErrPassphrase},
		{"an empty new passphrase", r.dir, passphrase, nil, FastParams, ErrEmpty},
		{"parameters out of range", r.dir, passphrase, newPassphrase, Params{}, ErrLock},
		{"a directory without a store", t.TempDir(), passphrase, newPassphrase, FastParams, ErrAbsent},
	} {
		if err := Rekey(c.dir, c.old, c.new, c.params); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	for _, id := range []string{idOf(r.pubs[0]), hostID} {
		bad := r.copyTo(t, filepath.Join(t.TempDir(), "bad"))
		if err := os.Truncate(filepath.Join(bad.dir, id+blobSuffix), 80); err != nil {
			t.Fatal(err)
		}
		if err := Rekey(bad.dir, passphrase, newPassphrase, FastParams); !errors.Is(err, ErrDamaged) {
			t.Errorf("with %s damaged: %v", id, err)
		}
		if left, err := filesIn(bad.dir, isStaged); err != nil || len(left) > 0 {
			t.Errorf("with %s damaged: left %v, %v", id, left, err)
		}
	}
	if r.whole(t) {
		t.Error("a refused change changed the passphrase")
	}
}

// TestRekeyUnderAnOpenStore: a key sealed for a passphrase that is gone could never be opened again.
func TestRekeyUnderAnOpenStore(t *testing.T) {
	s, dir := create(t)
	pub := generate(t, s).Public()
	if err := Rekey(dir, passphrase, newPassphrase, FastParams); err != nil {
		t.Fatal(err)
	}
	_, generated := s.Generate(t.Context())
	_, imported := s.Import(t.Context(), make([]byte, ed25519.SeedSize))
	_, host := s.HostKey(t.Context())
	for _, err := range []error{generated, imported, host} {
		if !errors.Is(err, ErrRekeyed) {
			t.Errorf("got %v", err)
		}
	}
	g, err := s.Signer(t.Context(), pub)
	if err != nil {
		t.Fatal(err)
	}
	signed(t, g) // what is open stays open
}

var errDisk = errors.New("the disk says no")

// TestRekeyWithAFailingDisk has each operation fail once.
func TestRekeyWithAFailingDisk(t *testing.T) {
	first := newRing(t)
	outcomes := map[bool]int{}
	for at, failed := 0, true; failed; at++ {
		r := first.copyTo(t, filepath.Join(t.TempDir(), "keys"))
		n := 0
		failed = false
		err := rekey(disk{func(op, path string) error {
			if n++; n-1 != at {
				return nil
			}
			failed = true
			return errDisk
		}}, r.dir, passphrase, newPassphrase, FastParams)
		if failed != errors.Is(err, errDisk) || !failed && err != nil {
			t.Errorf("operation %d: %v", at, err)
		}
		outcomes[r.whole(t)]++
	}
	if outcomes[false] < 10 || outcomes[true] < 5 {
		t.Errorf("old and new passphrase stood %v times", outcomes)
	}
}

// Where a child of TestRekeyKilled finds its orders.
const (
	childDir = "KEYS_TEST_DIR"
	childAt  = "KEYS_TEST_KILL_AT"
)

// TestRekeyChild is no test of its own: it changes a passphrase and kills itself before one of the operations, after it has
// written down which ones it began.
func TestRekeyChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("runs within TestRekeyKilled")
	}
	at, err := strconv.Atoi(os.Getenv(childAt))
	if err != nil {
		t.Fatal(err)
	}
	journal, err := os.Create(dir + ".journal")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = rekey(disk{func(op, path string) error {
		if n++; n-1 == at {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			if err := self.Kill(); err != nil {
				return err
			}
			select {}
		}
		_, err := fmt.Fprintln(journal, op, path)
		return err
	}}, dir, passphrase, newPassphrase, FastParams)
	if err != nil {
		t.Fatal(err)
	}
}

// TestRekeyKilled kills the change before each of its file operations, and then, in a copy, lets the power fail too: what was
// not fsynced is torn, and names that no fsync of their directory has made durable are what they were.
func TestRekeyKilled(t *testing.T) {
	first := newRing(t)
	killed, cut := map[bool]int{}, map[bool]int{}
	for at := 0; ; at++ {
		r := first.copyTo(t, filepath.Join(t.TempDir(), "keys"))
		ended := killedAt(t, r.dir, at)
		// Of the names that are not durable none reached the disk, or the last one alone.
		for _, keepLast := range []bool{false, true} {
			r2 := r.copyTo(t, filepath.Join(t.TempDir(), "cut"))
			powerCut(t, r2.dir, first.dir, journal(t, r.dir), keepLast)
			cut[r2.whole(t)]++
		}
		killed[r.whole(t)]++
		if t.Failed() {
			t.Fatalf("operation %d", at)
		}
		if ended {
			break
		}
	}
	if killed[false] < 15 || killed[true] < 5 || cut[false] < 30 || cut[true] < 8 {
		t.Errorf("old and new passphrase stood %v times after a kill and %v after a power cut", killed, cut)
	}
}

// killedAt changes the passphrase in a process that is killed, and says whether it came to its end before that.
func killedAt(t *testing.T, dir string, at int) (ended bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestRekeyChild$")
	cmd.Env = append(os.Environ(), childDir+"="+dir, childAt+"="+strconv.Itoa(at))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() {
		return false
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return true
}

// journal lists the operations that were begun, and but for the one at which the process was killed all were done.
func journal(t *testing.T, dir string) []string {
	t.Helper()
	b, err := os.ReadFile(dir + ".journal")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(strings.ReplaceAll(string(b), dir, "."))
}

// powerCut makes of dir what a disk may hold after the operations: unsynced content is cut in half, and names go back to what
// they were at the last fsync of the directory, in old; all of them, or all but the last.
func powerCut(t *testing.T, dir, old string, ops []string, keepLast bool) {
	t.Helper()
	type change struct{ from, to string }
	var unsynced []change
	torn := map[string]bool{}
	for i := 0; i+1 < len(ops); i += 2 {
		op, name := ops[i], filepath.Base(ops[i+1])
		switch op {
		case "write":
			torn[name] = true
		case "sync":
			delete(torn, name)
		case "rename":
			to, temp := strings.CutSuffix(name, tempSuffix)
			if !temp {
				to, _, _ = strings.Cut(name, ".")
				to += blobSuffix
			}
			unsynced = append(unsynced, change{name, to})
		case "syncdir":
			unsynced = nil
		}
	}
	for name := range torn {
		halve(t, filepath.Join(dir, name))
	}
	if keepLast && len(unsynced) > 0 {
		unsynced = unsynced[:len(unsynced)-1]
	}
	for _, c := range slices.Backward(unsynced) {
		if err := os.Rename(filepath.Join(dir, c.to), filepath.Join(dir, c.from)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(old, c.to)); err == nil {
			if err := os.WriteFile(filepath.Join(dir, c.to), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func halve(t *testing.T, path string) {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, st.Size()/2); err != nil {
		t.Fatal(err)
	}
}

// TestRekeySettlesAnySubset: after a power cut any of the last renames may have reached the disk.
func TestRekeySettlesAnySubset(t *testing.T) {
	r := newRing(t)
	renames := 0
	err := rekey(disk{func(op, path string) error {
		if op == "rename" && isStaged(filepath.Base(path)) {
			renames++
			return errDisk
		}
		return nil
	}}, r.dir, passphrase, newPassphrase, FastParams)
	if !errors.Is(err, errDisk) || renames != 1 {
		t.Fatalf("%d renames, %v", renames, err)
	}
	staged, err := filesIn(r.dir, isStaged)
	if err != nil || len(staged) != 3 {
		t.Fatalf("staged: %v, %v", staged, err)
	}
	for mask := range 1 << len(staged) {
		c := r.copyTo(t, filepath.Join(t.TempDir(), "keys"))
		for i, name := range staged {
			id, _, _ := strings.Cut(name, ".")
			if mask>>i&1 == 0 {
				continue
			}
			if err := os.Rename(filepath.Join(c.dir, name), filepath.Join(c.dir, id+blobSuffix)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(c.dir, passphrase); !errors.Is(err, ErrPassphrase) {
			t.Errorf("subset %b: the old passphrase: %v", mask, err)
		}
		if !c.whole(t) {
			t.Errorf("subset %b: the old passphrase opens it", mask)
		}
	}
}

// TestSettleMakesTheLockDurableFirst: else a power cut could bring back the lock.json of keys that are replaced.
func TestSettleMakesTheLockDurableFirst(t *testing.T) {
	r := newRing(t)
	err := rekey(disk{func(op, path string) error {
		if op == "rename" && isStaged(filepath.Base(path)) {
			return errDisk
		}
		return nil
	}}, r.dir, passphrase, newPassphrase, FastParams)
	if !errors.Is(err, errDisk) {
		t.Fatal(err)
	}
	var ops []string
	s, err := openOn(disk{func(op, _ string) error { ops = append(ops, op); return nil }}, r.dir, newPassphrase)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if want := []string{"syncdir", "rename", "rename", "rename", "syncdir"}; !slices.Equal(ops, want) {
		t.Errorf("got %v, want %v", ops, want)
	}
}
