package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"trustnode/node/daemon"
	"trustnode/node/httpapi"
)

// alone makes one organization with a lending and a borrowing agent and starts its node.
func alone(f *folk) {
	f.t.Helper()
	f.one("solo")
	f.must("agent", "add", "--data", "solo", "research", "--can", "lend")
	f.must("agent", "add", "--data", "solo", "quant", "--can", "borrow")
	f.must("memory", "add", "--data", "solo", "--agent", "research", "--project", "p", "--tag", "open", "the first entry")
	f.start("solo")
	f.must("status", "--data", "solo", "--wait", "alone")
}

// operator is a client of a running node.
func (f *folk) operator(org string) *httpapi.Client {
	f.t.Helper()
	dir := filepath.Join(f.dir, org)
	token, err := os.ReadFile(filepath.Join(dir, daemon.TokenFile))
	if err != nil {
		f.t.Fatal(err)
	}
	h, held := daemon.Held(dir)
	// A status may have been answered by a directory that the node had not taken yet.
	for end := time.Now().Add(20 * time.Second); h.HTTP == ""; h, held = daemon.Held(dir) {
		if time.Now().After(end) {
			f.t.Fatalf("no node runs on %s: held %v, %+v", dir, held, h)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return &httpapi.Client{Base: "http://" + h.HTTP, Token: strings.TrimSpace(string(token)), HTTP: &http.Client{Timeout: 30 * time.Second}}
}

// acks collects what a node acknowledged.
type acks struct {
	mu      sync.Mutex
	entries []string
	reads   []httpapi.ReceiptInfo
}

// traffic adds entries and reads until the node does not answer any more.
func (a *acks) traffic(ctx context.Context, c *httpapi.Client, perm string, n int) {
	for i := 0; ; i++ {
		var e httpapi.Entry
		in := httpapi.MemoryAdd{Agent: "research", Project: "p", Statement: fmt.Sprintf("entry %d of %d", i, n), Tags: []string{"open"}}
		if c.Call(ctx, "POST", "/api/v1/memory", in, &e) != nil {
			return
		}
		var r httpapi.LoanAnswer
		err := c.Call(ctx, "POST", "/api/v1/loans/read", httpapi.LoanRead{As: "quant", Permission: perm, Purpose: "traffic", Limit: 1}, &r)
		a.mu.Lock()
		a.entries = append(a.entries, e.ID)
		if err == nil {
			a.reads = append(a.reads, r.Receipt)
		}
		a.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// A node that is told to stop under load stops soon and cleanly, and nothing it
// acknowledged is lost.
func TestSigtermDuringTraffic(t *testing.T) {
	t.Parallel()
	f := newFolk(t)
	alone(f)
	perm := f.id("loan", "issue", "--data", "solo", "--lender", "research", "--borrower", f.agentDID("solo", "quant"), "--scope", "tag:open -tag:closed", "--purpose", "load", "--max-reads", "100000", "--json")
	c := f.operator("solo")
	var a acks
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() { a.traffic(context.Background(), c, perm, n) })
	}
	// One that would wait for ten minutes.
	wg.Go(func() { _ = c.Call(context.Background(), "GET", "/api/v1/status?wait=fresh&timeout_s=600", nil, nil) })
	time.Sleep(time.Second)
	code, took := f.stop("solo")
	wg.Wait()
	if code != exitDone || took > 6*time.Second {
		t.Errorf("exit %d after %s", code, took)
	}
	log, err := os.ReadFile(filepath.Join(f.dir, "solo.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"goroutine", "panic", "level=ERROR", "level=WARN"} {
		if strings.Contains(string(log), bad) {
			t.Errorf("the log says %s:\n%s", bad, log)
		}
	}
	if !strings.Contains(string(log), "stopped") || len(a.reads) == 0 {
		t.Errorf("%d reads; log:\n%s", len(a.reads), log)
	}
	checkAcks(t, f, perm, &a)
}

func checkAcks(t *testing.T, f *folk, perm string, a *acks) {
	var l httpapi.Entries
	f.must("memory", "list", "--data", "solo", "--project", "p", "--limit", "100000", "--json").into(t, &l)
	held := map[string]bool{}
	for _, e := range l.Entries {
		held[e.ID] = true
	}
	for _, id := range a.entries {
		if !held[id] {
			t.Errorf("entry %s is gone", id)
		}
	}
	var audit httpapi.LoanAudit
	f.must("loan", "audit", "--data", "solo", "--json", perm).into(t, &audit)
	rows := map[uint64]string{}
	for _, r := range audit.Rows {
		if r.Seq > 0 {
			rows[r.Seq] = r.Hash
		}
		if r.Index == nil {
			t.Errorf("row %d waits after a clean stop", r.N)
		}
	}
	if !audit.GapFree || audit.Granted < uint64(len(a.reads)) {
		t.Errorf("%d granted, %d acknowledged, gap-free %v", audit.Granted, len(a.reads), audit.GapFree)
	}
	for _, r := range a.reads {
		if rows[r.Seq] != r.Hash {
			t.Errorf("read %d has row %q, want %s", r.Seq, rows[r.Seq], r.Hash)
		}
	}
}

func (f *folk) agentDID(org, name string) string {
	f.t.Helper()
	var l httpapi.Agents
	f.must("agent", "list", "--data", org, "--json").into(f.t, &l)
	i := slices.IndexFunc(l.Agents, func(a httpapi.Agent) bool { return a.Name == name })
	if i < 0 {
		f.t.Fatalf("no agent %s at %s", name, org)
	}
	return l.Agents[i].DID
}

// A second node on the same directory is refused and told who is there; a verb speaks to
// the first.
func TestOneNodePerDirectory(t *testing.T) {
	t.Parallel()
	f := newFolk(t)
	alone(f)
	a := f.code(exitFailed, "run", "--data", "solo", "--json")
	pid := strconv.Itoa(f.procs["solo"].cmd.Process.Pid)
	if !strings.Contains(a.err, "process "+pid) || !strings.Contains(a.err, "hint: ") || !strings.Contains(a.out, `"code": "conflict"`) || !strings.Contains(a.out, `"reason": "locked"`) {
		t.Errorf("want conflict, locked, process %s: %s", pid, a)
	}
	var st httpapi.Status
	f.must("status", "--data", "solo", "--json").into(t, &st)
	if st.Version == "offline" || len(st.P2P) == 0 {
		t.Errorf("the verb did not speak to the running node: %+v", st)
	}
	// Another program on its address: it says so and lets go of the directory.
	f.must("init", "--data", "twin", "--name", "twin", "--domain", "twin.example", "--http", st.HTTP, "--p2p", "/ip4/127.0.0.1/tcp/0")
	if a := f.code(exitFailed, "run", "--data", "twin"); !strings.Contains(a.err, "address already in use") || !strings.Contains(a.err, "hint: ") {
		t.Errorf("a taken address: %s", a)
	}
	f.must("status", "--data", "twin")
}

// Verbs that open the directory themselves wait for each other.
func TestVerbsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFolk(t)
	f.one("solo")
	f.must("agent", "add", "--data", "solo", "research", "--can", "lend")
	const n = 4
	got := make([]answer, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			got[i] = f.try("memory", "add", "--data", "solo", "--agent", "research", "--project", "p", fmt.Sprintf("entry %d", i))
		})
	}
	wg.Wait()
	for _, a := range got {
		if a.code != exitDone {
			t.Error(a)
		}
	}
	var l httpapi.Entries
	f.must("memory", "list", "--data", "solo", "--project", "p", "--json").into(t, &l)
	if l.Total != n {
		t.Errorf("%d entries, want %d", l.Total, n)
	}
}
