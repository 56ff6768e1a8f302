package importers

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"trustnode/node/memory"
	"trustnode/node/store"
)

const (
	crashDir   = "TRUSTNODE_TEST_IMPORT_DIR"
	crashLines = 60_000
)

// crashKit opens a memory on disk.
func crashKit(t *testing.T, dir string) *kit {
	t.Helper()
	db, err := store.OpenBadger(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return &kit{db: db, e: memory.New(db, func() time.Time { return testNow }), o: Options{At: testNow}}
}

// TestCrashChild is the process that TestKilledImport kills.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("not the child of TestKilledImport")
	}
	k := crashKit(t, dir)
	k.io.Progress = func(line int) { fmt.Println("line", line) }
	k.read(t, "jsonl", manyLines(crashLines))
}

// A node killed in the middle of an import has what it committed; the same command brings
// in the rest and nothing twice.
func TestKilledImport(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestCrashChild$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := 0
	for s := bufio.NewScanner(out); s.Scan() && said < 3; {
		if strings.HasPrefix(s.Text(), "line ") {
			said++
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if said < 3 {
		t.Fatal("the child ended before it was killed")
	}
	k := crashKit(t, dir)
	defer k.db.Close()
	before, err := k.e.Size(ctx, place(t, "north"), memory.Quarantined)
	if err != nil || before < 3*512 || before >= crashLines {
		t.Fatalf("%d entries survived, %v", before, err)
	}
	rep := k.read(t, "jsonl", manyLines(crashLines))
	after, err := k.e.Size(ctx, place(t, "north"), memory.Quarantined)
	if err != nil || rep.Repeated != before || rep.Imported != crashLines-before || after != crashLines {
		t.Errorf("%d were there, %d known, %d imported, %d now, %v", before, rep.Repeated, rep.Imported, after, err)
	}
}
