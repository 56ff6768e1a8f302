package storetest

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trustnode/node/store"
)

// crashDir, when set, makes this process the writer that is to be killed.
const crashDir = "STORETEST_CRASH_DIR"

// RunDurable tests what survives. open opens the database in a directory. It
// starts the test binary again as a process to be killed, so it must be called
// from a top-level test, and t.Name() must lead to it.
func RunDurable(t *testing.T, open func(dir string) (store.DB, error)) {
	if dir := os.Getenv(crashDir); dir != "" {
		writeUntilKilled(t, dir, open)
		return
	}
	t.Run("a database opened again holds what it held", func(t *testing.T) { testReopen(t, open) })
	t.Run("a directory in use is ErrLocked", func(t *testing.T) { testLocked(t, open) })
	root, _, _ := strings.Cut(t.Name(), "/")
	t.Run("kill -9 loses nothing acknowledged", func(t *testing.T) { testCrash(t, root, open) })
}

func mustOpen(t *testing.T, dir string, open func(string) (store.DB, error)) store.DB {
	t.Helper()
	db, err := open(dir)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return db
}

func testReopen(t *testing.T, open func(string) (store.DB, error)) {
	dir := t.TempDir()
	for i := range 5 {
		db := mustOpen(t, dir, open)
		put(t, db, fmt.Sprintf("k%d", i), "v", "last", fmt.Sprint(i))
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db := mustOpen(t, dir, open)
	defer db.Close()
	wantDump(t, db, "k0=v", "k1=v", "k2=v", "k3=v", "k4=v", "last=4")
}

func testLocked(t *testing.T, open func(string) (store.DB, error)) {
	dir := t.TempDir()
	db := mustOpen(t, dir, open)
	if _, err := open(dir); !errors.Is(err, store.ErrLocked) {
		t.Errorf("second open: %v, want ErrLocked", err)
	}
	put(t, db, "k", "v")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, dir, open)
	defer db.Close()
	wantDump(t, db, "k=v")
}

const crashWriters = 8

func crashKey(round string, writer, i int) string {
	return fmt.Sprintf("%s/%d/%06d", round, writer, i)
}

// writeUntilKilled prints each key once it is acknowledged. Every update also
// moves the writer's mark, so a torn update would show.
func writeUntilKilled(t *testing.T, dir string, open func(string) (store.DB, error)) {
	db := mustOpen(t, dir, open)
	round := os.Getenv("STORETEST_ROUND")
	var wg sync.WaitGroup
	for w := range crashWriters {
		wg.Go(func() {
			for i := 0; ; i++ {
				k := crashKey(round, w, i)
				put(t, db, k, strings.Repeat("v", i%2000), fmt.Sprintf("mark/%d", w), k)
				fmt.Printf("acked %s\n", k)
			}
		})
	}
	wg.Wait()
}

func testCrash(t *testing.T, root string, open func(string) (store.DB, error)) {
	dir := t.TempDir()
	acked := map[string]bool{}
	for round := range 4 {
		for _, k := range runAndKill(t, root, dir, fmt.Sprint(round), 200+rand.IntN(400)) {
			acked[k] = true
		}
		db := mustOpen(t, dir, open)
		checkCrashed(t, db, acked)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// runAndKill starts a writer, kills it after n acknowledgements and returns
// every key it has acknowledged.
func runAndKill(t *testing.T, root, dir, round string, n int) (acked []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^"+root+"$", "-test.timeout", "60s")
	cmd.Env = append(os.Environ(), crashDir+"="+dir, "STORETEST_ROUND="+round)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(50*time.Second, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if k, ok := strings.CutPrefix(lines.Text(), "acked "); ok {
			acked = append(acked, k)
		}
		if len(acked) == n {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	if len(acked) < n {
		t.Fatalf("the writer acknowledged %d updates, want %d", len(acked), n)
	}
	return acked
}

func checkCrashed(t *testing.T, db store.DB, acked map[string]bool) {
	t.Helper()
	held := dump(t, db, "", "")
	keys := map[string]bool{}
	for _, kv := range held {
		k, _, _ := strings.Cut(kv, "=")
		keys[k] = true
	}
	for k := range acked {
		if !keys[k] {
			t.Errorf("acknowledged %s is lost", k)
		}
	}
	marks := slices.DeleteFunc(held, func(kv string) bool { return !strings.HasPrefix(kv, "mark/") })
	for _, kv := range marks {
		if mark, k, _ := strings.Cut(kv, "="); !keys[k] {
			t.Errorf("%s names %s, which is absent: the update is torn", mark, k)
		}
	}
}
