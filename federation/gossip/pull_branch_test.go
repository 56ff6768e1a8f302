package gossip

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did/envelope"
)

// twins are an organization with one log, and another one with its keys, whose log has the same
// first entries and others after that.
func (w *world) twins(i, common, ours, other int) (one, two *home) {
	w.t.Helper()
	one, two = w.hs[i], newHome(w.t, i)
	say := func(h *home, what string, n int) {
		for at := range n {
			h.say(false, attestation.Event{Subject: envelope.IDOf(fmt.Appendf(nil, "%s %d", what, at)).String()})
		}
	}
	for _, h := range []*home{one, two} {
		say(h, "both", common)
	}
	say(one, "one", ours-common)
	say(two, "two", other-common)
	return one, two
}

// inOrder are the numbers of the homes in the order of their DIDs, in which logs are pulled.
func (w *world) inOrder() []int {
	out := make([]int, len(w.hs))
	for i := range out {
		out[i] = i
	}
	slices.SortFunc(out, func(i, j int) int { return strings.Compare(w.hs[i].me.String(), w.hs[j].me.String()) })
	return out
}

// TestTheOtherBranchIsPulled: each of two nodes that hold different branches gets the entries of
// the other one, across streams that are cut and restarts, asks for none twice, and blames nobody.
func TestTheOtherBranchIsPulled(t *testing.T) {
	for name, c := range map[string]struct{ common, a, b int }{
		"both long":      {3, 620, 700},
		"one just parts": {300, 301, 700},
		"of one size":    {0, 300, 300},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				order := w.inOrder()
				one, two := w.twins(order[0], c.common, c.a, c.b)
				a, b := w.hs[order[1]], w.hs[order[2]]
				a.logs[one.me], b.logs[one.me] = one.logs[one.me], two.logs[one.me]
				lines := 0
				a.gates["ingest"] = func() {
					if lines++; lines == 2 { // in the middle
						w.net.Cut(a.peer, b.peer)
					}
				}
				w.start(order[1], order[2])
				w.wait(10 * time.Second)
				w.kill(order[1])
				w.net.Heal(a.peer, b.peer)
				w.start(order[1])
				w.wait(5 * time.Minute)
				for name, got := range map[string]struct{ kept, want []attestation.Entry }{
					"a": {a.other(one.me), two.logs[one.me].entries}, "b": {b.other(one.me), one.logs[one.me].entries},
				} {
					if !slices.EqualFunc(got.kept, got.want, slices.Equal) {
						t.Errorf("%s keeps %d entries of the other branch, of %d", name, len(got.kept), len(got.want))
					}
				}
				before := lines
				w.wait(10 * time.Minute)
				if lines != before {
					t.Errorf("%d lines more were asked for", lines-before)
				}
				if a.tried+b.tried > 0 {
					t.Errorf("%d lines did not fit", a.tried+b.tried)
				}
				for _, i := range order[1:] {
					if s := w.node(i).Stats(); s.Blamed > 0 {
						t.Errorf("node %d blamed %d times", i, s.Blamed)
					}
				}
			})
		})
	}
}

// TestAThirdBranchIsAskedForOnce: who keeps one branch asks a holder of a third one for one
// reply, takes nothing of it and blames nobody; where no more fits nothing is asked for.
func TestAThirdBranchIsAskedForOnce(t *testing.T) {
	for room, held := range map[int]int{0: 10, 300: 10, 1000: 450} { // beyond, and beside, what is held
		inWorld(t, 4, func(w *world) {
			order := w.inOrder()
			one, two := w.twins(order[0], 3, held, 400)
			three := newHome(t, order[0])
			three.say(false, some(500)...)
			a, b, c := w.hs[order[1]], w.hs[order[2]], w.hs[order[3]]
			a.logs[one.me], b.logs[one.me], c.logs[one.me] = one.logs[one.me], two.logs[one.me], three.logs[one.me]
			a.room = room
			w.start(order[1], order[2])
			w.wait(3 * time.Minute)
			want := two.logs[one.me].entries
			if got := a.other(one.me); len(got) != len(want) {
				t.Fatalf("room %d: %d entries are kept", room, len(got))
			}
			w.net.Cut(b.peer, c.peer)
			w.start(order[3])
			w.wait(10 * time.Minute)
			if got := a.other(one.me); !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("room %d: %d entries are kept after a third branch", room, len(got))
			}
			if most := map[int]int{0: 2, 300: 0, 1000: 2}[room]; a.tried > most { // a stream each way
				t.Errorf("room %d: %d lines of a third branch were tried", room, a.tried)
			}
			if s := w.node(order[1]).Stats(); s.Blamed > 0 {
				t.Errorf("room %d: %d are blamed", room, s.Blamed)
			}
		})
	}
}
