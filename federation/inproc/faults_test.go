package inproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/federation"
)

// member is a Transport with a Handler that writes down what happens and when.
type member struct {
	*Transport
	verdict federation.Verdict

	mu    sync.Mutex
	trace []string // guarded by mu
	heard []string // guarded by mu; messages
	begin time.Time
}

func (m *member) note(format string, a ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trace = append(m.trace, time.Since(m.begin).String()+" "+fmt.Sprintf(format, a...))
}

func (m *member) Judge(_ context.Context, _ federation.PeerID, _ federation.Topic, msg []byte) federation.Verdict {
	m.note("judge %.20q", msg)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard = append(m.heard, string(msg))
	return m.verdict
}

func (m *member) Serve(_ context.Context, _ federation.PeerID, p federation.Protocol, s federation.Stream) {
	m.note("serve")
	_, _ = io.Copy(s, s)
}

func (m *member) Linked(context.Context, federation.PeerID)   { m.note("linked") }
func (m *member) Unlinked(context.Context, federation.PeerID) { m.note("unlinked") }

func (m *member) count(msg string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.heard {
		if h == msg {
			n++
		}
	}
	return n
}

// messages returns what was judged, in order.
func (m *member) messages() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.heard)
}

// lines returns what happened, in order.
func (m *member) lines() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.trace)
}

func (m *member) say(t *testing.T, msg string) {
	t.Helper()
	if err := m.Publish(t.Context(), federation.TopicEvents, []byte(msg)); err != nil {
		t.Fatal(err)
	}
}

// bubble runs f with n nodes that admit each other.
func bubble(t *testing.T, n int, seed uint64, f func(t *testing.T, net *Network, ms []*member)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		net := New(seed)
		var ms []*member
		var all []federation.Peer
		for i := range n {
			tr := net.Join(peerID(t, i))
			ms = append(ms, &member{Transport: tr, verdict: federation.Accept, begin: time.Now()})
			all = append(all, federation.Peer{ID: tr.ID()})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		for _, m := range ms {
			if err := m.Admit(ctx, all); err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				if err := m.Run(ctx, m); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		f(t, net, ms)
	})
}

func settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func TestCutAndHeal(t *testing.T) {
	bubble(t, 2, 1, func(t *testing.T, net *Network, ms []*member) {
		s, err := ms[0].Open(t.Context(), ms[1].ID(), federation.ProtocolSync)
		if err != nil {
			t.Fatal(err)
		}
		net.Cut(ms[0].ID(), ms[1].ID())
		ms[0].say(t, "lost")
		if _, err := s.Read(make([]byte, 1)); err == nil {
			t.Error("a stream outlives its link")
		}
		if _, err := ms[0].Open(t.Context(), ms[1].ID(), federation.ProtocolSync); !errors.Is(err, federation.ErrUnreachable) {
			t.Errorf("Open over a cut: %v", err)
		}
		net.Heal(ms[0].ID(), ms[1].ID())
		ms[0].say(t, "found")
		settle()
		if ms[1].count("lost") != 0 || ms[1].count("found") != 1 {
			t.Errorf("heard %q", ms[1].messages())
		}
	})
}

func TestOneWay(t *testing.T) {
	bubble(t, 2, 1, func(t *testing.T, net *Network, ms []*member) {
		net.OneWay(ms[0].ID(), ms[1].ID())
		ms[0].say(t, "there")
		ms[1].say(t, "back")
		settle()
		if ms[1].count("there") != 1 || ms[0].count("back") != 0 {
			t.Errorf("heard %q and %q", ms[1].messages(), ms[0].messages())
		}
		s, err := ms[0].Open(t.Context(), ms[1].ID(), federation.ProtocolSync)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Write([]byte("echo")); err != nil {
			t.Fatal(err)
		}
		if err := s.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4)
		if _, err := io.ReadFull(s, b); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("an answer over a mute link: %q, %v", b, err)
		}
		net.Heal(ms[0].ID(), ms[1].ID())
		if err := s.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(s, b); err != nil || string(b) != "echo" {
			t.Errorf("after healing: %q, %v", b, err)
		}
	})
}

func TestDelay(t *testing.T) {
	bubble(t, 2, 1, func(t *testing.T, net *Network, ms []*member) {
		net.Delay(200 * time.Millisecond)
		begin := time.Now()
		s, err := ms[0].Open(t.Context(), ms[1].ID(), federation.ProtocolSync)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if got, want := time.Since(begin), 400*time.Millisecond; got != want {
			t.Errorf("a round trip takes %v, want %v", got, want)
		}
		_ = s.Close()
		ms[0].say(t, "late")
		time.Sleep(200*time.Millisecond - time.Microsecond)
		synctest.Wait()
		if ms[1].count("late") != 0 {
			t.Error("a message came before its time")
		}
		settle()
		if ms[1].count("late") != 1 {
			t.Error("a message did not come")
		}
	})
}

func TestChances(t *testing.T) {
	const n = 400
	for _, c := range []struct {
		name string
		set  func(*Network)
		ok   func(heard []string) bool
	}{
		{"nothing", func(*Network) {}, func(h []string) bool { return len(h) == n && slices.IsSorted(h) }},
		{"half is lost", func(net *Network) { net.Drop(0.5) }, func(h []string) bool { return len(h) > n/4 && len(h) < n*3/4 && slices.IsSorted(h) }},
		{"everything is lost", func(net *Network) { net.Drop(1) }, func(h []string) bool { return len(h) == 0 }},
		{"everything comes twice and is judged once", func(net *Network) { net.Dup(1) }, func(h []string) bool { return len(h) == n && slices.IsSorted(h) }},
		{"half comes late", func(net *Network) { net.Reorder(0.5) }, func(h []string) bool { return len(h) == n && !slices.IsSorted(h) }},
	} {
		bubble(t, 2, 7, func(t *testing.T, net *Network, ms []*member) {
			c.set(net)
			for i := range n {
				ms[0].say(t, fmt.Sprintf("message %05d", i))
			}
			settle()
			if !c.ok(ms[1].messages()) {
				t.Errorf("%s: heard %d: %.200q", c.name, len(ms[1].messages()), ms[1].messages())
			}
		})
	}
}

func TestQueueIsBounded(t *testing.T) {
	bubble(t, 2, 1, func(t *testing.T, net *Network, ms []*member) {
		net.Delay(time.Minute)
		for i := range queue + 100 {
			ms[0].say(t, fmt.Sprint("message ", i))
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := len(ms[1].messages()); got != queue {
			t.Errorf("%d messages waited, cap %d", got, queue)
		}
	})
}

// One message over the receive limit silences a link until it is made anew.
func TestOversizeSilencesUntilTheWatchdog(t *testing.T) {
	bubble(t, 2, 1, func(t *testing.T, net *Network, ms []*member) {
		net.Oversize(ms[1].ID(), 1000)
		ms[0].say(t, string(make([]byte, 2000)))
		settle()
		ms[0].say(t, "unheard")
		settle()
		ms[1].say(t, "the other way")
		time.Sleep(watchdog)
		synctest.Wait()
		ms[0].say(t, "heard")
		settle()
		if ms[1].count("unheard") != 0 || ms[1].count("heard") != 1 || ms[0].count("the other way") != 1 {
			t.Errorf("heard %.50q and %.50q", ms[1].messages(), ms[0].messages())
		}
	})
}

func TestIgnoredStaysDeadForTwoMinutes(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, net *Network, ms []*member) {
		net.Cut(ms[0].ID(), ms[2].ID())
		ms[1].verdict = federation.Ignore
		ms[0].say(t, "m")
		settle()
		ms[1].verdict = federation.Accept
		ms[2].say(t, "m")
		settle()
		if got := ms[1].count("m"); got != 1 {
			t.Fatalf("judged %d times", got)
		}
		// What was ignored is still published by the node itself, once it is good.
		ms[1].say(t, "m")
		settle()
		time.Sleep(sticky)
		ms[2].run.forgetAll()
		ms[2].say(t, "m")
		settle()
		if got := ms[1].count("m"); got != 2 {
			t.Errorf("judged %d times after the time was over, want 2", got)
		}
	})
}

// forgetAll makes a node publish again what it published.
func (r *running) forgetAll() { clear(r.seen) }

func TestScript(t *testing.T) {
	bubble(t, 2, 1, func(t *testing.T, net *Network, ms []*member) {
		a, b := ms[0].ID(), ms[1].ID()
		err := net.Play(t.Context(),
			Step{time.Minute, func(n *Network) { n.Cut(a, b) }},
			Step{0, func(*Network) { ms[0].say(t, "lost") }},
			Step{time.Hour, func(n *Network) { n.Heal(a, b) }},
			Step{0, func(*Network) { ms[0].say(t, "found") }},
			Step{time.Second, func(*Network) {}},
		)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"0s linked", "1m0s unlinked", "1h1m0s linked"}
		var got []string
		for _, l := range ms[1].lines() {
			if l[len(l)-1] == 'd' {
				got = append(got, l)
			}
		}
		if !slices.Equal(got, want) || ms[1].count("lost") != 0 || ms[1].count("found") != 1 {
			t.Errorf("trace %q", ms[1].lines())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := net.Play(ctx, Step{time.Hour, func(*Network) { t.Error("played after the end") }}); !errors.Is(err, context.Canceled) {
			t.Errorf("Play: %v", err)
		}
	})
}

func TestOneSeedOneRun(t *testing.T) {
	run := func(seed uint64) (trace []string) {
		bubble(t, 5, seed, func(t *testing.T, net *Network, ms []*member) {
			net.Drop(0.3)
			net.Dup(0.2)
			net.Reorder(0.3)
			net.Delay(20 * time.Millisecond)
			for i := range 60 {
				ms[i%len(ms)].say(t, fmt.Sprint("message ", i))
				time.Sleep(3 * time.Millisecond)
			}
			settle()
			for i, m := range ms {
				for _, l := range m.lines() {
					trace = append(trace, fmt.Sprint(i, " ", l))
				}
			}
		})
		return trace
	}
	a, b, other := run(3), run(3), run(4)
	if !slices.Equal(a, b) {
		t.Error("one seed gave two runs")
	}
	if slices.Equal(a, other) {
		t.Error("two seeds gave one run")
	}
	if len(a) < 200 {
		t.Errorf("only %d lines happened", len(a))
	}
}

func TestLobbyHasEightPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := New(1)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		join := func(i int, admits ...federation.Peer) *member {
			m := &member{Transport: net.Join(peerID(t, i)), verdict: federation.Accept, begin: time.Now()}
			if err := m.Admit(ctx, admits); err != nil {
				t.Fatal(err)
			}
			wg.Go(func() { _ = m.Run(ctx, m) })
			synctest.Wait()
			return m
		}
		host := join(0)
		for i := range federation.LobbySlots + 1 {
			g := join(i+1, federation.Peer{ID: host.ID()})
			s, err := g.Open(ctx, host.ID(), federation.ProtocolLobby)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = s.Write([]byte("x"))
			_, err = s.Read(make([]byte, 1))
			if over := i == federation.LobbySlots; (err != nil) != over {
				t.Errorf("guest %d: %v", i+1, err)
			}
		}
	})
}
