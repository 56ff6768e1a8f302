package p2p

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/network"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"trustnode/federation"
)

// member is a Transport with a Handler that remembers.
type member struct {
	*Transport
	t    *testing.T
	stop func()

	mu     sync.Mutex
	judged map[string]bool           // guarded by mu
	links  map[federation.PeerID]int // guarded by mu; how often Linked was called
}

func (m *member) Judge(_ context.Context, _ federation.PeerID, _ federation.Topic, msg []byte) federation.Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.judged[string(msg)] = true
	return federation.Accept
}

func (m *member) Serve(_ context.Context, _ federation.PeerID, p federation.Protocol, s federation.Stream) {
	f := federation.NewFrames(s, p)
	if b, err := f.Read(); err == nil {
		_ = f.Write(b)
	}
}

func (m *member) Linked(_ context.Context, p federation.PeerID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links[p]++
}

func (m *member) Unlinked(context.Context, federation.PeerID) {}

func (m *member) linked(o *member) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.links[o.ID()]
}

func (m *member) heard(msg string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.judged[msg]
}

func (m *member) peer() federation.Peer { return federation.Peer{ID: m.ID(), Addrs: m.Addrs()} }

// start makes node i and runs it.
func start(t *testing.T, i int, edit func(*Config)) *member {
	t.Helper()
	cfg := Config{Seed: seedOf(i), Listen: []string{"/ip4/127.0.0.1/tcp/0"}}
	if edit != nil {
		edit(&cfg)
	}
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{Transport: tr, t: t, judged: map[string]bool{}, links: map[federation.PeerID]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- tr.Run(ctx, m) }()
	m.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(m.stop)
	eventually(t, "Run", func() bool { return tr.running() != nil })
	return m
}

func (m *member) admit(ps ...federation.Peer) {
	m.t.Helper()
	if err := m.Admit(m.t.Context(), ps); err != nil {
		m.t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never seen: %s", what)
}

// flows waits until gossip passes from a to b.
func flows(t *testing.T, a, b *member) {
	t.Helper()
	for n := 0; ; n++ {
		msg := fmt.Sprintf("probe %s %d %d", a.ID(), n, time.Now().UnixNano())
		if err := a.Publish(t.Context(), federation.TopicBeacons, []byte(msg)); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if b.heard(msg) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n > 300 {
			t.Fatal("gossip never passes")
		}
	}
}

func TestDegrees(t *testing.T) {
	tr := start(t, 0, nil)
	for n := 2; n <= 64; n++ {
		d := degreesFor(n)
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := pubsub.NewGossipSub(ctx, tr.host, pubsub.WithGossipSubParams(d.params())); err != nil {
			t.Errorf("%d nodes: gossipsub refuses %+v: %v", n, d, err)
		}
		cancel()
	}
	for n, want := range map[int]degrees{
		2: {4, 2, 8, 1}, 12: {4, 2, 8, 1}, 13: {6, 4, 12, 2}, 16: {6, 4, 12, 2}, 17: {7, 5, 14, 2},
		32: {7, 5, 14, 2}, 33: {8, 6, 16, 3}, 64: {8, 6, 16, 3},
	} {
		if got := degreesFor(n); got != want {
			t.Errorf("%d nodes: %+v, want %+v", n, got, want)
		}
	}
}

// The measured trap: one message over the receive limit of the other side, and
// nothing arrives any more over a link that looks well.
func TestWatchdogHealsALowReceiveLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the watchdog")
	}
	patience := func(c *Config) { c.testingOnlyAbsent = 2 * time.Second }
	a := start(t, 0, patience)
	b := start(t, 1, func(c *Config) { patience(c); c.testingOnlyReceive = 64 << 10 })
	a.admit(b.peer())
	b.admit(a.peer())
	flows(t, a, b)
	before := a.Resets() + b.Resets()
	big := bytes.Repeat([]byte("x"), 100<<10)
	if err := a.Publish(t.Context(), federation.TopicEvents, big); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the watchdog closing the link, or gossip going on by itself", func() bool {
		msg := fmt.Sprint("after ", time.Now().UnixNano())
		if err := a.Publish(t.Context(), federation.TopicEvents, []byte(msg)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		return b.heard(msg)
	})
	if b.heard(string(big)) {
		t.Error("a message over the receive limit arrived")
	}
	t.Logf("links closed: %d", a.Resets()+b.Resets()-before)
	flows(t, a, b)
	flows(t, b, a)
}

// A peer that is linked and never joins the topics is met anew, ever more seldom.
func TestWatchdogClosesLinksWithoutTopics(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the watchdog")
	}
	a := start(t, 0, func(c *Config) { c.testingOnlyAbsent = time.Second })
	b := start(t, 1, nil) // admits nobody: a is in its lobby
	a.admit(b.peer())
	eventually(t, "a link closed", func() bool { return a.Resets() >= 1 })
	eventually(t, "a second link", func() bool { return a.linked(b) >= 2 })
	b.admit(a.peer())
	flows(t, a, b)
}

// Connect over a gate that closes returns nil: no handler may believe it.
func TestLobbyIsFull(t *testing.T) {
	m := start(t, 0, nil)
	var guests []*member
	for i := range federation.LobbySlots {
		g := start(t, i+1, nil)
		g.admit(m.peer())
		eventually(t, "a guest in the lobby", func() bool { return g.linked(m) > 0 })
		guests = append(guests, g)
	}
	late := start(t, 99, nil)
	late.admit(m.peer())
	if _, err := late.Open(t.Context(), m.ID(), federation.ProtocolHello); err == nil {
		t.Error("opened a stream past a full lobby")
	}
	if late.linked(m) != 0 {
		t.Error("was told of a link that the gate closed")
	}
	m.admit(late.peer())
	eventually(t, "the late one as a member", func() bool { return late.linked(m) > 0 })
	flows(t, late, m)
	guests[0].stop()
	next := start(t, 100, nil)
	next.admit(m.peer())
	eventually(t, "a guest in the slot given back", func() bool { return next.linked(m) > 0 })
}

// Degrees cannot be changed in gossipsub: growing past 12 nodes makes it anew.
func TestGrowingPastDirectPeers(t *testing.T) {
	a, b := start(t, 0, nil), start(t, 1, nil)
	a.admit(b.peer())
	b.admit(a.peer())
	flows(t, a, b)
	crowd := func(m *member) []federation.Peer {
		ps := []federation.Peer{m.peer()}
		for i := range 14 {
			_, id, err := federation.NodeSigner(seedOf(1000 + i))
			if err != nil {
				t.Fatal(err)
			}
			ps = append(ps, federation.Peer{ID: id})
		}
		return ps
	}
	a.admit(crowd(b)...)
	b.admit(crowd(a)...)
	flows(t, a, b)
	flows(t, b, a)
	a.admit(b.peer())
	b.admit(a.peer())
	flows(t, a, b)
	flows(t, b, a)
}

func TestOneSideAloneKnowsAnAddress(t *testing.T) {
	for _, dials := range []int{0, 1} {
		ms := []*member{start(t, 0, nil), start(t, 1, nil)}
		there, here := ms[1-dials], ms[dials]
		here.admit(there.peer())
		there.admit(federation.Peer{ID: here.ID()})
		flows(t, here, there)
		flows(t, there, here)
		ms[0].stop()
		ms[1].stop()
	}
}

func TestAddressesOfABindingChange(t *testing.T) {
	a, b := start(t, 0, nil), start(t, 1, nil)
	b.admit(federation.Peer{ID: a.ID()})
	wrong := federation.Peer{ID: b.ID(), Addrs: []string{"/ip4/127.0.0.1/tcp/1", "/made-up/1", "not an address"}}
	a.admit(wrong)
	if _, err := a.Open(t.Context(), b.ID(), federation.ProtocolSync); !errors.Is(err, federation.ErrUnreachable) {
		t.Errorf("Open over addresses that lead nowhere: %v, want ErrUnreachable", err)
	}
	a.admit(b.peer())
	flows(t, a, b)
}

func TestNothingIsLetInBeforeRun(t *testing.T) {
	asleep, err := New(Config{Seed: seedOf(1), Listen: []string{"/ip4/127.0.0.1/tcp/0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer asleep.Close()
	a := start(t, 0, nil)
	if err := asleep.Admit(t.Context(), []federation.Peer{a.peer()}); err != nil {
		t.Fatal(err)
	}
	a.admit(federation.Peer{ID: asleep.ID(), Addrs: asleep.Addrs()})
	if _, err := a.Open(t.Context(), asleep.ID(), federation.ProtocolHello); !errors.Is(err, federation.ErrUnreachable) {
		t.Errorf("Open to a transport that does not run: %v, want ErrUnreachable", err)
	}
}

func TestGarbageOnThePort(t *testing.T) {
	a, b := start(t, 0, nil), start(t, 1, nil)
	a.admit(b.peer())
	b.admit(a.peer())
	addr, err := ma.NewMultiaddr(a.Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, junk := range []string{"", "GET / HTTP/1.1\r\n\r\n", strings.Repeat("\xff", 1<<16), "\x13/multistream/1.0.0\n" + strings.Repeat("x", 1<<16)} {
		c, err := manet.Dial(addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte(junk))
		defer c.Close()
	}
	flows(t, a, b)
	flows(t, b, a)
}

func TestNewRefuses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", l.Addr().(*net.TCPAddr).Port)
	for _, c := range []struct {
		name string
		cfg  Config
		says string
	}{
		{"a short seed", Config{Seed: make([]byte, 31)}, "31 bytes"},
		{"no multiaddr", Config{Seed: seedOf(0), Listen: []string{"127.0.0.1:8421"}}, "127.0.0.1:8421"},
		{"a port that is taken", Config{Seed: seedOf(0), Listen: []string{"/ip4/127.0.0.1/tcp/0", taken}}, taken},
		{"a transport that is not ours", Config{Seed: seedOf(0), Listen: []string{"/ip4/127.0.0.1/tcp/0/ws"}}, "/ws"},
		{"no cidr", Config{Seed: seedOf(0), CIDRs: []string{"10.0.0.0"}}, "10.0.0.0"},
	} {
		tr, err := New(c.cfg)
		if err == nil {
			_ = tr.Close()
			t.Errorf("%s: made", c.name)
		} else if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v does not name %q", c.name, err, c.says)
		}
	}
}

// All members can sit behind one address; 8 connections were the end.
func TestConnectionsOfOneAddress(t *testing.T) {
	open := func(addr string) (n int) {
		rm, err := newResources([]netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")})
		if err != nil {
			t.Fatal(err)
		}
		defer rm.Close()
		m := ma.StringCast(addr)
		for range 3 * perSubnet {
			if _, err := rm.OpenConnection(network.DirOutbound, false, m); err != nil {
				break
			}
			n++
		}
		return n
	}
	if got := open("/ip4/192.0.2.7/udp/8421/quic-v1"); got != perSubnet {
		t.Errorf("a stranger's address: %d connections, want %d", got, perSubnet)
	}
	for _, a := range []string{"/ip4/198.51.100.9/udp/8421/quic-v1", "/ip4/127.0.0.1/udp/8421/quic-v1"} {
		if got := open(a); got <= perSubnet {
			t.Errorf("%s: %d connections, want more than %d", a, got, perSubnet)
		}
	}
}

func TestVisits(t *testing.T) {
	var v visits
	now := time.Unix(1e9, 0)
	for _, c := range []struct {
		name, addr string
		later      time.Duration
		want       bool
	}{
		{"first", "192.0.2.1", 0, true},
		{"second, a neighbour", "192.0.2.2", 0, true},
		{"third", "192.0.2.3", 0, true},
		{"fourth", "192.0.2.4", 59 * time.Second, true},
		{"fifth in a minute", "192.0.2.5", 59 * time.Second, false},
		{"another network", "198.51.100.1", 59 * time.Second, true},
		{"this machine", "127.0.0.1", 59 * time.Second, true},
		{"the next minute", "192.0.2.5", time.Minute, true},
		{"no address", "", time.Minute, true},
	} {
		a, _ := netip.ParseAddr(c.addr)
		if got := v.allow(a, now.Add(c.later)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	for i := range 5 {
		a := netip.MustParseAddr(fmt.Sprintf("2001:db8:0:%x::1", i))
		if got, want := v.allow(a, now.Add(time.Minute)), i < 4; got != want {
			t.Errorf("visit %d of one /56: %v", i, got)
		}
	}
}

func TestRunLeavesNothingBehind(t *testing.T) {
	cycle := func() {
		a, b := start(t, 0, nil), start(t, 1, nil)
		a.admit(b.peer())
		b.admit(a.peer())
		flows(t, a, b)
		a.stop()
		b.stop()
	}
	cycle() // what libp2p starts once for the process
	before := runtime.NumGoroutine()
	for range 3 {
		cycle()
	}
	eventually(t, "all goroutines ended", func() bool { return runtime.NumGoroutine() <= before+2 })
}
