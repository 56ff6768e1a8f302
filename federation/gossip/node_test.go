package gossip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/bundle"
)

func TestThreeNodesConverge(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.hs[0].say(false, some(300)...)
		w.start(0, 1, 2)
		w.wait(time.Second)
		w.alike()
		for i, h := range w.hs {
			if got := h.fresh(); got != 2 {
				t.Errorf("node %d heard %d beacons a second after its start, want 2", i, got)
			}
		}
		for i, h := range w.hs {
			h.say(true, some(i+1)...)
		}
		w.wait(2 * time.Second)
		w.alike()
		for i := range w.hs {
			w.witnessed(i, 2)
		}
	})
}

func TestPartitionHeals(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		w.start(0, 1, 2, 3)
		w.wait(time.Second)
		for _, i := range []int{0, 1} {
			for _, j := range []int{2, 3} {
				w.net.Cut(w.hs[i].peer, w.hs[j].peer)
			}
		}
		for _, h := range w.hs {
			h.say(true, some(700)...)
		}
		w.wait(time.Minute)
		if got := w.hs[0].size(w.hs[1].me); got != 700 {
			t.Errorf("within the part: %d entries", got)
		}
		if got := w.hs[0].size(w.hs[2].me); got != 0 {
			t.Errorf("across the cut: %d entries", got)
		}
		for _, i := range []int{0, 1} {
			for _, j := range []int{2, 3} {
				w.net.Heal(w.hs[i].peer, w.hs[j].peer)
			}
		}
		w.wait(2 * time.Second)
		w.alike()
		for i := range w.hs {
			w.witnessed(i, 3)
		}
	})
}

// A chain 0 - 1 - 2 without a link between its ends.
func TestAnyHolderServesAnyOrigin(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.net.Cut(w.hs[0].peer, w.hs[2].peer)
		w.start(0, 1, 2)
		w.wait(time.Second)
		w.hs[0].say(true, some(3)...)
		w.wait(2 * time.Second)
		w.alike()
		if h := w.hs[2]; h.size(w.hs[0].me) != 3 || h.fresh() != 2 {
			t.Errorf("the far end holds %d entries, heard %d", h.size(w.hs[0].me), h.fresh())
		}
	})
}

func TestRestartWhileEventsHappened(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.start(0, 1, 2)
		w.wait(time.Second)
		w.kill(2)
		w.hs[0].say(true, some(5)...)
		w.hs[1].say(false, some(1200)...)
		w.wait(time.Second)
		w.start(2)
		w.wait(2 * time.Second)
		w.alike()
		w.witnessed(0, 2)
		for i, h := range w.hs {
			if got := h.fresh(); got != 2 {
				t.Errorf("node %d heard %d beacons after the restart, want 2", i, got)
			}
		}
	})
}

// Who restarts at once needs a beacon it has not seen yet.
func TestQuickRestartIsFresh(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.start(0, 1, 2)
		w.wait(time.Second)
		w.kill(2)
		w.start(2)
		w.wait(time.Second)
		if got := w.hs[2].fresh(); got != 2 {
			t.Errorf("heard %d beacons, want 2", got)
		}
	})
}

func TestLossDuplicatesDisorder(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		w.net.Drop(0.4)
		w.net.Dup(0.3)
		w.net.Reorder(0.5)
		w.net.Delay(15 * time.Millisecond)
		w.start(0, 1, 2, 3)
		for i := range 200 {
			w.hs[i%4].say(i%17 == 0, some(1+i%3)...)
			w.wait(30 * time.Millisecond)
		}
		w.wait(75 * time.Second) // one sync period
		w.alike()
		for i, h := range w.hs {
			if s := w.node(i).Stats(); s.Blamed+s.Rejected > 0 {
				t.Errorf("node %d blames honest peers: %+v", i, s)
			}
			if h.fresh() != 3 {
				t.Errorf("node %d heard %d", i, h.fresh())
			}
		}
	})
}

func TestGossipAloneIsQuick(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.start(0, 1, 2)
		w.wait(5 * time.Second)
		before := w.node(1).Stats().Syncs
		for range 10 {
			w.hs[0].say(false, some(2)...)
			w.wait(60 * time.Millisecond)
		}
		w.alike()
		if s := w.node(1).Stats(); s.Syncs != before || s.Accepted < 10 {
			t.Errorf("%+v, %d syncs before", s, before)
		}
	})
}

func TestPromptHeadIsCosignedByAll(t *testing.T) {
	inWorld(t, 5, func(w *world) {
		w.start(0, 1, 2, 3, 4)
		w.wait(5 * time.Second)
		w.hs[0].say(true, some(1)...)
		w.wait(150 * time.Millisecond)
		w.witnessed(0, 4)
	})
}

// A witness that was away is asked when it comes back.
func TestLateWitness(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.start(0, 1)
		w.wait(time.Second)
		w.hs[0].say(true, some(1)...)
		w.wait(time.Second)
		w.start(2)
		w.wait(2 * time.Second)
		w.witnessed(0, 2)
	})
}

// An entry goes to one organization's node and its answer comes back as it was given.
func TestEntryIsWitnessed(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start(0, 1)
		w.wait(time.Second)
		from, by := w.hs[0], w.hs[1].me
		for _, c := range []struct {
			line, body string
			status     int
			err        error
		}{
			{"entry", from.me.String() + " entry", 200, nil},
			{"no", "not_listed", 403, nil},
			{"broken", "", 0, federation.ErrUnreachable},
		} {
			status, body, err := from.node.Endorse(w.t.Context(), by, []byte(c.line))
			if status != c.status || string(body) != c.body || !errors.Is(err, c.err) {
				t.Errorf("%s: %d %q %v, want %d %q %v", c.line, status, body, err, c.status, c.body, c.err)
			}
		}
	})
}

func TestKeysAndBindingsComeBySync(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		a, b, c := w.hs[0], w.hs[1], w.hs[2]
		delete(a.idlogs, c.me) // a knows neither key nor node of c
		delete(a.bound, c.me)
		c.say(true, some(10)...)
		w.start(0, 1, 2)
		w.wait(3 * time.Second)
		if _, ok := a.key(c.me); !ok || a.bound[c.me].Type == "" {
			t.Error("key or binding did not come")
		}
		w.alike()
		_ = b
		if a.fresh() != 2 {
			t.Errorf("heard %d", a.fresh())
		}
	})
}

// A node with a new key shows its new binding in hello and is let in.
func TestNewNodeKeyIsBoundByHello(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start(0, 1)
		w.wait(time.Second)
		w.kill(1)
		h := w.hs[1]
		host, peer, err := federation.NodeSigner(seedOf("new node", 1))
		if err != nil {
			t.Fatal(err)
		}
		h.host, h.peer = host, peer
		h.bind(2)
		h.say(false, some(4)...)
		w.start(1)
		w.wait(5 * time.Second)
		w.alike()
	})
}

func TestObjectsGoToReadersAlone(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		a, b, c := w.hs[0], w.hs[1], w.hs[2]
		secret := bundle.Body{Body: []byte(`{"for":"b"}`)}
		public := bundle.Body{Body: []byte(`{"for":"all"}`)}
		row := bundle.Row{Event: envelope.IDOf([]byte("e")), Row: []byte(`{"row":1}`), Size: 1}
		sid, pid, rid := a.keep(secret, b.me), a.keep(public), a.keep(row, b.me)
		w.start(0, 1, 2)
		w.wait(time.Second)
		a.say(false, attestation.Event{Body: sid, Refs: []envelope.ID{rid}}, attestation.Event{Body: pid})
		w.wait(2 * time.Second)
		for _, x := range []struct {
			name string
			h    *home
			id   envelope.ID
			want bool
		}{
			{"a reader has the private body", b, sid, true},
			{"a reader has the row", b, rid, true},
			{"everybody has the public body", c, pid, true},
			{"others have not the private body", c, sid, false},
			{"others have not the row", c, rid, false},
		} {
			if got := x.h.has(x.id); got != x.want {
				t.Errorf("%s: %v", x.name, got)
			}
		}
		if err := w.node(2).Fetch(w.t.Context(), sid, rid); err != nil || c.has(sid) || c.has(rid) {
			t.Errorf("Fetch of what is not for this node: %v, has it: %v", err, c.has(sid))
		}
		a.mu.Lock()
		a.readers[sid] = []did.DID{b.me, c.me}
		a.mu.Unlock()
		if err := w.node(2).Fetch(w.t.Context(), sid); err != nil || !c.has(sid) {
			t.Errorf("Fetch of what is for this node: %v", err)
		}
	})
}

func TestAskAll(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		thing := bundle.Body{Body: []byte(`{"a":1}`)}
		id := w.hs[1].keep(thing)
		lone, stop := newHome(w.t, 9).run(w.t, w.net.Join(newHome(w.t, 9).peer))
		synctest.Wait()
		if err := lone.Sync(w.t.Context()); err != nil {
			t.Errorf("Sync of a node without others: %v", err)
		}
		stop()
		w.start(0)
		synctest.Wait()
		begin := time.Now()
		if err := w.node(0).Sync(w.t.Context()); !errors.Is(err, federation.ErrUnreachable) {
			t.Errorf("Sync with nobody there: %v", err)
		}
		if err := w.node(0).Fetch(w.t.Context(), id); !errors.Is(err, federation.ErrUnreachable) {
			t.Errorf("Fetch with nobody there: %v", err)
		}
		if _, err := w.node(0).Lend(w.t.Context(), w.hs[1].me, []byte("x")); !errors.Is(err, federation.ErrUnreachable) {
			t.Errorf("Lend with nobody there: %v", err)
		}
		if d := time.Since(begin); d > 15*time.Second {
			t.Errorf("it took %v to know that nobody is there", d)
		}
		w.start(1, 2)
		w.wait(time.Second)
		if err := w.node(0).Fetch(w.t.Context(), id); err != nil || !w.hs[0].has(id) {
			t.Errorf("Fetch: %v", err)
		}
		got, err := w.node(0).Lend(w.t.Context(), w.hs[2].me, []byte("frame"))
		if err != nil || string(got) != "lent frame" || !slices.Equal(w.hs[2].served, []string{w.hs[0].me.String() + " frame"}) {
			t.Errorf("Lend: %q, %v, served %q", got, err, w.hs[2].served)
		}
		if _, err := w.node(0).Lend(w.t.Context(), orgDID(7), []byte("x")); !errors.Is(err, federation.ErrUnreachable) {
			t.Errorf("Lend to nobody's node: %v", err)
		}
		if err := w.node(0).Sync(w.t.Context()); err != nil {
			t.Errorf("Sync: %v", err)
		}
	})
}

// What a use case asks for comes although gossip and the periodic sync did not
// bring it yet.
func TestSyncBringsWhatGossipLost(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start(0, 1)
		w.wait(5 * time.Second)
		w.net.Drop(1)
		w.hs[0].say(false, some(3)...)
		w.wait(10 * time.Millisecond)
		if w.hs[1].size(w.hs[0].me) != 0 {
			t.Fatal("gossip was not lost")
		}
		if err := w.node(1).Sync(w.t.Context()); err != nil {
			t.Fatal(err)
		}
		w.alike()
	})
}

func TestPeersShowsWhoIsThere(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.hs[1].say(false, some(2)...)
		w.start(0, 1)
		w.wait(2 * time.Second)
		ps := w.node(1).Peers()
		if len(ps) != 2 {
			t.Fatalf("%+v", ps)
		}
		a, c := ps[0], ps[1]
		if a.Org != w.hs[0].me || !a.Linked || !a.Greeted || a.Verdict != federation.AdmitOK || a.About.Status != "active" || a.Contact.IsZero() {
			t.Errorf("linked peer: %+v", a)
		}
		if want := (PeerStatus{Org: w.hs[2].me, ID: w.hs[2].peer}); c != want {
			t.Errorf("absent peer: %+v, want %+v", c, want)
		}
		if got := w.hs[1].shown[w.hs[0].me].Status; got != "active" {
			t.Errorf("shown %q", got)
		}
	})
}

// After a member is no longer active it is neither linked nor served, and what
// it still says is not taken.
func TestExpelledIsCut(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.start(0, 1, 2)
		w.wait(time.Second)
		for _, i := range []int{0, 1} {
			w.hs[i].change(func() { w.hs[i].seq, w.hs[i].status[w.hs[2].me] = 1, "expelled" })
		}
		w.wait(time.Second)
		w.hs[2].say(true, some(3)...)
		w.wait(2 * time.Minute)
		for _, i := range []int{0, 1} {
			if got := w.hs[i].size(w.hs[2].me); got != 0 {
				t.Errorf("node %d took %d entries", i, got)
			}
			for _, p := range w.node(i).Peers() {
				if p.Org == w.hs[2].me {
					t.Errorf("node %d still knows %+v", i, p)
				}
			}
		}
		if err := w.node(2).Sync(w.t.Context()); !errors.Is(err, federation.ErrUnreachable) {
			t.Errorf("the expelled syncs: %v", err)
		}
		for _, p := range w.node(2).Peers() {
			if p.Greeted || p.Verdict != federation.AdmitNotAMember || p.About.Status != "expelled" {
				t.Errorf("the expelled is told %s, %+v", p.Verdict, p.About)
			}
		}
	})
}

func TestHelloVerdicts(t *testing.T) {
	inWorld(t, 3, func(w *world) {
		w.hs[0].status[w.hs[2].me] = "left"
		w.start(0)
		for _, c := range []struct {
			name  string
			i     int // whose node says it
			edit  func(h *federation.Hello)
			want  federation.Admission
			knows string // about_you.status
		}{
			{"a member with its binding", 1, func(*federation.Hello) {}, federation.AdmitOK, "active"},
			{"a member whose binding is held", 1, func(h *federation.Hello) { h.Binding = "" }, federation.AdmitOK, "active"},
			{"a binding that is garbage", 1, func(h *federation.Hello) { h.Binding = "{" }, federation.AdmitOK, "active"},
			{"another federation", 1, func(h *federation.Hello) { h.Federation = envelope.IDOf([]byte("other")) }, federation.AdmitOtherFederation, ""},
			{"no federation at all", 1, func(h *federation.Hello) { h.Federation, h.Charter = envelope.ID{}, nil }, federation.AdmitOtherFederation, ""},
			{"a version from the future", 1, func(h *federation.Hello) { h.Spec = federation.Spec{Min: 2, Max: 3} }, federation.AdmitUpgradeRequired, "active"},
			{"the name of another member", 1, func(h *federation.Hello) { h.Org = w.hs[2].me }, federation.AdmitNotAMember, ""},
			{"our own name", 1, func(h *federation.Hello) { h.Org = w.hs[0].me }, federation.AdmitNotAMember, ""},
			{"the binding of another node", 1, func(h *federation.Hello) { h.Org, h.Binding = w.hs[2].me, string(w.hs[2].bound[w.hs[2].me].DSSE()) }, federation.AdmitNotAMember, ""},
			{"who left, and proves it", 2, func(*federation.Hello) {}, federation.AdmitNotAMember, "left"},
		} {
			h := w.hs[c.i]
			tr := w.net.Join(h.peer)
			ctx, cancel := context.WithCancel(w.t.Context())
			var got federation.Hello
			done := make(chan struct{})
			go func() { _ = tr.Run(ctx, deaf{}); close(done) }()
			_ = tr.Admit(ctx, []federation.Peer{{ID: w.hs[0].peer}})
			synctest.Wait()
			hello, _ := h.Hello(ctx, did.DID{})
			hello.Verdict, hello.Now = federation.AdmitOK, envelope.TimeOf(time.Now())
			c.edit(&hello)
			b, err := hello.Encode()
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			s, err := tr.Open(ctx, w.hs[0].peer, federation.ProtocolHello)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			f := federation.NewFrames(s, federation.ProtocolHello)
			if err := f.Write(b); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if b, err = f.Read(); err == nil {
				got, err = federation.ParseHello(b)
			}
			if err != nil || got.Verdict != c.want || got.AboutYou.Status != c.knows {
				t.Errorf("%s: %s about %q, want %s about %q, %v", c.name, got.Verdict, got.AboutYou.Status, c.want, c.knows, err)
			}
			cancel()
			<-done
		}
	})
}

// deaf is a Handler that does nothing.
type deaf struct{}

func (deaf) Judge(context.Context, federation.PeerID, federation.Topic, []byte) federation.Verdict {
	return federation.Ignore
}
func (deaf) Serve(_ context.Context, _ federation.PeerID, _ federation.Protocol, s federation.Stream) {
	_ = s.Reset()
}
func (deaf) Linked(context.Context, federation.PeerID)   {}
func (deaf) Unlinked(context.Context, federation.PeerID) {}

// A restored node learns its last numbers from hello, and is not told it is well.
func TestHelloShowsOurOwnNumbers(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.start(0, 1)
		w.wait(time.Second)
		w.kill(1)
		w.hs[1].n-- // an old backup
		w.start(1)
		w.wait(time.Second)
		h := w.hs[1]
		if got := h.shown[w.hs[0].me].BeaconN; got != h.n+1 {
			t.Errorf("shown beacon %d, want %d", got, h.n+1)
		}
		if !h.start {
			t.Error("a node below its own numbers was confirmed")
		}
	})
}

func TestOwnMessagesAreBounded(t *testing.T) {
	big := bytes.Repeat([]byte("x"), attestation.MaxEvent-2000)
	inWorld(t, 2, func(w *world) {
		w.start(0, 1)
		w.wait(time.Second)
		events := some(60)
		for i := range events {
			events[i].Subject = envelope.IDOf(fmt.Appendf(nil, "%s %d", big, i)).String()
			for range attestation.MaxRefs {
				events[i].Refs = append(events[i].Refs, w.hs[1].keep(bundle.Body{Body: fmt.Appendf(nil, `{"n":%d}`, len(events[i].Refs))}))
			}
		}
		w.hs[0].say(false, events...)
		w.hs[0].say(false, some(publishMost+300)...)
		w.wait(time.Second)
		w.alike()
	})
}

// An organization that shows two logs is found out by those who see both, and
// keeps nobody from the logs of the others.
func TestTwoLogsOfOneOrganization(t *testing.T) {
	for _, c := range []struct {
		name  string
		more  int  // entries of the second log
		found bool // at the node with the second log; else at the other
	}{
		{"of one size", 2, false}, {"the second longer", 3, true}, {"the second shorter", 1, false},
	} {
		inWorld(t, 4, func(w *world) {
			order := []int{0, 1, 2, 3} // logs are pulled in the order of DIDs: the liar's first
			slices.SortFunc(order, func(i, j int) int { return strings.Compare(w.hs[i].me.String(), w.hs[j].me.String()) })
			liar, a, b, last := w.hs[order[0]], w.hs[order[1]], w.hs[order[2]], w.hs[order[3]]
			twin := newHome(t, order[0])
			other := some(c.more)
			for i := range other {
				other[i].Subject = envelope.IDOf(fmt.Appendf(nil, "twin %d", i)).String()
			}
			liar.say(false, some(2)...)
			twin.say(false, other...)
			a.logs[liar.me], b.logs[liar.me] = liar.logs[liar.me], twin.logs[liar.me]
			last.say(false, some(4)...)
			b.logs[last.me] = last.logs[last.me]
			w.start(order[1], order[2])
			w.wait(5 * time.Second)
			if got := a.size(last.me); got != 4 {
				t.Errorf("%s: %d entries of an honest log came, want 4", c.name, got)
			}
			finder := a
			if c.found {
				finder = b
			}
			if finder.forks(liar.me) == 0 {
				t.Errorf("%s: nobody was found out", c.name)
			}
			w.wait(3 * DefaultSyncEvery)
			for name, h := range map[string]*home{"the one": a, "the other": b} {
				// Each end opens a stream; what one found out the next does not ask for.
				if got := h.partings(liar.me); len(got) == 0 || len(got) > 2 || slices.Max(got) != 0 {
					t.Errorf("%s: %s found that they part at %v, and asked that often", c.name, name, got)
				}
			}
			if got := [2]uint64{a.size(liar.me), b.size(liar.me)}; got != [2]uint64{2, uint64(c.more)} {
				t.Errorf("%s: the logs held are now of size %v", c.name, got)
			}
		})
	}
}
