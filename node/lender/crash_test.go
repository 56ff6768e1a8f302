package lender

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"trustnode/node/self/selftest"
)

// A node that dies between commit and release has counted a read and leaked nothing, and
// the same request gets its answer from the next process.
func TestCrashBetweenCommitAndSend(t *testing.T) {
	for name, o := range map[string]selftest.Option{"memory": {}, "badger": onDisk(t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, o, Config{})
			k.add(t, "One.", "client:acme")
			loan := k.issue(t, 5)
			rq := k.request(t, loan)
			k.testingOnlyBeforeSend = func() { runtime.Goexit() }
			s := &taker{}
			done := make(chan struct{})
			go func() {
				defer close(done)
				k.Read(context.Background(), Call{Request: rq, Send: s})
			}()
			<-done
			if len(s.sent) != 0 {
				t.Fatal("something was sent")
			}
			k.Lender = New(k.acme.Node, k.cfg)
			if l, err := k.Loan(t.Context(), loan.ID.String()); err != nil || l.Reads != 1 {
				t.Errorf("%d reads are counted, %v, want 1", l.Reads, err)
			}
			a, r := k.mustRead(t, rq)
			if r.Seq != 1 || len(a.Entries) != 1 || r.Hash != a.Hash() {
				t.Errorf("replay: got %+v", r)
			}
			wantTexts(t, "rows", k.rowsOf(t, loan.ID), "issue", "read granted 1", "replay granted 1")
		})
	}
}

const (
	killDir = "TRUSTNODE_TEST_KILL_DIR"
	readers = 8
)

// TestKillChild is what the killed process does: it reads, and prints each receipt it got.
func TestKillChild(t *testing.T) {
	dir := os.Getenv(killDir)
	if dir == "" {
		t.Skip("runs as a child of TestKill")
	}
	k := newKit(t, onDisk(dir), Config{})
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 1_000_000)
	fmt.Printf("loan %s\n", loan.ID)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for {
				_, r, err := k.read(context.Background(), k.request(t, loan))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				fmt.Printf("got %d\n", r.Seq)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// kill -9 in the middle of reads: each receipt that left has its row, rows have no gap,
// and the count is that of the rows.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for round := range 5 {
		dir := t.TempDir()
		id, seqs := killAfter(t, dir, 20+60*round)
		k := newKit(t, onDisk(dir), Config{})
		a, err := k.Audit(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		loan, err := k.Loan(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		most := uint64(0)
		for _, s := range seqs {
			most = max(most, s)
		}
		if !a.GapFree || a.Granted < most || uint64(len(seqs)) > a.Granted || loan.Reads != a.Granted {
			t.Errorf("round %d: %d receipts up to %d left, %d rows, gap free %v, %d counted", round, len(seqs), most, a.Granted, a.GapFree, loan.Reads)
		}
		if a.Granted > uint64(len(seqs)+readers) {
			t.Errorf("round %d: %d rows for %d receipts of %d readers", round, a.Granted, len(seqs), readers)
		}
		if _, r := k.mustRead(t, k.request(t, loan)); r.Seq != a.Granted+1 {
			t.Errorf("round %d: the next read is %d, want %d", round, r.Seq, a.Granted+1)
		}
	}
}

// killAfter runs the child and kills it once so many receipts left.
func killAfter(t *testing.T, dir string, receipts int) (id string, seqs []uint64) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillChild$")
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	var diag bytes.Buffer
	cmd.Stderr = &diag
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer limit.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var seq uint64
		if _, err := fmt.Sscanf(lines.Text(), "got %d", &seq); err == nil {
			seqs = append(seqs, seq)
		} else if _, err := fmt.Sscanf(lines.Text(), "loan %s", &id); err != nil {
			t.Logf("child: %s", lines.Text())
		}
		if len(seqs) == receipts {
			cmd.Process.Kill() // what it has printed is still read
		}
	}
	cmd.Wait()
	if len(seqs) < receipts || id == "" {
		t.Fatalf("%d receipts, loan %q: %s", len(seqs), id, diag.String())
	}
	return id, seqs
}
