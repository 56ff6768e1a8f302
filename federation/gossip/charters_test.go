package gossip

import (
	"fmt"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/charter"
)

// member is the record of a home.
func (h *home) member(name string, since uint64) charter.Member {
	k := charter.Key{Kid: h.sign.Public().Multikey(), Pub: h.sign.Public()}
	j := charter.Join{At: envelope.TimeOf(time.Now()), BindingsMax: 2, Contact: "mailto:it@" + name + ".example",
		DIDVersion: h.version(h.me), Key: k, Kid: k.Kid, Name: name, Nonce: "AAECAwQFBgcICQoLDA0ODw", Org: h.me,
		SCID: scid(name), Spec: charter.JoinSpec{Max: 1, Min: 1}, Votes: true}
	return j.Member(since)
}

func sealed(t *testing.T, b charter.Body) envelope.Envelope {
	t.Helper()
	raw, err := envelope.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return envelope.Envelope{Type: charter.Type, Body: raw}.With(envelope.Signature{KeyID: "k", Sig: did.Signature{1}})
}

// A charter that names a newcomer comes with the newcomer's DID log and binding:
// from one member that holds it to all others.
func TestCharterBringsItsNewcomer(t *testing.T) {
	for _, c := range []struct {
		name    string
		running bool // the charter is applied while all run
	}{{"before the start", false}, {"while running", true}} {
		inWorld(t, 4, func(w *world) {
			a, d := w.hs[0], w.hs[3]
			genesis, err := charter.New(charter.Options{Name: "test", Members: []charter.Member{
				a.member("org0", 0), w.hs[1].member("org1", 0), w.hs[2].member("org2", 0)}}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			first := sealed(t, genesis)
			next, err := charter.Amend(charter.Head{ID: first.ID(), Body: genesis}, first.ID(), time.Now(), 0)
			if err != nil {
				t.Fatal(err)
			}
			next.Add(d.member("org3", 1))
			second := sealed(t, next)
			for i, h := range w.hs {
				h.fed = first.ID()
				h.bind(2)
				h.apply(first, genesis)
				if i < 3 {
					delete(h.status, d.me)
					delete(h.idlogs, d.me)
					delete(h.bound, d.me)
				}
			}
			for _, h := range w.hs[:3] {
				for _, o := range w.hs[:3] {
					h.knows(o, true, true)
				}
			}
			apply := func() { // by file: the charter, the DID log and the binding
				a.knows(d, true, true)
				a.apply(second, next)
				for _, o := range w.hs[:3] {
					d.knows(o, true, true)
				}
				d.apply(second, next)
			}
			if !c.running {
				apply()
			}
			w.start(0, 1, 2, 3)
			w.wait(time.Second)
			if c.running {
				apply()
			}
			w.wait(5 * time.Second)
			d.say(true, some(2)...)
			w.wait(5 * time.Second)
			w.alike()
			w.witnessed(3, 3)
			for i, h := range w.hs {
				if h.seq != 1 || h.fresh() != 3 {
					t.Errorf("%s: node %d is at charter %d and heard %d", c.name, i, h.seq, h.fresh())
				}
				if s := w.node(i).Stats(); s.Blamed+s.Rejected > 0 {
					t.Errorf("%s: node %d blames honest peers: %+v", c.name, i, s)
				}
			}
		})
	}
}

// Whoever shows charters that name ever new organizations fills nobody's keyring
// with them at once; a true charter of many newcomers only takes longer.
func TestNewcomersComeBounded(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		a, b := w.hs[0], w.hs[1]
		genesis, err := charter.New(charter.Options{Name: "test", Members: []charter.Member{
			a.member("org0", 0), b.member("org1", 0), newHome(t, 2).member("org2", 0)}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		first := sealed(t, genesis)
		next, err := charter.Amend(charter.Head{ID: first.ID(), Body: genesis}, first.ID(), time.Now(), 0)
		if err != nil {
			t.Fatal(err)
		}
		const many = newcomersPerHour + 20
		for i := range many {
			h := newHome(t, 10+i)
			next.Add(h.member(fmt.Sprintf("org%d", 10+i), 1))
			b.knows(h, true, false)
		}
		third := newHome(t, 2)
		for _, h := range w.hs {
			h.fed = first.ID()
			h.bind(2)
			h.knows(third, true, false)
			h.apply(first, genesis)
		}
		a.knows(b, true, true)
		b.knows(a, true, true)
		b.apply(sealed(t, next), next)
		known := len(w.hs) + 1
		held := func() (newcomers int, seq uint64) {
			a.mu.Lock()
			defer a.mu.Unlock()
			return len(a.idlogs) - known, a.seq
		}
		w.start(0, 1)
		w.wait(50 * time.Minute) // two syncs at once may ask for the same
		if got, seq := held(); got == 0 || got > newcomersPerHour || seq != 0 {
			t.Errorf("%d DID logs of newcomers are held at charter %d, want 1..%d at 0", got, seq, newcomersPerHour)
		}
		w.wait(4 * time.Hour)
		if got, seq := held(); got != many || seq != 1 {
			t.Errorf("hours later %d are held at charter %d, want %d at 1", got, seq, many)
		}
	})
}
