package daemon

import (
	"context"
	"fmt"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
	"trustnode/scripts/benchtest"
)

// revoked drafts the end of a loan at a node, as a revocation does.
func (s *seat) revoked(i int) (id envelope.ID) {
	s.t.Helper()
	of, rev := envelope.IDOf(fmt.Append(nil, s.cfg.Name, i)), envelope.IDOf(fmt.Append(nil, s.cfg.Name, "r", i))
	err := s.node.self.DB.Update(context.Background(), func(tx store.Tx) (err error) {
		id, err = s.node.self.Rec.Event(tx, attestation.Draft{Type: "loan.revoked", Subject: of.String(), Refs: []envelope.ID{rev},
			Data: attestation.LoanEnded{Cause: "ended", Target: of.String(), TargetKind: "permission"}})
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// BenchmarkFigureRevocationSpread is a revocation from its decision until all four peers hold
// it, authored; the floor is one round trip on a plain stream.
func BenchmarkFigureRevocationSpread(b *testing.B) {
	all := founded(b, "five", "acme", "beta", "core", "dora", "echo")
	time.Sleep(2 * time.Second) // links and heads of the start
	var took, bare []time.Duration
	for i := range 100 {
		began := time.Now()
		at, err := all[0].node.self.Rec.WaitLogged(b.Context(), all[0].revoked(i))
		if err != nil {
			b.Fatal(err)
		}
		last := began
		for _, o := range all[1:] {
			got, err := o.authored(all[0].cfg.Org, at+1)
			if err != nil {
				b.Fatal(err)
			}
			if got.After(last) {
				last = got
			}
		}
		took, bare = append(took, last.Sub(began)), append(bare, streamed(b, 1, 1, wireBytes))
		time.Sleep(50 * time.Millisecond)
	}
	benchtest.Latency(b, "log: a revocation at all of 4 peers, authored", benchtest.Of(took), benchtest.Of(bare), "one stream round trip", benchtest.Target{P99: 50 * time.Millisecond})
}

// missed has the others of five nodes say so many events together, which one does not hear,
// and returns the size that each log has then.
func missed(b *testing.B, all []*seat, lone *seat, events int) map[did.DID]uint64 {
	for i := 0; i < events; i += 4 * 500 {
		for k, s := range all {
			if s != lone {
				s.said(500, events*k+i)
			}
		}
	}
	sizes := map[did.DID]uint64{}
	for _, s := range all {
		if err := s.node.self.Rec.Flush(b.Context()); err != nil && s != lone {
			b.Fatal(err)
		}
		sizes[s.cfg.Org] = s.ownSize()
	}
	return sizes
}

// caughtUp waits until a node holds all logs, and returns when.
func (s *seat) caughtUp(b *testing.B, sizes map[did.DID]uint64) (last time.Time) {
	for d, size := range sizes {
		at, err := s.logged(d, size)
		if err != nil {
			b.Fatal(err)
		}
		if at.After(last) {
			last = at
		}
	}
	return last
}

// BenchmarkFigureHeal is one of five nodes that is cut off for 30 s, by connections that end,
// while the others write 10,000 events: the time from the end of the cut until all logs are
// equal. The floor is the time in which the same node, started again, brings as many, from the
// first to the last.
func BenchmarkFigureHeal(b *testing.B) {
	const events = 10_000
	net := newFabric(b)
	all := founded(b, "five", "acme", "beta", "core", "dora", "echo")
	for _, s := range all {
		s.stop()
	}
	for _, s := range all {
		s.startWith(Options{testingOnlyMembers: net.via(s.cfg.Name)})
	}
	for _, s := range all {
		s.waitFresh()
	}
	time.Sleep(10 * time.Second) // links are good ones by then
	lone := all[2]
	cutOff := func(how cut) {
		for _, s := range all {
			if s != lone {
				net.wires(s.node, lone.node, how)
			}
		}
	}
	cutOff(reset)
	cut := time.Now()
	sizes := missed(b, all, lone, events)
	if h, err := lone.node.self.Rec.Head(b.Context(), all[0].cfg.Org); err != nil || h.Size+events/8 > sizes[all[0].cfg.Org] {
		b.Fatalf("it heard of %d entries while it was cut off (%v)", h.Size, err)
	}
	time.Sleep(30*time.Second - time.Since(cut))
	cutOff(healed)
	healedAt := time.Now()
	took := lone.caughtUp(b, sizes).Sub(healedAt)

	lone.stop()
	sizes = missed(b, append(append([]*seat{}, all[:2]...), all[3:]...), nil, events)
	lone.startWith(Options{testingOnlyMembers: net.via(lone.cfg.Name)})
	begun := func() bool {
		for d, size := range sizes {
			if h, err := lone.node.self.Rec.Head(b.Context(), d); err == nil && h.Size+events/4-1 > size {
				return true
			}
		}
		return false
	}
	first, err := lone.until(begun)
	if err != nil {
		b.Fatal(err)
	}
	floor := lone.caughtUp(b, sizes).Sub(first)
	benchtest.Latency(b, "log: equal logs after a cut of 30 s, 10,000 missed", benchtest.Of([]time.Duration{took}), benchtest.Of([]time.Duration{floor}), "catch-up of as many", benchtest.Target{P50: 3 * time.Second})
}
