package daemon

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/p2p"
	"trustnode/node/httpapi"
)

// mute is a member's node that is linked and says nothing of its own.
type mute struct{ up chan federation.PeerID }

func (m mute) Judge(context.Context, federation.PeerID, federation.Topic, []byte) federation.Verdict {
	return federation.Ignore
}
func (m mute) Serve(ctx context.Context, _ federation.PeerID, _ federation.Protocol, s federation.Stream) {
	_ = s.Reset()
}
func (m mute) Linked(ctx context.Context, p federation.PeerID) {
	select {
	case m.up <- p:
	default:
	}
	<-ctx.Done()
}
func (m mute) Unlinked(context.Context, federation.PeerID) {}

// rogue runs a transport under the node key of a house that does not run, linked to
// another house which it has greeted as the real node would.
func rogue(t *testing.T, as, to *fort) *p2p.Transport {
	t.Helper()
	var seed, hello []byte
	as.offline(func(_ *httpapi.Client, n *Node) {
		var err error
		if seed, err = n.keys.HostKey(t.Context()); err != nil {
			t.Fatal(err)
		}
		h, err := n.member.Seams().Greeter.Hello(t.Context(), to.cfg.Org)
		if err != nil {
			t.Fatal(err)
		}
		h.Verdict, h.Now = federation.AdmitOK, envelope.TimeOf(time.Now())
		if hello, err = h.Encode(); err != nil {
			t.Fatal(err)
		}
	})
	tr, err := p2p.New(p2p.Config{Seed: seed, Listen: as.cfg.P2P})
	if err != nil {
		t.Fatal(err)
	}
	target := to.node.transport
	if err := tr.Admit(t.Context(), []federation.Peer{{ID: target.ID(), Addrs: target.Addrs(), Org: to.cfg.Org}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	m := mute{make(chan federation.PeerID, 1)}
	go func() { done <- tr.Run(ctx, m) }()
	t.Cleanup(func() { cancel(); <-done })
	select {
	case <-m.up:
	case <-time.After(20 * time.Second):
		t.Fatal("never linked")
	}
	s, err := tr.Open(t.Context(), target.ID(), federation.ProtocolHello)
	if err != nil {
		t.Fatal(err)
	}
	f := federation.NewFrames(s, federation.ProtocolHello)
	if err := f.Write(hello); err != nil {
		t.Fatal(err)
	}
	b, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	if h, err := federation.ParseHello(b); err != nil || h.Verdict != federation.AdmitOK {
		t.Fatalf("not greeted: %v %v", h.Verdict, err)
	}
	return tr
}

// assaults are what a hostile peer does with one stream, until it is cut or ends itself.
var assaults = map[string]func(s federation.Stream){
	"garbage": func(s federation.Stream) {
		b := make([]byte, 64<<10)
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		_, _ = s.Write(b)
		_, _ = io.Copy(io.Discard, s)
	},
	"a length of 2^40": func(s federation.Stream) {
		_, _ = s.Write(binary.AppendUvarint(nil, 1<<40))
		_, _ = io.Copy(io.Discard, s)
	},
	"a large frame that stops": func(s federation.Stream) {
		_, _ = s.Write(append(binary.AppendUvarint(nil, 2<<20), make([]byte, 64<<10)...))
		_, _ = io.Copy(io.Discard, s)
	},
	"a frame of nothing": func(s federation.Stream) {
		_, _ = s.Write([]byte{0})
		_, _ = io.Copy(io.Discard, s)
	},
	"deep JSON": func(s federation.Stream) {
		b := make([]byte, 3000)
		for i := range b {
			b[i] = '['
		}
		_, _ = s.Write(federation.AppendFrame(nil, b))
		_, _ = io.Copy(io.Discard, s)
	},
	"endless frames": func(s federation.Stream) {
		frame := federation.AppendFrame(nil, []byte(`{"object":{"id":"zQmUuvoJRfZXFLvy36yFdep2nothing"}}`))
		for {
			if _, err := s.Write(frame); err != nil {
				return
			}
		}
	},
	"silence": func(s federation.Stream) { _, _ = io.Copy(io.Discard, s) },
	"a byte a second": func(s federation.Stream) {
		_, _ = s.Write(binary.AppendUvarint(nil, 3000))
		for {
			if _, err := s.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	},
}

// TestAHostilePeerIsCutAndTheNodeGoesOn: a member's node that abuses every protocol on
// many streams at once costs its own links; reads of others are answered meanwhile.
func TestAHostilePeerIsCutAndTheNodeGoesOn(t *testing.T) {
	s := newSiege(t)
	s.remember("acme sells at 12")
	var own httpapi.Agent
	s.acme.must(http.MethodPost, "/api/v1/agents", httpapi.AgentAdd{Name: "desk", Can: []string{"borrow"}}, &own)
	var loan httpapi.Loan
	s.acme.must(http.MethodPost, "/api/v1/permissions", httpapi.LoanIssue{Lender: "research", Borrower: own.DID, Scope: "tag:client:acme", Purpose: "p", Expires: "24h", MaxReads: 10000}, &loan)
	s.vendor.stop()
	tr := rogue(t, s.vendor, s.acme)
	target := s.acme.node.transport.ID()
	goroutines := runtime.NumGoroutine()

	ctx, stop := context.WithTimeout(t.Context(), 25*time.Second)
	defer stop()
	var wg sync.WaitGroup
	for name, assault := range assaults {
		for _, proto := range federation.Protocols() {
			for range 20 {
				wg.Go(func() {
					s, err := tr.Open(ctx, target, proto)
					if err != nil {
						return // refused is as good as cut
					}
					stop := context.AfterFunc(ctx, func() { t.Errorf("%s on %s was never cut", name, proto); _ = s.Reset() })
					defer stop()
					if proto == federation.ProtocolLend {
						_ = s.SetDeadline(time.Now().Add(12 * time.Second)) // it may be idle longer than the siege lasts
					}
					assault(s)
					_ = s.Reset()
				})
			}
		}
	}
	reads := 0
	for done := make(chan struct{}); ; {
		if reads == 0 {
			go func() { wg.Wait(); close(done) }()
		}
		var a httpapi.LoanAnswer
		s.acme.must(http.MethodPost, "/api/v1/loans/read", httpapi.LoanRead{As: "desk", Permission: loan.ID, Purpose: "p"}, &a)
		reads++
		select {
		case <-done:
		case <-time.After(20 * time.Millisecond):
			continue
		}
		break
	}
	t.Logf("%d reads were answered meanwhile", reads)
	eventually(t, "the goroutines of cut streams gone", func() bool { return runtime.NumGoroutine() < goroutines+150 })
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 512<<20 {
		t.Errorf("%d MiB are held after the siege", m.HeapAlloc>>20)
	}
	if st := s.acme.node.gossip.Stats(); st.Blamed == 0 {
		t.Errorf("nobody was blamed: %+v", st)
	}
	s.arbiter.waitFresh()
	s.acme.waitFresh()
}
