package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of its own, of a size in MiB, for the time of a test.
func smallDisk(t *testing.T, mib string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+mib+"m"); err != nil {
		t.Skipf("a small file system cannot be mounted here (%v): the same is tested with a made-up size in node/daemon", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fillTo writes a file until so many MiB are left on its file system.
func fillTo(t *testing.T, name string, left uint64) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for mib := make([]byte, 1<<20); ; {
		var st syscall.Statfs_t
		if err := syscall.Fstatfs(int(f.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		if st.Bavail*uint64(st.Bsize) <= left<<20 {
			return
		}
		if _, err := f.Write(mib); err != nil {
			t.Fatal(err)
		}
	}
}

// TestADiskThatIsFull (03, section 13): a real file system fills up under a node. New work is
// refused, questions are answered, what is done is not lost; a node that has no room to open
// says what to delete, opens once that is done, and takes new work once there is room.
func TestADiskThatIsFull(t *testing.T) {
	program(t) // skips by -short
	disk := smallDisk(t, "1000")
	f := newFolk(t)
	f.env = []string{"TRUSTNODE_BALLAST_MIB=256"}
	f.dir = disk
	const dir = "solo"
	filler, ballast := filepath.Join(disk, "filler"), filepath.Join(disk, dir, "ballast")
	f.must("init", "--data", dir, "--name", "Solo", "--domain", "solo.example", "--http", "127.0.0.1:0", "--p2p", "/ip4/127.0.0.1/tcp/0")
	run := func() {
		f.start(dir)
		f.until("it answers as a running node", func() bool { return strings.Contains(f.must("status", "--data", dir, "--json").out, `"running": true`) })
	}
	run()
	f.until("the ballast is there", func() bool { st, err := os.Stat(ballast); return err == nil && st.Size() == 256<<20 })
	f.must("agent", "add", "--data", dir, "before", "--can", "lend")

	fillTo(t, filler, 100)
	f.until("the node has seen it", func() bool { return strings.Contains(f.must("status", "--data", dir).out, "the disk is nearly full") })
	a := f.try("agent", "add", "--data", dir, "late", "--can", "lend")
	if a.code != exitFailed || !strings.Contains(a.err, " MiB free, 448 needed") || !strings.Contains(a.err, "hint: free space or delete DIR/ballast; appends resume by themselves") {
		t.Errorf("new work on a full disk: %s", a)
	}
	if a := f.must("event", "list", "--data", dir); !strings.Contains(a.out, "agent \"before\"") || strings.Contains(a.out, "late") {
		t.Errorf("reading on a full disk: %s", a)
	}
	if a := f.try("doctor", "--data", dir); a.code != exitFailed || !strings.Contains(a.out, "MiB free below "+filepath.Dir(ballast)+", 448 needed: new work is refused") || !strings.Contains(a.out, "delete "+ballast) {
		t.Errorf("doctor on a full disk: %s", a)
	}
	f.must("agent", "revoke", "--data", dir, "before", "--reason", "ended") // an end is taken all the time
	f.kill(dir)

	a = f.code(exitFailed, "event", "list", "--data", dir)
	if !strings.Contains(a.err, "MiB free below "+filepath.Dir(ballast)+", 192 needed") || !strings.Contains(a.err, "hint: free space or delete "+ballast) {
		t.Errorf("a node without room to open: %s", a)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	run()
	if a := f.must("event", "list", "--data", dir, "--type", "agent."); !strings.Contains(a.out, "agent.revoked") {
		t.Errorf("after it opened again: %s", a)
	}
	if err := os.Remove(filler); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	f.until("new work is taken by itself", func() bool { return f.try("agent", "add", "--data", dir, "again", "--can", "lend").code == 0 })
	f.stop(dir)
	f.must("fsck", "--data", dir, "--rebuild")
}
