package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
	"trustnode/scripts/benchtest"
)

// said drafts n events at a node and returns the id of the last.
func (s *seat) said(n, from int) (last envelope.ID) {
	s.t.Helper()
	err := s.node.self.DB.Update(context.Background(), func(tx store.Tx) (err error) {
		for i := range n {
			perm := envelope.IDOf(fmt.Appendf(nil, "%s %d", s.cfg.Name, from+i))
			d := attestation.Draft{Type: "loan.taken", Subject: perm.String(), Refs: []envelope.ID{perm}, Data: attestation.LoanTaken{Permission: perm}}
			if last, err = s.node.self.Rec.Event(tx, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return last
}

// logged waits until the node holds that many entries of a log, durably and under a head, and
// returns when.
func (s *seat) logged(d did.DID, size uint64) (time.Time, error) {
	return s.until(func() bool {
		h, err := s.node.self.Rec.Head(context.Background(), d)
		return err == nil && h.Size >= size
	})
}

// authored is logged of entries that are judged.
func (s *seat) authored(d did.DID, size uint64) (time.Time, error) {
	return s.until(func() bool { return s.node.events.Judged(d) >= size })
}

func (s *seat) until(is func() bool) (time.Time, error) {
	for end := time.After(2 * time.Minute); ; {
		changed := s.node.self.Rec.Changed()
		if is() {
			return time.Now(), nil
		}
		select {
		case <-changed:
		case <-end:
			return time.Time{}, errors.New("the entries did not come")
		}
	}
}

func (s *seat) ownSize() uint64 {
	h, err := s.node.self.Rec.Head(context.Background(), s.cfg.Org)
	if err != nil {
		s.t.Fatal(err)
	}
	return h.Size
}

// streamed sends bytes over plain loopback streams, in frames of a package, and returns how
// long it takes until the other ends have answered.
func streamed(b *testing.B, streams, frames, size int) time.Duration {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	var conns []net.Conn
	for range streams {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		o, err := l.Accept()
		if err != nil {
			b.Fatal(err)
		}
		defer o.Close()
		conns = append(conns, c)
		go func() {
			buf := make([]byte, size)
			for range frames {
				if _, err := io.ReadFull(o, buf); err != nil {
					return
				}
			}
			_, _ = o.Write(buf[:1])
		}()
	}
	frame := make([]byte, size)
	start := time.Now()
	for range frames {
		for _, c := range conns {
			if _, err := c.Write(frame); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, c := range conns {
		if _, err := io.ReadFull(c, frame[:1]); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// cores is how many the figures are for.
const cores = 2

// wireBytes is what one of these events takes in a package.
const wireBytes = 560

// BenchmarkFigureCatchUp is a node that was off while another one's log grew: the events a
// second from the first to the last that came, logged and durable, and then authored. The
// floor is the same bytes in frames on one plain stream.
func BenchmarkFigureCatchUp(b *testing.B) {
	const events = 30_000
	all := founded(b, "pair", "acme", "vendor", "arbiter")
	from, to := all[0], all[1]
	to.stop()
	all[2].stop()
	for i := 0; i < events; i += 1000 {
		from.said(1000, i)
	}
	if err := from.node.self.Rec.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	org, size := from.cfg.Org, from.ownSize()
	to.start()
	first, err := to.logged(org, size-events+1)
	if err != nil {
		b.Fatal(err)
	}
	h, _ := to.node.self.Rec.Head(b.Context(), org)
	judged := to.node.events.Judged(org)
	cpu := benchtest.CPU()
	logged, err := to.logged(org, size)
	if err != nil {
		b.Fatal(err)
	}
	loggedCPU := benchtest.CPU() - cpu
	authored, err := to.authored(org, size)
	if err != nil {
		b.Fatal(err)
	}
	cpu = benchtest.CPU() - cpu
	if h.Size+events/2 > size {
		b.Fatalf("%d of %d had come before it was looked at", h.Size, size)
	}
	floor := events / streamed(b, 1, events/attestation.MaxBatch, wireBytes*attestation.MaxBatch).Seconds()
	rate := func(name string, n uint64, took time.Duration, want float64) {
		benchtest.Rate(b, name, float64(n)/took.Seconds(), floor, "raw frames on one stream", benchtest.Target{Rate: want})
	}
	rate("log: catch-up, logged and durable", size-h.Size, logged.Sub(first), 80_000)
	rate("the same by processor time, both ends", size-h.Size, loggedCPU/cores, 80_000)
	rate("log: catch-up, authored", size-judged, authored.Sub(first), 25_000)
	rate("the same by processor time, both ends and all of it", size-judged, cpu/cores, 25_000)
}

// spread is when an event had come to a peer, from a signed head at its origin on.
type spread struct {
	logged, authored time.Duration
	err              error
}

// BenchmarkFigureGossip is five nodes on loopback. At 40 events a second of each, 200 in all,
// it is the time from a signed head at the origin until a peer holds the event, logged and then
// authored; the floor sends as many bytes over plain streams. Then one of them says as much as
// it can until all hold it.
func BenchmarkFigureGossip(b *testing.B) {
	all := founded(b, "five", "acme", "beta", "core", "dora", "echo")
	time.Sleep(2 * time.Second) // links and heads of the start
	const rounds = 60
	arrivals := make(chan spread, rounds*len(all)*len(all))
	waiting := 0
	for i := range rounds {
		for k, s := range all {
			began := time.Now()
			id := s.said(1, 1_000_000+i)
			at, err := s.node.self.Rec.WaitLogged(b.Context(), id)
			if err != nil {
				b.Fatal(err)
			}
			sent := time.Now()
			for j, o := range all {
				if j == k {
					continue
				}
				waiting++
				go func() {
					logged, err := o.logged(s.cfg.Org, at+1)
					authored, also := o.authored(s.cfg.Org, at+1)
					arrivals <- spread{max(0, logged.Sub(sent)), max(0, authored.Sub(sent)), errors.Join(err, also)}
				}()
			}
			time.Sleep(5*time.Millisecond - time.Since(began))
		}
	}
	var logged, authored, bare []time.Duration
	for range waiting {
		a := <-arrivals
		if a.err != nil {
			b.Fatal(a.err)
		}
		logged, authored = append(logged, a.logged), append(authored, a.authored)
	}
	for range 200 {
		bare = append(bare, streamed(b, len(all)-1, 1, wireBytes))
	}
	want := benchtest.Target{P50: time.Millisecond, P99: 5 * time.Millisecond}
	benchtest.Latency(b, "log: gossip to 4 peers at 200/s, logged", benchtest.Of(logged), benchtest.Of(bare), "plain streams", want)
	benchtest.Latency(b, "the same, authored", benchtest.Of(authored), benchtest.Of(bare), "plain streams", want)
	eventsToAll(b, all)
}

// eventsToAll is how many events a second one of some nodes brings to all of them.
func eventsToAll(b *testing.B, all []*seat) {
	const events = 20_000
	org, was := all[0].cfg.Org, all[0].ownSize()
	start, cpu := time.Now(), benchtest.CPU()
	for i := 0; i < events; i += 1000 {
		all[0].said(1000, 2_000_000+i)
	}
	slowest := func(wait func(s *seat) (time.Time, error)) (took time.Duration, spent time.Duration) {
		for _, s := range all {
			at, err := wait(s)
			if err != nil {
				b.Fatal(err)
			}
			took = max(took, at.Sub(start))
		}
		return took, benchtest.CPU() - cpu
	}
	logged, loggedCPU := slowest(func(s *seat) (time.Time, error) { return s.logged(org, was+events) })
	authored, authoredCPU := slowest(func(s *seat) (time.Time, error) { return s.authored(org, was+events) })
	floor := events / streamed(b, len(all)-1, events/attestation.MaxBatch, wireBytes*attestation.MaxBatch).Seconds()
	rate := func(name string, took time.Duration) {
		benchtest.Rate(b, name, events/took.Seconds(), floor, "the same bytes by plain streams", benchtest.Target{Rate: 15_000})
	}
	rate("log: events to all of 5, logged", logged)
	rate("the same by processor time of all 5", loggedCPU/cores)
	rate("log: events to all of 5, authored", authored)
	rate("the same by processor time of all 5, authored", authoredCPU/cores)
}
