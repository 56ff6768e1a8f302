package gossip

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/charter"
)

// pair is two homes that know each other; the first has a node that does not run.
func onePair(t *testing.T, f func(w *world, n *Node)) {
	t.Helper()
	inWorld(t, 3, func(w *world) {
		n, err := New(w.hs[0].config(w.net.Join(w.hs[0].peer)))
		if err != nil {
			w.t.Fatal(err)
		}
		w.hs[0].node = n
		f(w, n)
	})
}

// packed makes the package of entries [from, to) of a home's log under its newest head.
func packed(t testing.TB, h *home, from, to uint64, edit func(p *attestation.Package)) []byte {
	t.Helper()
	l, err := logsOf{h}.Log(context.Background(), h.me)
	if err != nil {
		t.Fatal(err)
	}
	_, note := l.Head()
	p, err := packageOf(context.Background(), h.me, l, from, to, noteSize(note), maxGossip)
	if err != nil {
		t.Fatal(err)
	}
	p.Federation, p.Note = h.fed, note
	edit(&p)
	b, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func as(*attestation.Package) {}

func TestJudgePackages(t *testing.T) {
	for _, c := range []struct {
		name string
		msg  func(w *world, b *home) []byte
		want federation.Verdict
	}{
		{"all entries under the head", func(w *world, b *home) []byte { return packed(t, b, 0, 5, as) }, federation.Accept},
		{"the first entries, with the range of the rest", func(w *world, b *home) []byte { return packed(t, b, 0, 3, as) }, federation.Accept},
		{"a gap", func(w *world, b *home) []byte { return packed(t, b, 2, 5, as) }, federation.Ignore},
		{"a head alone", func(w *world, b *home) []byte { return packed(t, b, 5, 5, as) }, federation.Ignore},
		{"not JSON", func(*world, *home) []byte { return []byte("{") }, federation.Reject},
		{"one byte appended", func(w *world, b *home) []byte { return append(packed(t, b, 0, 5, as), ' ') }, federation.Reject},
		{"over the cap", func(*world, *home) []byte { return bytes.Repeat([]byte("x"), federation.MaxMessage+1) }, federation.Reject},
		{"another federation", func(w *world, b *home) []byte {
			return packed(t, b, 0, 5, func(p *attestation.Package) { p.Federation = envelope.IDOf([]byte("x")) })
		}, federation.Reject},
		{"one entry changed", func(w *world, b *home) []byte {
			return packed(t, b, 0, 5, func(p *attestation.Package) {
				p.Entries[2] = append(attestation.Entry(nil), p.Entries[2]...)
				p.Entries[2][9] ^= 1
			})
		}, federation.Reject},
		{"two entries swapped", func(w *world, b *home) []byte {
			return packed(t, b, 0, 5, func(p *attestation.Package) { p.Entries[0], p.Entries[1] = p.Entries[1], p.Entries[0] })
		}, federation.Reject},
		{"an entry less, the rest as it was", func(w *world, b *home) []byte {
			return packed(t, b, 0, 5, func(p *attestation.Package) { p.Entries = p.Entries[:4] })
		}, federation.Reject},
		{"one hash of the rest changed", func(w *world, b *home) []byte {
			return packed(t, b, 0, 3, func(p *attestation.Package) { p.Rest[0][5] ^= 1 })
		}, federation.Reject},
		{"the signature of the head changed", func(w *world, b *home) []byte {
			return packed(t, b, 0, 5, func(p *attestation.Package) {
				n, _ := attlog.ParseNote(p.Note)
				n.Lines[0].Sig[0] ^= 1
				p.Note = n.Bytes()
			})
		}, federation.Reject},
		{"a head under a key that is not known", func(w *world, b *home) []byte {
			return packed(t, b, 0, 5, func(p *attestation.Package) {
				n, _ := attlog.ParseNote(p.Note)
				n, _ = attlog.Sign(context.Background(), b.host, b.me, n.Head)
				p.Note = n.Bytes()
			})
		}, federation.Ignore},
		{"the note of another's log", func(w *world, b *home) []byte {
			w.hs[2].say(false, some(5)...)
			return packed(t, b, 0, 5, func(p *attestation.Package) { p.Note = w.hs[2].logs[w.hs[2].me].note })
		}, federation.Reject},
		{"no note", func(w *world, b *home) []byte {
			return packed(t, b, 0, 5, func(p *attestation.Package) { p.Note = nil })
		}, federation.Reject},
		{"more entries than the head covers", func(w *world, b *home) []byte {
			return packed(t, b, 0, 5, func(p *attestation.Package) { p.From = 1 })
		}, federation.Reject},
		{"who is no member", func(w *world, b *home) []byte {
			delete(w.hs[0].status, b.me)
			return packed(t, b, 0, 5, as)
		}, federation.Ignore},
		{"who is no longer active", func(w *world, b *home) []byte {
			w.hs[0].status[b.me] = "expelled"
			return packed(t, b, 0, 5, as)
		}, federation.Ignore},
	} {
		onePair(t, func(w *world, n *Node) {
			b := w.hs[1]
			b.say(false, some(5)...)
			msg := c.msg(w, b)
			if got := n.Judge(context.Background(), b.peer, federation.TopicEvents, msg); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
			if c.want != federation.Reject {
				return
			}
			// C-6: what was garbage takes no place from the true one.
			if got := n.Judge(context.Background(), b.peer, federation.TopicEvents, packed(t, b, 0, 5, as)); got != federation.Accept {
				t.Errorf("%s: the true package after it: %s", c.name, got)
			}
		})
	}
}

// What was accepted and waits is built upon; what is held is not taken again,
// unless it brings cosignatures.
func TestJudgeBuildsOnWhatWaits(t *testing.T) {
	onePair(t, func(w *world, n *Node) {
		b := w.hs[1]
		judge := func(msg []byte) federation.Verdict {
			return n.Judge(context.Background(), b.peer, federation.TopicEvents, msg)
		}
		var got []federation.Verdict
		b.say(false, some(3)...)
		got = append(got, judge(packed(t, b, 0, 3, as)))
		b.say(false, some(2)...)
		second := packed(t, b, 3, 5, as)
		got = append(got, judge(second), judge(second))
		overlap := packed(t, b, 1, 5, as)
		b.say(false, some(1)...)
		got = append(got, judge(overlap), judge(packed(t, b, 2, 6, as)))
		want := []federation.Verdict{federation.Accept, federation.Accept, federation.Ignore, federation.Ignore, federation.Accept}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s, want %s", got, want)
		}
		for j, ok := n.events.pop(); ok; j, ok = n.events.pop() {
			n.take(context.Background(), j)
		}
		if got := w.hs[0].size(b.me); got != 6 {
			t.Errorf("%d entries, want 6", got)
		}
		if len(n.judging.ahead) != 0 {
			t.Error("the edge of a queue that is empty is kept")
		}
	})
}

// Every head that is shown is compared with the log held, at its own size.
func TestHeadsThatAreHeldAreCompared(t *testing.T) {
	for _, c := range []struct {
		name   string
		size   int
		twin   bool
		queued int
		forks  int
	}{
		{"the head held", 5, false, 0, 0},
		{"another of its size", 5, true, 1, 1},
		{"an older one", 3, false, 1, 0},
		{"an older one of another log", 3, true, 1, 1},
	} {
		onePair(t, func(w *world, n *Node) {
			a, b := w.hs[0], w.hs[1]
			b.say(false, some(5)...)
			n.Judge(context.Background(), b.peer, federation.TopicEvents, packed(t, b, 0, 5, as))
			j, _ := n.events.pop()
			n.take(context.Background(), j)
			shown := newHome(t, 1)
			events := some(c.size)
			if c.twin {
				events[1].Subject = envelope.IDOf([]byte("twin")).String()
			}
			shown.say(false, events...)
			msg := packed(t, shown, uint64(c.size), uint64(c.size), as)
			if got := n.Judge(context.Background(), w.hs[2].peer, federation.TopicEvents, msg); got != federation.Ignore {
				t.Errorf("%s: %s", c.name, got)
			}
			if got := len(n.events.jobs); got != c.queued {
				t.Errorf("%s: %d are compared, want %d", c.name, got, c.queued)
			}
			for j, ok := n.events.pop(); ok; j, ok = n.events.pop() {
				n.take(context.Background(), j)
			}
			if got := a.forks(b.me); got != c.forks {
				t.Errorf("%s: %d contradictions found, want %d", c.name, got, c.forks)
			}
		})
	}
}

func TestJudgeBeacons(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(w *world, b *federation.Beacon)
		env  func(e *envelope.Envelope)
		want federation.Verdict
	}{
		{"a beacon", nil, nil, federation.Accept},
		{"another federation", func(_ *world, b *federation.Beacon) { b.Federation = envelope.IDOf([]byte("x")) }, nil, federation.Reject},
		{"a false signature", nil, func(e *envelope.Envelope) { e.Signatures[0].Sig[1] ^= 1 }, federation.Reject},
		{"another type", nil, func(e *envelope.Envelope) { e.Type = federation.BindingType }, federation.Reject},
		{"two signatures", nil, func(e *envelope.Envelope) {
			s := e.Signatures[0]
			s.Sig[0] ^= 1
			*e = e.With(s)
		}, federation.Reject},
		{"an unknown key", func(_ *world, b *federation.Beacon) { b.Kid = "other" }, nil, federation.Ignore},
		{"who is no member", func(w *world, b *federation.Beacon) { delete(w.hs[0].status, b.Org) }, nil, federation.Ignore},
		{"who is suspended", func(w *world, b *federation.Beacon) { w.hs[0].status[b.Org] = "suspended" }, nil, federation.Ignore},
		{"ourselves", func(w *world, b *federation.Beacon) { b.Org = w.hs[0].me }, nil, federation.Ignore},
	} {
		onePair(t, func(w *world, n *Node) {
			h := w.hs[1]
			h.start = false
			e, err := beaconsOf{h}.Make(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if c.edit != nil {
				b, _ := envelope.Decode[federation.Beacon](e)
				c.edit(w, &b)
				if e, err = envelope.Seal(context.Background(), b, h.sign); err != nil {
					t.Fatal(err)
				}
			}
			if c.env != nil {
				c.env(&e)
			}
			if got := n.Judge(context.Background(), h.peer, federation.TopicBeacons, e.DSSE()); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
			if c.want != federation.Accept {
				return
			}
			if got := n.Judge(context.Background(), h.peer, federation.TopicBeacons, e.DSSE()); got != federation.Ignore {
				t.Errorf("%s, again: %s", c.name, got)
			}
		})
	}
}

func TestJudgeBindings(t *testing.T) {
	onePair(t, func(w *world, n *Node) {
		h := w.hs[1]
		e := h.bind(2)
		half := e
		half.Signatures = half.Signatures[:1]
		for _, c := range []struct {
			name  string
			topic federation.Topic
			msg   []byte
			want  federation.Verdict
		}{
			{"a binding", federation.TopicFederation, e.DSSE(), federation.Accept},
			{"a binding among beacons", federation.TopicBeacons, e.DSSE(), federation.Reject},
			{"a binding with one signature", federation.TopicFederation, half.DSSE(), federation.Reject},
			{"garbage", federation.TopicFederation, []byte("{}"), federation.Reject},
			{"a topic that is not ours", "/x/1", e.DSSE(), federation.Ignore},
		} {
			if got := n.Judge(context.Background(), h.peer, c.topic, c.msg); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		}
	})
}

// What waits for a key is judged again when the key comes.
func TestParkedIsJudgedAgain(t *testing.T) {
	onePair(t, func(w *world, n *Node) {
		a, b := w.hs[0], w.hs[1]
		key := a.idlogs[b.me]
		delete(a.idlogs, b.me)
		b.say(false, some(2)...)
		b.start = false
		e, _ := beaconsOf{b}.Make(context.Background())
		n.Judge(context.Background(), b.peer, federation.TopicEvents, packed(t, b, 0, 2, as))
		n.Judge(context.Background(), b.peer, federation.TopicBeacons, e.DSSE())
		if s := n.Stats(); s.Parked != 2 || s.Ignored != 2 {
			t.Fatalf("%+v", s)
		}
		n.rejudge(context.Background())
		if s := n.Stats(); s.Parked != 2 {
			t.Fatalf("judged again without the key: %+v", s)
		}
		a.idlogs[b.me] = key
		n.rejudge(context.Background())
		if s := n.Stats(); s.Parked != 0 || s.Accepted != 2 {
			t.Errorf("%+v", s)
		}
	})
}

func TestParkedIsBounded(t *testing.T) {
	s := newParkedStore()
	peer := func(i int) federation.PeerID {
		_, id, _ := federation.NodeSigner(seedOf("peer", i))
		return id
	}
	at := time.Now()
	msg := func(i, size int) []byte { return append(bytes.Repeat([]byte("x"), size), fmt.Sprint(i)...) }
	for i := range 5 {
		s.put(parkedMessage{from: peer(0), msg: msg(0, 10+i/4), at: at})
	}
	if s.len() != 2 {
		t.Errorf("one message is kept %d times", s.len())
	}
	for i := range 100 {
		s.put(parkedMessage{from: peer(1), msg: msg(i, 100<<10), at: at})
	}
	if got := s.of(peer(1)); got > parkedPeer || s.of(peer(0)) == 0 {
		t.Errorf("one peer has %d bytes, the other %d", got, s.of(peer(0)))
	}
	for p := range 20 {
		for i := range 20 {
			s.put(parkedMessage{from: peer(2 + p), msg: msg(p*100+i, 100<<10), at: at})
		}
	}
	if s.bytes > parkedBytes || s.of(peer(1)) == 0 {
		t.Errorf("%d bytes wait, cap %d", s.bytes, parkedBytes)
	}
	if s.drain(at.Add(2 * parkedFor)); s.bytes != 0 {
		t.Errorf("%d bytes are left", s.bytes)
	}
}

func TestSignersAreLimited(t *testing.T) {
	onePair(t, func(w *world, n *Node) {
		h := w.hs[1]
		h.start = false
		accepted := func() (got int) {
			for range 2 * perSecond {
				e, _ := beaconsOf{h}.Make(context.Background())
				if n.Judge(context.Background(), h.peer, federation.TopicBeacons, e.DSSE()) == federation.Accept {
					got++
				}
			}
			return got
		}
		if got := accepted(); got != perSecond {
			t.Errorf("%d accepted in a second, cap %d", got, perSecond)
		}
		time.Sleep(time.Second)
		if got := accepted(); got != perSecond {
			t.Errorf("%d accepted in the next second, cap %d", got, perSecond)
		}
	})
}

func TestBindingsAreLimited(t *testing.T) {
	onePair(t, func(w *world, n *Node) {
		h := w.hs[1]
		accepted := 0
		for i := range 2 * perSecond {
			if n.Judge(context.Background(), h.peer, federation.TopicFederation, h.bind(uint64(2+i)).DSSE()) == federation.Accept {
				accepted++
			}
		}
		if accepted != perSecond {
			t.Errorf("%d accepted in a second, cap %d", accepted, perSecond)
		}
	})
}

// A charter costs much before it is refused: no peer can fill the queue with them,
// and none keeps another from handing on a true one.
func TestChartersAreLimitedByWhoPassesThemOn(t *testing.T) {
	onePair(t, func(w *world, n *Node) {
		a, b := w.hs[0], w.hs[1]
		if err := n.admit(context.Background()); err != nil {
			t.Fatal(err)
		}
		genesis, err := charter.New(charter.Options{Name: "test", Members: []charter.Member{a.member("org0", 0), b.member("org1", 0), w.hs[2].member("org2", 0)}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		first := sealed(t, genesis)
		a.fed = first.ID()
		next, err := charter.Amend(charter.Head{ID: first.ID(), Body: genesis}, first.ID(), time.Now(), 0)
		if err != nil {
			t.Fatal(err)
		}
		offer := func(from federation.PeerID, some int) (queued int) {
			before := len(n.signed.jobs)
			for i := range some {
				e := sealed(t, next)
				e.Signatures[0].Sig[1] = byte(i)
				if got := n.Judge(context.Background(), from, federation.TopicFederation, e.DSSE()); got != federation.Ignore {
					t.Fatalf("a charter to be judged: %s", got)
				}
			}
			return len(n.signed.jobs) - before
		}
		if got := offer(b.peer, 40); got != chartersPerSecond {
			t.Errorf("%d of one peer's are judged in a second, cap %d", got, chartersPerSecond)
		}
		select {
		case <-n.peer(b.peer).kick:
		default:
			t.Error("what is over is not read by sync")
		}
		if got := offer(w.hs[2].peer, 1); got != 1 {
			t.Error("another peer's is not judged")
		}
		time.Sleep(time.Second)
		if got := offer(b.peer, 40); got != chartersPerSecond {
			t.Errorf("%d are judged in the next second, cap %d", got, chartersPerSecond)
		}
	})
}

// While the node is busy, judging goes on, and what does not fit comes by sync.
func TestFullQueueDropsAndSyncBrings(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		a, b := w.hs[0], w.hs[1]
		w.start(0, 1)
		w.wait(5 * time.Second)
		hold := make(chan struct{})
		a.mu.Lock()
		a.gates["ingest"] = func() { <-hold }
		a.mu.Unlock()
		for range 3 * queueLength {
			b.say(false, some(1)...)
			time.Sleep(publishApart)
		}
		synctest.Wait()
		s := w.node(0).Stats()
		if s.Dropped == 0 || s.Accepted+s.Ignored < 3*queueLength {
			t.Errorf("%+v", s)
		}
		close(hold)
		w.wait(75 * time.Second)
		w.alike()
	})
}

func TestQueueIsBoundedInBytes(t *testing.T) {
	q := newQueue()
	n := 0
	for q.push(job{msg: make([]byte, federation.MaxMessage)}) {
		n++
	}
	if n*federation.MaxMessage != queueBytes {
		t.Errorf("%d messages fit", n)
	}
	if _, ok := q.pop(); !ok || !q.push(job{msg: make([]byte, federation.MaxMessage)}) {
		t.Error("what was taken makes no room")
	}
}
