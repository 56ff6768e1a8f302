package gossip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/bundle"
)

// rogue is a member's node that answers one protocol in its own way.
type rogue struct {
	*Node
	proto federation.Protocol
	serve func(ctx context.Context, s federation.Stream)
}

func (r rogue) Serve(ctx context.Context, from federation.PeerID, p federation.Protocol, s federation.Stream) {
	if p == r.proto {
		r.serve(ctx, s)
		return
	}
	r.Node.Serve(ctx, from, p, s)
}

func (r rogue) Linked(ctx context.Context, id federation.PeerID) { // greets, never syncs
	r.Node.befriend(ctx, r.Node.peer(id))
}

// rogue starts home i as one.
func (w *world) rogue(i int, proto federation.Protocol, serve func(context.Context, federation.Stream)) (*Node, federation.Transport) {
	w.t.Helper()
	h := w.hs[i]
	tr := w.net.Join(h.peer)
	n, err := New(h.config(tr))
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := n.admit(ctx); err != nil {
		w.t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = tr.Run(ctx, rogue{n, proto, serve}) })
	w.stop[i] = func() { cancel(); wg.Wait() }
	return n, tr
}

func frames(s federation.Stream, bs ...[]byte) error {
	for _, b := range bs {
		if _, err := s.Write(federation.AppendFrame(nil, b)); err != nil {
			return err
		}
	}
	return nil
}

// rogueAnswers are the ways in which a peer answers sync.
func rogueAnswers(w *world, h *home) map[string]func(context.Context, federation.Stream) {
	n, err := New(h.config(w.net.Join(newHome(w.t, 99).peer)))
	if err != nil {
		w.t.Fatal(err)
	}
	showing := func(edit func(*heads)) []byte {
		x, err := n.heads(context.Background())
		if err != nil {
			w.t.Fatal(err)
		}
		edit(&x)
		b, err := envelope.Marshal(headsFrame{x})
		if err != nil {
			w.t.Fatal(err)
		}
		return b
	}
	same := showing(func(*heads) {})
	tempting := showing(func(x *heads) { x.Sets.Beacons = envelope.IDOf([]byte("more")) })
	after := func(reply ...[]byte) func(context.Context, federation.Stream) {
		return func(_ context.Context, s federation.Stream) {
			f := federation.NewFrames(s, federation.ProtocolSync)
			if _, err := f.Read(); err != nil || f.Write(tempting) != nil {
				return
			}
			for {
				if b, err := f.Read(); err != nil || isEnd(b) || frames(s, reply...) != nil {
					return
				}
			}
		}
	}
	beacon, _ := beaconsOf{h}.Make(context.Background())
	if beacon.Type == "" {
		h.start = false
		beacon, _ = beaconsOf{h}.Make(context.Background())
	}
	bad := beacon
	bad.Signatures = append(bad.Signatures[:0:0], beacon.Signatures...)
	bad.Signatures[0].Sig[3] ^= 1
	binding := h.bound[h.me]
	entries := func(edit func(*entriesLine)) []byte {
		l, _ := logsOf{h}.Log(context.Background(), h.me)
		p, err := packageOf(context.Background(), h.me, l, 0, 3, 3, maxLine)
		if err != nil {
			w.t.Fatal(err)
		}
		b, _ := entriesOf(p, 3)
		var e entriesLine
		if err := envelope.Unmarshal(b, &e); err != nil {
			w.t.Fatal(err)
		}
		edit(&e)
		b, _ = envelope.Marshal(e)
		return b
	}
	long := bytes.Repeat([]byte("A"), 1<<20)
	return map[string]func(context.Context, federation.Stream){
		"garbage instead of frames": func(_ context.Context, s federation.Stream) {
			_, _ = s.Write(bytes.Repeat([]byte{0xff, 0x00, 0x13}, 4000))
			_, _ = io.Copy(io.Discard, s) // a stream that ends at once may fail before it is read
		},
		"a frame of 2 GiB": func(_ context.Context, s federation.Stream) {
			_, _ = s.Write([]byte{0xff, 0xff, 0xff, 0xff, 0x07})
			_, _ = s.Write(long)
			_, _ = io.Copy(io.Discard, s)
		},
		"garbage in a frame": func(_ context.Context, s federation.Stream) {
			_ = frames(s, []byte("{not json"))
			_, _ = io.Copy(io.Discard, s)
		},
		"heads with another key": func(_ context.Context, s federation.Stream) {
			_ = frames(s, []byte(`{"head":{}}`))
			_, _ = io.Copy(io.Discard, s)
		},
		"heads of another federation": func(_ context.Context, s federation.Stream) {
			_ = frames(s, showing(func(x *heads) { x.Federation = envelope.IDOf([]byte("x")) }))
			_, _ = io.Copy(io.Discard, s)
		},
		"silence from the first": func(ctx context.Context, s federation.Stream) { <-ctx.Done() },
		"silence after heads": func(ctx context.Context, s federation.Stream) {
			_ = frames(s, tempting)
			<-ctx.Done()
		},
		"a dribble": func(ctx context.Context, s federation.Stream) {
			for _, b := range federation.AppendFrame(nil, same) {
				if _, err := s.Write([]byte{b}); err != nil || !sleep(ctx, time.Second) {
					return
				}
			}
		},
		"an endless answer": func(_ context.Context, s federation.Stream) {
			f := federation.NewFrames(s, federation.ProtocolSync)
			_, _ = f.Read()
			_ = f.Write(tempting)
			_, _ = f.Read()
			for f.Write(beacon.DSSE()) == nil {
			}
		},
		"asks without end": func(_ context.Context, s federation.Stream) {
			f := federation.NewFrames(s, federation.ProtocolSync)
			_, _ = f.Read()
			_ = f.Write(same)
			for {
				if b, err := f.Read(); err != nil || isEnd(b) {
					break
				}
				_ = f.Write([]byte(`{"end":true,"more":false}`))
			}
			for f.Write([]byte(`{"bindings":{"have":[]}}`)) == nil {
				for {
					if b, err := f.Read(); err != nil {
						return
					} else if isEnd(b) {
						break
					}
				}
			}
		},
		"an unknown line":            after([]byte(`{"x":1}`)),
		"a malformed end":            after([]byte(`{"end":false,"more":false}`)),
		"a binding for a beacon":     after(binding.DSSE()),
		"a line of another kind":     after([]byte(`{"body":"e30","id":"` + envelope.IDOf([]byte("{}")).String() + `"}`)),
		"entries that are not":       after(entries(func(e *entriesLine) { e.Entries[1] = e.Entries[0] })),
		"entries under another size": after(entries(func(e *entriesLine) { e.Size = 2 })),
		"no entries":                 after(entries(func(e *entriesLine) { e.Entries = nil })),
		"the log of another":         after(entries(func(e *entriesLine) { e.DID = orgDID(2) })),
	}
}

func TestRoguesAreCut(t *testing.T) {
	names := map[string]bool{}
	inWorld(t, 2, func(w *world) {
		w.hs[1].say(false, some(3)...)
		for name := range rogueAnswers(w, w.hs[1]) {
			names[name] = true
		}
	})
	for name := range names {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				a, c := w.hs[0], w.hs[2]
				w.hs[1].say(false, some(3)...)
				w.rogue(1, federation.ProtocolSync, rogueAnswers(w, w.hs[1])[name])
				w.start(0)
				w.wait(5 * time.Minute)
				if s := w.node(0).Stats(); s.Blamed == 0 {
					t.Errorf("nobody is blamed: %+v", s)
				}
				w.start(2)
				w.wait(time.Second)
				c.say(true, some(5)...)
				thing := c.keep(bundle.Body{Body: []byte(`{"t":1}`)})
				begin := time.Now()
				if err := w.node(0).Fetch(w.t.Context(), thing); err != nil || !a.has(thing) {
					t.Errorf("Fetch beside a rogue: %v", err)
				}
				if err := w.node(0).Sync(w.t.Context()); err != nil {
					t.Errorf("Sync beside a rogue: %v", err)
				}
				if d := time.Since(begin); d > 2*askAll {
					t.Errorf("it took %v", d)
				}
				w.wait(time.Second)
				if a.size(c.me) != 5 || c.size(a.me) != a.size(a.me) {
					t.Error("honest nodes do not converge beside a rogue")
				}
			})
		})
	}
}

// A peer that opens streams and misuses them.
func TestRogueOpeners(t *testing.T) {
	ask := func(text string) func(*world, federation.Stream) {
		return func(w *world, s federation.Stream) {
			n, _ := New(w.hs[1].config(w.net.Join(newHome(w.t, 98).peer)))
			x, _ := n.heads(context.Background())
			b, _ := envelope.Marshal(headsFrame{x})
			_ = frames(s, b, []byte(text))
		}
	}
	raw := func(b []byte) func(*world, federation.Stream) {
		return func(_ *world, s federation.Stream) { _, _ = s.Write(b) }
	}
	silent := func(*world, federation.Stream) {}
	for _, c := range []struct {
		name  string
		proto federation.Protocol
		do    func(*world, federation.Stream)
	}{
		{"sync: garbage", federation.ProtocolSync, raw([]byte{0, 1, 2})},
		{"sync: silence", federation.ProtocolSync, silent},
		{"sync: a frame over the cap", federation.ProtocolSync, raw([]byte{0x81, 0x80, 0x80, 0x01})},
		{"sync: an ask that is not canonical", federation.ProtocolSync, ask(`{ "bindings":{"have":[]}}`)},
		{"sync: an ask for two things", federation.ProtocolSync, ask(`{"bindings":{"have":[]},"charters":{"after":0}}`)},
		{"sync: a range that ends before it begins", federation.ProtocolSync, ask(`{"events":{"did":"` + orgDID(0).String() + `","from":2,"to":1}}`)},
		{"witness: garbage", federation.ProtocolWitness, raw(federation.AppendFrame(nil, []byte("x")))},
		{"witness: a checkpoint and an entry at once", federation.ProtocolWitness, raw(federation.AppendFrame(nil, []byte(`{"checkpoint":"x","entry":"e30"}`)))},
		{"witness: an entry of two lines", federation.ProtocolWitness, raw(federation.AppendFrame(nil, []byte(`{"entry":"e30Ke30"}`)))},
		{"witness: silence", federation.ProtocolWitness, silent},
		{"lend: silence", federation.ProtocolLend, silent},
		{"lend: a frame over the cap", federation.ProtocolLend, raw([]byte{0x81, 0x80, 0x80, 0x01})},
		{"hello: garbage", federation.ProtocolHello, raw(federation.AppendFrame(nil, []byte("{}")))},
		{"hello: silence", federation.ProtocolHello, silent},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				_, tr := w.rogue(1, "", nil)
				w.start(0)
				w.wait(time.Second)
				s, err := tr.Open(w.t.Context(), w.hs[0].peer, c.proto)
				if err != nil {
					t.Fatal(err)
				}
				c.do(w, s)
				w.wait(2 * time.Minute)
				b := make([]byte, 64<<10)
				for err = nil; err == nil; {
					_, err = s.Read(b)
				}
				if errors.Is(err, io.EOF) {
					t.Error("the stream ended in order")
				}
				if got := w.node(0).Stats().Blamed; got != 1 {
					t.Errorf("blamed %d times", got)
				}
			})
		})
	}
}

// Asks of a later version and of what is not here are answered, not punished.
func TestUnknownAsksAreAnswered(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.hs[0].say(false, some(2)...)
		n, tr := w.rogue(1, "", nil)
		w.start(0)
		w.wait(time.Second)
		s, err := tr.Open(w.t.Context(), w.hs[0].peer, federation.ProtocolSync)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		f := federation.NewFrames(s, federation.ProtocolSync)
		x, _ := n.heads(w.t.Context())
		b, _ := envelope.Marshal(headsFrame{x})
		if err := f.Write(b); err != nil {
			t.Fatal(err)
		}
		if b, err = f.Read(); err != nil {
			t.Fatal(err)
		}
		if _, err := parseHeads(b); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ ask, want string }{
			{`{"ranges":{"at":1,"did":"` + orgDID(7).String() + `","size":2}}`, `{"code":"not_found","end":true,"more":false}`},
			{`{"ranges":{"at":1,"did":"` + orgDID(0).String() + `","size":3}}`, `{"code":"stale","end":true,"more":false,"size":2}`},
			{`{"governance":{"have":[]}}`, `{"code":"not_found","end":true,"more":false}`},
			{`{"object":{"id":"` + envelope.IDOf(nil).String() + `"}}`, `{"code":"not_found","end":true,"more":false}`},
			{`{"events":{"did":"` + orgDID(7).String() + `","from":0,"to":1}}`, `{"code":"not_found","end":true,"more":false}`},
			{`{"events":{"did":"` + orgDID(0).String() + `","from":0,"to":3}}`, `{"code":"stale","end":true,"more":false,"size":2}`},
			{`{"did_log":{"after":0,"did":"` + orgDID(7).String() + `"}}`, `{"end":true,"more":false}`},
			{`{"bodies":["` + envelope.IDOf(nil).String() + `"]}`, `{"end":true,"more":false}`},
			{`{"charters":{"after":0}}`, `{"end":true,"more":false}`},
		} {
			if err := f.Write([]byte(c.ask)); err != nil {
				t.Fatalf("%s: %v", c.ask, err)
			}
			got, err := f.Read()
			if err != nil || string(got) != c.want {
				t.Errorf("%s: %s, %v", c.ask, got, err)
			}
		}
		if got := w.node(0).Stats().Blamed; got != 0 {
			t.Errorf("blamed %d times", got)
		}
	})
}

// TestRangesThatLie: a peer that shows another log of a member and gives ranges that are not
// of its head, or none, shows nothing; only what is false is its fault.
func TestRangesThatLie(t *testing.T) {
	left := strings.Repeat("A", 43)
	for name, c := range map[string]struct {
		reply  string
		blamed bool
	}{
		"of another tree":          {`{"at":%d,"did":"%s","left":"` + left + `","right":"` + left + `","size":3}`, true},
		"that are not asked for":   {`{"at":1,"did":"%[2]s","left":"","right":"","size":9}`, true},
		"as another line":          {`{"x":1}`, true},
		"from who knows no ask":    {`{"code":"not_found","end":true,"more":false}`, false},
		"by an answer without any": {`{"end":true,"more":false}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				a, liar := w.hs[0], w.hs[2]
				liar.say(false, some(3)...)
				twin := newHome(t, 2)
				other := some(3)
				other[2].Subject = envelope.IDOf([]byte("twin")).String()
				twin.say(false, other...)
				a.logs[liar.me] = liar.logs[liar.me]
				w.hs[1].logs[liar.me] = twin.logs[liar.me]
				var asked atomic.Int32
				n, err := New(w.hs[1].config(w.net.Join(newHome(w.t, 99).peer)))
				if err != nil {
					t.Fatal(err)
				}
				w.rogue(1, federation.ProtocolSync, func(ctx context.Context, s federation.Stream) {
					f := federation.NewFrames(s, federation.ProtocolSync)
					x, err := n.heads(ctx)
					if err != nil {
						return
					}
					b, _ := envelope.Marshal(headsFrame{x})
					if _, err := f.Read(); err != nil || f.Write(b) != nil {
						return
					}
					for {
						b, err := f.Read()
						if err != nil || isEnd(b) {
							return
						}
						reply := `{"end":true,"more":false}`
						if q, err := parseAsk(b); err == nil && q.Ranges != nil {
							asked.Add(1)
							reply = strings.NewReplacer("%d", fmt.Sprint(q.Ranges.At), "%s", q.Ranges.DID.String(), "%[2]s", q.Ranges.DID.String()).Replace(c.reply)
						}
						if f.Write([]byte(reply)) != nil {
							return
						}
					}
				})
				w.start(0)
				w.wait(2 * time.Minute)
				if asked.Load() == 0 {
					t.Fatal("no ranges were asked for")
				}
				if got := w.node(0).Stats().Blamed > 0; got != c.blamed {
					t.Errorf("blamed: %v", got)
				}
				if got := a.partings(liar.me); len(got) != 0 {
					t.Errorf("believed: %v", got)
				}
			})
		})
	}
}

// A stream of somebody whose hello did not go well is not served.
func TestNothingBeforeHello(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		h := w.hs[1]
		tr := w.net.Join(h.peer)
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() { _ = tr.Run(ctx, deaf{}) })
		w.stop[1] = func() { cancel(); wg.Wait() }
		_ = tr.Admit(ctx, []federation.Peer{{ID: w.hs[0].peer}})
		w.start(0)
		w.wait(time.Second)
		for _, p := range []federation.Protocol{federation.ProtocolSync, federation.ProtocolWitness, federation.ProtocolLend, federation.ProtocolLobby} {
			s, err := tr.Open(ctx, w.hs[0].peer, p)
			if err != nil {
				t.Fatal(err)
			}
			if err := frames(s, []byte("{}")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("%s: %v", p, err)
			}
		}
		if s := w.node(0).Stats(); s.Refused != 4 || len(w.hs[0].served) != 0 {
			t.Errorf("%+v", s)
		}
	})
}
