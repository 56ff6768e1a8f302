package federation_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	. "trustnode/federation"
)

// notes is a Handler that writes down what it is told of links.
type notes struct {
	Handler
	mu  sync.Mutex
	got []string
	in  chan struct{} // if set, Linked waits for it too
}

func (n *notes) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.got = append(n.got, s)
}

func (n *notes) Linked(ctx context.Context, _ PeerID) {
	n.add("linked")
	if n.in != nil {
		<-n.in
	}
	<-ctx.Done()
	n.add("over")
}

func (n *notes) Unlinked(context.Context, PeerID) { n.add("unlinked") }

func TestLinksTellInOrder(t *testing.T) {
	_, p := node(t, 2)
	one := "linked over unlinked"
	for _, c := range []struct{ name, does, want string }{
		{"up", "u", "linked"},
		{"up twice", "uu", "linked"},
		{"down without up", "d", ""},
		{"up and down", "ud", one},
		{"up and down and down", "udd", one},
		{"down and up at once", "udu", one + " linked"},
		{"flapping while the handler is busy", "bududududf", one},
		{"flapping that ends up", "bududuf", one + " linked"},
		{"flapping while it listens", "u.d.u.d.u", one + " " + one + " linked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				h := &notes{}
				l := NewLinks(ctx, h)
				for _, op := range c.does {
					switch op {
					case 'u':
						l.Up(p)
					case 'd':
						l.Down(p)
					case 'b':
						h.in = make(chan struct{})
					case 'f':
						close(h.in)
					case '.':
						synctest.Wait()
					}
				}
				synctest.Wait()
				h.mu.Lock()
				got := strings.Join(h.got, " ")
				h.mu.Unlock()
				if got != c.want {
					t.Errorf("told %q, want %q", got, c.want)
				}
				if up := strings.HasSuffix(c.want, "linked") && !strings.HasSuffix(c.want, "unlinked"); l.Has(p) != up {
					t.Errorf("Has: %v", l.Has(p))
				}
				cancel()
				l.Wait()
				l.Up(p)
				synctest.Wait()
				if n := len(slices.DeleteFunc(h.got, func(s string) bool { return s != "linked" })); n != strings.Count(" "+c.want, " linked") {
					t.Errorf("told of a link after the end")
				}
			})
		})
	}
}

func TestSlots(t *testing.T) {
	_, p := node(t, 2)
	_, q := node(t, 3)
	var s Slots
	lim, _ := LimitsOf(ProtocolSync)
	var release func()
	for i := range lim.Streams {
		var ok bool
		if release, ok = s.Take(p, ProtocolSync); !ok {
			t.Fatalf("slot %d is taken", i)
		}
	}
	if _, ok := s.Take(p, ProtocolSync); ok {
		t.Error("took a slot too many")
	}
	if _, ok := s.Take(q, ProtocolSync); !ok {
		t.Error("one peer takes the slots of another")
	}
	if _, ok := s.Take(p, ProtocolLend); !ok {
		t.Error("one protocol takes the slots of another")
	}
	release()
	release()
	if _, ok := s.Take(p, ProtocolSync); !ok {
		t.Error("a slot given back is not free")
	}
	if _, ok := s.Take(p, ProtocolSync); ok {
		t.Error("a slot given back twice counts twice")
	}
	if _, ok := s.Take(p, "/other/1"); ok {
		t.Error("took a slot of a protocol that is not ours")
	}
}
