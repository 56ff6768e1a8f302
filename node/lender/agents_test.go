package lender

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"trustnode/did"
	"trustnode/did/keyring"
	"trustnode/federation/lending"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// endAgent revokes an agent as its own node does: its row first, then what is under way.
func (k *kit) endAgent(t testing.TB, d did.DID) int {
	t.Helper()
	k.acme.Change(t, d, func(a *self.AgentRow) { a.Revoked = true })
	return k.AgentEnded(context.Background(), d)
}

// A read that races the end of its lending agent: no byte after that returned, and every
// read that sent nothing was refused.
func TestAgentEndRace(t *testing.T) {
	schedules := 3_000
	if testing.Short() || raceEnabled {
		schedules = 300
	}
	k := memoryKit(t)
	k.acme.Rec.Pause("the race is not about the log")
	k.add(t, "One.", "client:acme")
	var sent, late atomic.Int64
	for i := 0; i < schedules && !t.Failed(); i++ {
		loan := k.issue(t, 10)
		var over atomic.Bool
		var wg sync.WaitGroup
		for range 2 {
			rq := k.request(t, loan)
			wg.Go(func() {
				spin()
				g := guard{&over, &late, &atomic.Int64{}}
				err := k.Read(context.Background(), Call{Request: rq, Send: g})
				sent.Add(g.sent.Load())
				if (err == nil) != (g.sent.Load() == 1) || err != nil && fault.From(err).Reason != lending.ReasonLender {
					t.Errorf("schedule %d: sent %d, %v", i, g.sent.Load(), err)
				}
			})
		}
		spin()
		k.endAgent(t, k.research)
		over.Store(true)
		wg.Wait()
		k.acme.Change(t, k.research, func(a *self.AgentRow) { a.Revoked = false }) // for the next schedule
	}
	if late.Load() > 0 {
		t.Errorf("%d of %d answers left after the agent's end had returned", late.Load(), sent.Load())
	}
	if n := sent.Load(); n == 0 || n == 2*int64(schedules) {
		t.Errorf("%d of %d reads were sent: the schedules did not race", n, 2*schedules)
	}
}

// TestLoansEndWithTheirLender: each loan of the agent gets its one end, no key that counts
// no longer signs anything, and loans of other agents go on.
func TestLoansEndWithTheirLender(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	other := k.acme.AddAgent(t, "other", keyring.Lend)
	k.acme.Change(t, other, func(a *self.AgentRow) { a.Project = folio })
	loan, second, revoked := k.issue(t, 10), k.issue(t, 10), k.issue(t, 10)
	k.revoke(t, revoked)
	wish := k.wish(10)
	wish.Lender = "other"
	goes, err := k.Issue(t.Context(), wish)
	if err != nil {
		t.Fatal(err)
	}
	k.mustRead(t, k.request(t, loan))
	if n := k.endAgent(t, k.research); n != 2 {
		t.Errorf("%d loans ended, want 2", n)
	}
	for _, l := range []Loan{loan, second, revoked} {
		_, _, err := k.read(t.Context(), k.request(t, l))
		if d := fault.From(err); d == nil || d.Receipt != "" || d.Verified {
			t.Errorf("a read: %+v", d)
		}
		status, err := k.Status(t.Context(), Call{Request: k.request(t, l, func(rq *lending.ReadRequest) { rq.Op, rq.Purpose = lending.OpStatus, "" })})
		if status != "" || fault.From(err).Reason != lending.ReasonLender {
			t.Errorf("a status was signed: %q, %v", status, err)
		}
		if got := k.events(t, l, "loan.ended"); len(got) != 1 {
			t.Errorf("%d loan.ended", len(got))
		}
		if at, err := k.Loan(t.Context(), l.ID.String()); err != nil || at.State != lending.Revoked {
			t.Errorf("it stands as %s, %v", at.State, err)
		}
	}
	_, err = k.Revoke(t.Context(), second.ID.String(), "ended", "")
	refusedWith(t, err, fault.Conflict, lending.ReasonLender)
	if r, err := k.Revoke(t.Context(), revoked.ID.String(), "ended", ""); err != nil || r.ID.IsZero() {
		t.Errorf("a second revocation of a loan that was revoked before: %v", err)
	}
	if _, err := k.Issue(t.Context(), k.wish(1)); fault.Of(err) != fault.Refused {
		t.Errorf("a new loan by it: %v", err)
	}
	to := &taker{}
	if err := k.Read(t.Context(), Call{Request: k.request(t, goes), Send: to}); err != nil || len(to.sent) != 1 {
		t.Errorf("a loan of another agent: %d answers, %v", len(to.sent), err)
	}
}

// TestAgentEndAfterACrash: the row of a revoked agent alone is enough. No read is answered,
// and the sweep of the next start ends its loans once.
func TestAgentEndAfterACrash(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 10)
	k.acme.Change(t, k.research, func(a *self.AgentRow) { a.Revoked = true }) // and the process stops
	k.Lender = New(k.acme.Node, Config{ReadsPerSecond: 1_000_000})
	_, _, err := k.read(t.Context(), k.request(t, loan))
	refusedWith(t, err, fault.Refused, lending.ReasonLender)
	k.mustSweep(t)
	k.mustSweep(t)
	if got := k.events(t, loan, "loan.ended"); len(got) != 1 {
		t.Errorf("%d loan.ended", len(got))
	}
	if rows := k.rowsOf(t, loan.ID); !slices.Equal(rows, []string{"issue", "read denied refused lender_ended"}) {
		t.Errorf("rows %v", rows)
	}
}

// A connection that takes nothing does not hold up the end of its lending agent.
func TestAgentEndDrains(t *testing.T) {
	k := memoryKit(t)
	k.add(t, "One.", "client:acme")
	loan := k.issue(t, 10)
	s := newSlow()
	read := make(chan error, 1)
	rq := k.request(t, loan)
	go func() { read <- k.Read(context.Background(), Call{Request: rq, Send: s}) }()
	<-s.began
	done := make(chan struct{})
	go func() { defer close(done); k.endAgent(t, k.research) }()
	within(t, 4*drainTime, done, "the end of an agent")
	if err := <-read; fault.From(err).Reason != "connection" {
		t.Errorf("the read that was cut: got %v", err)
	}
}
