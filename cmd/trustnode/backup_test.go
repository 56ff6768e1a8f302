package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"trustnode/node/daemon"
)

// TestBackupRestoreAndFsckByHand walks a person's way: fsck, backup, restore, fsck; an
// altered backup, a damaged directory and a directory in the way are refused, each with its
// exit code and what to do.
func TestBackupRestoreAndFsckByHand(t *testing.T) {
	dir := home(t)
	if a := call("agent", "add", "--data", dir, "research", "--can", "lend"); a.code != exitDone {
		t.Fatal(a)
	}
	file, copied := filepath.Join(t.TempDir(), "acme.tnb"), filepath.Join(t.TempDir(), "copy")
	says := func(want string, code int, args ...string) answer {
		t.Helper()
		a := call(args...)
		if ok, err := regexp.MatchString(want, a.out+a.err); a.code != code || err != nil || !ok {
			t.Errorf("%s\nwant exit code %d and %q", a, code, want)
		}
		return a
	}
	const sound = `(?m)^logs +1 log, 2 entries: .*\nheads +1 head, and 1 signature .*\nevents +not judged anew: trustnode fsck --rebuild .*\nrows +0 rows .*\nobjects +1 object .*\noutbox +0 items wait for the log\ncharters +0 charters\npins +name the own log up to 2.*\nresult +sound, .*$`
	says(sound, exitDone, "fsck", "--data", dir)
	says(`(?m)^events +2 events judged anew$`, exitDone, "fsck", "--rebuild", "--data", dir)
	says(`backup +`+regexp.QuoteMeta(file)+`, \d+ KiB, verified\nlog +did:webvh:.*: 2 entries\nkeys +not in the file: keep a copy of DIR/keys apart.*\nrestore `, exitDone, "backup", "--data", dir, "-o", file)
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v)", st, err)
	}
	says(`(?s)restored +.* as of 20.*\nkeys +the backup is without the keys of the node: copy keys/ of the original to `+regexp.QuoteMeta(filepath.Join(copied, "keys"))+` before it runs\nkeys +the backup is without.*next +trustnode run`,
		exitDone, "restore", file, "--data", copied)
	says(sound, exitDone, "fsck", "--data", copied)
	for _, verb := range [][]string{{"run"}, {"agent", "list"}} {
		says(`(?s)holds no keys: nothing can be signed.*hint: copy keys/ of the node's old data directory`, exitFailed, append(verb, "--data", copied)...)
	}
	if err := os.CopyFS(filepath.Join(copied, "keys"), os.DirFS(filepath.Join(dir, "keys"))); err != nil {
		t.Fatal(err)
	}
	says(`research`, exitDone, "agent", "list", "--data", copied)
	says(`already holds a node`, exitFailed, "restore", file, "--data", dir)
	says(`-o is missing`, exitUsage, "backup", "--data", dir)
	says(`--data is missing`, exitUsage, "restore", file)

	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	bad := filepath.Join(t.TempDir(), "bad.tnb")
	if err := os.WriteFile(bad, b, 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	says(`(?s)the backup is not as it was written.*hint: nothing was restored`, exitUnverified, "restore", bad, "--data", nowhere)
	if _, err := os.Stat(nowhere); err == nil {
		t.Error("a directory is there")
	}

	flipTable(t, filepath.Join(copied, "audit"))
	says(`(?s)audit: .*\.sst: .*damaged.*hint: .*restore`, exitUnverified, "fsck", "--data", copied)
	a := says(`"ok": false`, exitUnverified, "fsck", "--data", copied, "--json")
	var r daemon.FsckReport
	if err := json.Unmarshal([]byte(a.out), &r); err != nil || len(r.Faults) == 0 || r.Faults[0].Log != "audit" {
		t.Errorf("%v: %+v", err, r)
	}
	if a := call("agent", "list", "--data", copied); a.code == exitDone || !strings.Contains(a.err, ".sst") {
		t.Errorf("it opens: %s", a)
	}
}

// flipTable flips a bit in the middle of one table of a database.
func flipTable(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/3] ^= 4
	if err := os.WriteFile(names[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAKilledRestoreLeavesNoNode kills restores after ever longer times: the directory is
// there whole or not at all, and nothing beside it can be taken for a node.
func TestAKilledRestoreLeavesNoNode(t *testing.T) {
	f := newFolk(t)
	f.one("solo")
	f.must("agent", "add", "--data", "solo", "research", "--can", "lend")
	f.must("backup", "--data", "solo", "-o", "solo.tnb")
	start := time.Now()
	f.must("restore", "solo.tnb", "--data", "uncut")
	took, whole := time.Since(start), 0
	for i := range 20 {
		dir := fmt.Sprint("new", i)
		f.cut(took*time.Duration(i)/14, "restore", "solo.tnb", "--data", dir)
		if half, _ := filepath.Glob(filepath.Join(f.dir, dir+".*", "config.toml")); len(half) > 0 {
			t.Errorf("after %d of 14 parts of %s: %v", i, took, half)
		}
		if _, err := os.Stat(filepath.Join(f.dir, dir)); err != nil {
			continue
		}
		whole++
		f.must("fsck", "--data", dir)
	}
	t.Logf("%d of 20 were done", whole)
}

// TestABackupIsTakenWhileTheNodeRuns: the verb speaks to the running node, fsck does not
// touch its directory, and neither token nor passphrase is in the file.
func TestABackupIsTakenWhileTheNodeRuns(t *testing.T) {
	f := newFolk(t)
	f.found()
	f.start("acme")
	f.must("agent", "add", "--data", "acme", "research", "--can", "lend", "--json")
	f.must("backup", "--data", "acme", "-o", "acme.tnb", "--with-keys")
	if a := f.try("fsck", "--data", "acme"); a.code != exitFailed || !strings.Contains(a.err, "has") {
		t.Errorf("fsck of a running node: %s", a)
	}
	f.must("restore", "acme.tnb", "--data", "copy")
	f.stop("acme")
	token, err := os.ReadFile(filepath.Join(f.dir, "acme", "operator.token"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(f.dir, "copy"), func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if bytes.Contains(b, bytes.TrimSpace(token)) || bytes.Contains(b, []byte(testPassphrase)) {
			t.Errorf("%s holds a secret of the original", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	f.must("fsck", "--data", "acme")
}
