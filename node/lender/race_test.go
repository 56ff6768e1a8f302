package lender

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/node/fault"
	"trustnode/node/self/selftest"
)

// 64 callers read 20 times each where 100 reads are granted.
func TestExactCount(t *testing.T) {
	for name, option := range map[string]func(t *testing.T) selftest.Option{
		"memory": func(*testing.T) selftest.Option { return selftest.Option{} },
		"badger": func(t *testing.T) selftest.Option { return onDisk(t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) { testExactCount(t, newKit(t, option(t), Config{})) })
	}
}

func testExactCount(t *testing.T, k *kit) {
	const callers, each, most = 64, 20, 100
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, most)
	var mu sync.Mutex
	var seqs []uint64
	var wg sync.WaitGroup
	for range callers {
		var requests []string
		for range each {
			requests = append(requests, k.request(t, loan))
		}
		wg.Go(func() {
			for _, rq := range requests {
				_, r, err := k.read(context.Background(), rq)
				if err != nil {
					if fault.Of(err) != fault.Exhausted {
						t.Errorf("got %v, want exhausted", err)
					}
					continue
				}
				mu.Lock()
				seqs = append(seqs, r.Seq)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(seqs)
	for i, s := range seqs {
		if s != uint64(i+1) {
			t.Fatalf("receipt %d has seq %d", i+1, s)
		}
	}
	if len(seqs) != most {
		t.Errorf("%d reads were granted, want %d", len(seqs), most)
	}
	a, err := k.Audit(t.Context(), loan.ID.String())
	if err != nil || a.Granted != most || !a.GapFree || len(a.Rows) != callers*each+1 {
		t.Errorf("audit: %d granted, gap free %v, %d rows, %v; want %d, true, %d", a.Granted, a.GapFree, len(a.Rows), err, most, callers*each+1)
	}
}

// guard fails the test if anything is sent after its loan's revocation returned.
type guard struct {
	over *atomic.Bool
	late *atomic.Int64
	sent *atomic.Int64
}

func (g guard) Send(b []byte) error {
	for range rand.IntN(3) {
		runtime.Gosched()
	}
	if g.over.Load() {
		g.late.Add(1)
	}
	g.sent.Add(1)
	return nil
}

func (g guard) Abort() {}

// A read that races a revocation 10,000 times, and a million times with TRUSTNODE_LONG: no
// byte after revoke returned, and every read that sent nothing was refused.
func TestRevokeRace(t *testing.T) {
	schedules := 10_000
	switch {
	case os.Getenv("TRUSTNODE_LONG") != "":
		schedules = 1_000_000
	case testing.Short() || raceEnabled:
		schedules = 1_000
	}
	const each = 10_000 // schedules of one world: what it keeps of its loans is let go with it
	var sent, late atomic.Int64
	for first := 0; first < schedules && !t.Failed(); first += each {
		t.Run(strconv.Itoa(first), func(t *testing.T) {
			k := memoryKit(t)
			k.acme.Rec.Pause("the race is not about the log")
			k.add(t, "One.", "client:acme")
			for i := first; i < min(first+each, schedules) && !t.Failed(); i++ {
				testRevokeRace(t, k, i, k.issue(t, 10), &sent, &late)
			}
		})
	}
	if late.Load() > 0 {
		t.Errorf("%d of %d answers left after revoke had returned", late.Load(), sent.Load())
	}
	if n := sent.Load(); n == 0 || n == 2*int64(schedules) {
		t.Errorf("%d of %d reads were sent: the schedules did not race", n, 2*schedules)
	}
}

func testRevokeRace(t *testing.T, k *kit, i int, loan Loan, sent, late *atomic.Int64) {
	var over atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		rq := k.request(t, loan)
		wg.Go(func() {
			spin()
			g := guard{&over, late, &atomic.Int64{}}
			err := k.Read(context.Background(), Call{Request: rq, Send: g})
			sent.Add(g.sent.Load())
			if (err == nil) != (g.sent.Load() == 1) || err != nil && fault.Of(err) != fault.Revoked {
				t.Errorf("schedule %d: sent %d, %v", i, g.sent.Load(), err)
			}
		})
	}
	spin()
	if _, err := k.Revoke(context.Background(), loan.ID.String(), "ended", ""); err != nil {
		t.Errorf("schedule %d: %v", i, err)
	}
	over.Store(true)
	wg.Wait()
}

func spin() {
	for range rand.IntN(40) {
		runtime.Gosched()
	}
}

// slow is a connection that takes nothing until it is aborted.
type slow struct {
	began   chan struct{}
	aborted chan struct{}
	once    sync.Once
}

func newSlow() *slow { return &slow{began: make(chan struct{}), aborted: make(chan struct{})} }

func (s *slow) Send([]byte) error {
	close(s.began)
	<-s.aborted
	return errors.New("connection was reset")
}

func (s *slow) Abort() { s.once.Do(func() { close(s.aborted) }) }

// A connection that takes nothing does not hold up a revocation for longer than the
// drain, and one that takes its time within it is not cut.
func TestDrain(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 10)
	s := newSlow()
	read := make(chan error, 1)
	rq := k.request(t, loan)
	go func() { read <- k.Read(context.Background(), Call{Request: rq, Send: s}) }()
	<-s.began
	done := make(chan struct{})
	go func() { defer close(done); k.revoke(t, loan) }()
	within(t, 4*drainTime, done, "a revocation")
	if err := <-read; fault.From(err).Reason != "connection" {
		t.Errorf("the read that was cut: got %v", err)
	}
	if len(k.gates) != 0 {
		t.Errorf("%d gates are left", len(k.gates))
	}
}

// patient is a connection that takes its answer when it is told to.
type patient struct {
	began, go_ chan struct{}
	aborted    atomic.Bool
}

func (p *patient) Send([]byte) error { close(p.began); <-p.go_; return nil }
func (p *patient) Abort()            { p.aborted.Store(true) }

func TestDrainWaits(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 10)
	p := &patient{began: make(chan struct{}), go_: make(chan struct{})}
	read := make(chan error, 1)
	rq := k.request(t, loan)
	go func() { read <- k.Read(context.Background(), Call{Request: rq, Send: p}) }()
	<-p.began
	var returned atomic.Int32
	var wg sync.WaitGroup
	for range 2 { // a second revocation waits for the same drain
		wg.Go(func() { k.revoke(t, loan); returned.Add(1) })
	}
	for { // both have closed the gate and wait
		k.mu.Lock()
		g := k.gates[loan.ID]
		k.mu.Unlock()
		if g != nil && g.isClosed() {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if returned.Load() != 0 {
		t.Error("a revocation returned while an answer was leaving")
	}
	_, _, err := k.read(t.Context(), k.request(t, loan))
	refusedWith(t, err, fault.Revoked, "misuse")
	close(p.go_)
	wg.Wait()
	if err := <-read; err != nil || p.aborted.Load() {
		t.Errorf("the read under way: %v, aborted %v", err, p.aborted.Load())
	}
	if r := k.rowsOf(t, loan.ID); len(r) != 4 {
		t.Errorf("rows are %v", r)
	}
}
