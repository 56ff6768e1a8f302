package recorder_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/node/recorder"
)

// standing is a run of standings as one line: "5 valid, 3 contested:fork".
func runs(list []string) string {
	var out []string
	for i := 0; i < len(list); {
		n := i
		for n < len(list) && list[n] == list[i] {
			n++
		}
		out = append(out, fmt.Sprint(n-i, " ", list[i]))
		i = n
	}
	return strings.Join(out, ", ")
}

// branched are two branches of one log, of these sizes, that part at a size.
func branched(t *testing.T, p *party, at, ours, other int) (*forged, *forged) {
	t.Helper()
	a, b := long(t, p, ours), long(t, p, at)
	for i := len(b.entries); i < other; i++ {
		b.charter(t, p.keys[0], 100+i)
	}
	return a, b
}

// charterOf is what a charter says of logs; a test moves it and calls Rebound.
type charterOf struct {
	atomic.Pointer[recorder.Bounds]
}

func (c *charterOf) bounds(did.DID) recorder.Bounds {
	if b := c.Load(); b != nil {
		return *b
	}
	return recorder.Bounds{}
}

func cutAt(f *forged, size int, taint ...uint64) *recorder.Bounds {
	c := recorder.Cut{Head: attestation.Head{Size: uint64(size), Root: attlog.RootOf(f.leaves(size))}}
	if len(taint) > 0 {
		c.TaintFrom = &taint[0]
	}
	return &recorder.Bounds{Cut: &c}
}

func (n *node) counting(t *testing.T, d did.DID) (out []uint64) {
	t.Helper()
	for f, err := range n.Facts(context.Background(), attestation.Query{Org: d}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f.Index)
	}
	return out
}

// TestAForkContestsWhatLiesAboveIt: what is contested begins where the branches are known to
// part, whatever showed it; nothing contested decides; what comes later is contested too.
func TestAForkContestsWhatLiesAboveIt(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	ours, other := branched(t, acme, 5, 10, 12)
	k, ctx := acme.keys[0], context.Background()
	show := func(from, to, size int) func(*node) {
		return func(n *node) { _, _ = n.Ingest(ctx, other.pack(t, k, from, to, size)) }
	}
	merge := func(size int) func(*node) {
		return func(n *node) { _, _ = n.MergeNote(ctx, acme.did, other.head(t, k, size).Bytes()) }
	}
	told := func(a, b attlog.Note, tree *forged) func(*node) {
		return func(n *node) {
			f, err := attlog.ProveFork(a, b, list(tree.leaves(len(tree.entries))))
			if err != nil {
				t.Fatal(err)
			}
			if fresh, err := n.TakeFork(ctx, f); err != nil || !fresh {
				t.Fatalf("not taken: %v", err)
			}
		}
	}
	seen := func(a, b attlog.Note, tree *forged) func(*node) { // new or not
		return func(n *node) {
			f, err := attlog.ProveFork(a, b, list(tree.leaves(len(tree.entries))))
			if err == nil {
				_, err = n.TakeFork(ctx, f)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	every := func(n *node) {
		for size := 6; size <= 10; size++ {
			seen(other.head(t, k, size), ours.head(t, k, size), other)(n)
		}
	}
	for name, c := range map[string]struct {
		by   []func(*node)
		want string
	}{
		"entries of a larger head":                  {[]func(*node){show(0, 12, 12)}, "5 valid, 5 contested:fork"},
		"entries of a smaller head":                 {[]func(*node){show(0, 7, 7)}, "5 valid, 5 contested:fork"},
		"entries from the parting on":               {[]func(*node){show(5, 12, 12)}, "5 valid, 5 contested:fork"},
		"a head alone":                              {[]func(*node){merge(7)}, "10 contested:fork"},
		"a head alone, its entries later":           {[]func(*node){merge(7), show(0, 12, 12)}, "5 valid, 5 contested:fork"},
		"entries, another head of the branch later": {[]func(*node){show(0, 12, 12), merge(7)}, "5 valid, 5 contested:fork"},
		"evidence with ranges": {[]func(*node){told(ours.head(t, k, 6), other.head(t, k, 12), other)},
			"4 valid, 6 contested:fork"}, // [0, 4) is one hash of it
		"evidence whose ranges are of the held branch": {[]func(*node){told(other.head(t, k, 7), ours.head(t, k, 8), ours)}, "10 contested:fork"},
		"evidence of one size":                         {[]func(*node){told(other.head(t, k, 8), ours.head(t, k, 8), other)}, "10 contested:fork"},
		// What was shown is not widened by what only says that they part, whichever came first.
		"entries, evidence of one size later":  {[]func(*node){show(0, 12, 12), seen(other.head(t, k, 8), ours.head(t, k, 8), other)}, "5 valid, 5 contested:fork"},
		"evidence of one size, entries later":  {[]func(*node){seen(other.head(t, k, 8), ours.head(t, k, 8), other), show(0, 12, 12)}, "5 valid, 5 contested:fork"},
		"entries, evidence with ranges later":  {[]func(*node){show(0, 12, 12), seen(ours.head(t, k, 6), other.head(t, k, 12), other)}, "5 valid, 5 contested:fork"},
		"evidence with ranges, entries later":  {[]func(*node){seen(ours.head(t, k, 6), other.head(t, k, 12), other), show(0, 12, 12)}, "5 valid, 5 contested:fork"},
		"entries, evidence of each size later": {[]func(*node){show(0, 12, 12), every}, "5 valid, 5 contested:fork"},
		"evidence of each size, entries later": {[]func(*node){every, show(0, 12, 12)}, "5 valid, 5 contested:fork"},
	} {
		t.Run(name, func(t *testing.T) {
			n := listener(t, knows(acme, beta), beta)
			if _, err := n.Ingest(ctx, ours.pack(t, k, 0, 8, 8)); err != nil {
				t.Fatal(err)
			}
			for _, f := range c.by {
				f(n)
			}
			if _, err := n.Ingest(ctx, ours.pack(t, k, 8, 10, 10)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got := runs(n.standings(t, acme.did)); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
				var want []uint64
				for i, s := range n.standings(t, acme.did) {
					if s == "valid" {
						want = append(want, uint64(i))
					}
				}
				if got := n.counting(t, acme.did); !slices.Equal(got, want) {
					t.Errorf("facts at %v, want %v", got, want)
				}
				for i := range uint64(10) {
					if v, err := n.events.Verdict(ctx, acme.did, i); err != nil || v.Level != attestation.Authored {
						t.Errorf("%d is %s, %v", i, v.Level, err)
					}
				}
				n.start(t)
			}
		})
	}
}

// TestACharterEndsALog: what a cutoff, a gap and a taint of the charter make of a log that
// has not forked and of one that has, before and after its entries came.
func TestACharterEndsALog(t *testing.T) {
	acme, beta, core := newParty("acme", 0x11), newParty("beta", 0x21), newParty("core", 0x41)
	ours, other := branched(t, acme, 5, 10, 12)
	k, ctx := acme.keys[0], context.Background()
	line, err := attlog.Cosign(ctx, beta.witness, beta.did, ours.head(t, k, 4), time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	vouched := ours.head(t, k, 4).With(line).Bytes()
	for name, c := range map[string]struct {
		charter *recorder.Bounds
		forked  bool
		note    []byte
		want    string
		settled bool
	}{
		"a cutoff":                                 {charter: cutAt(ours, 6), want: "6 valid, 4 void:cutoff"},
		"a cutoff at the beginning":                {charter: cutAt(ours, 0), want: "10 void:cutoff"},
		"a cutoff above all":                       {charter: &recorder.Bounds{Cut: &recorder.Cut{Head: attestation.Head{Size: 11}}}, want: "10 valid"},
		"a taint":                                  {charter: cutAt(ours, 6, 2), want: "3 valid, 3 disputed:taint, 4 void:cutoff"},
		"a taint, a head above it vouched for":     {charter: cutAt(ours, 6, 2), note: vouched, want: "4 valid, 2 disputed:taint, 4 void:cutoff"},
		"gaps":                                     {charter: &recorder.Bounds{Gaps: []recorder.Gap{{From: 2, To: 4}, {From: 7, To: 8}}}, want: "2 valid, 2 void:gap, 3 valid, 1 void:gap, 2 valid"},
		"a fork, the held branch named":            {charter: cutAt(ours, 7), forked: true, want: "7 valid, 3 void:cutoff", settled: true},
		"a fork, cut where both were one":          {charter: cutAt(ours, 3), forked: true, want: "3 valid, 7 void:cutoff", settled: true},
		"a fork, no cutoff":                        {charter: &recorder.Bounds{}, forked: true, want: "5 valid, 5 contested:fork"},
		"a fork, the end of it not held yet":       {charter: &recorder.Bounds{Cut: &recorder.Cut{Head: attestation.Head{Size: 11}}}, forked: true, want: "5 valid, 5 contested:fork"},
		"a fork, a gap":                            {charter: &recorder.Bounds{Gaps: []recorder.Gap{{From: 4, To: 6}}}, forked: true, want: "4 valid, 2 void:gap, 4 contested:fork"},
		"a fork, a taint that its end leaves over": {charter: cutAt(ours, 7, 1), forked: true, want: "2 valid, 5 disputed:taint, 3 void:cutoff", settled: true},
	} {
		for _, order := range []string{"last", "first", "between"} {
			t.Run(name+", "+order, func(t *testing.T) {
				var now charterOf
				n := newNode(t, beta, knows(acme, beta, core))
				n.bounds = now.bounds
				n.quorum = func() int { return 2 }
				n.start(t)
				bind := func() {
					now.Store(c.charter)
					if err := n.Rebound(ctx); err != nil {
						t.Fatal(err)
					}
				}
				steps := []func(){func() { ingest(t, n, ours.pack(t, k, 0, 8, 8)) }}
				if c.forked {
					steps = append(steps, func() { _, _ = n.Ingest(ctx, other.pack(t, k, 0, 12, 12)) })
				}
				if c.note != nil {
					steps = append(steps, func() {
						if _, err := n.MergeNote(ctx, acme.did, c.note); err != nil {
							t.Fatal(err)
						}
					})
				}
				steps = append(steps, func() { ingest(t, n, ours.pack(t, k, 8, 10, 10)) })
				at := map[string]int{"first": 0, "between": 1, "last": len(steps)}[order]
				for _, step := range slices.Insert(steps, at, bind) {
					step()
				}
				for _, again := range []string{"", ", again", ", after a restart"} {
					if got := runs(n.standings(t, acme.did)); got != c.want {
						t.Fatalf("got %s, want %s%s", got, c.want, again)
					}
					if got := n.Forked(acme.did); got != (c.forked && !c.settled) {
						t.Errorf("forked: %v%s", got, again)
					}
					if again == ", again" {
						n.start(t)
						if err := n.Recheck(ctx, acme.did); err != nil { // as Run begins
							t.Fatal(err)
						}
					}
					bind()
				}
				now.Store(&recorder.Bounds{})
				if err := n.Rebound(ctx); err != nil {
					t.Fatal(err)
				}
				want := "10 valid"
				if c.forked {
					want = "5 valid, 5 contested:fork"
				}
				if got := runs(n.standings(t, acme.did)); got != want {
					t.Errorf("once the charter says no more: %s, want %s", got, want)
				}
			})
		}
	}
}

func ingest(t *testing.T, n *node, p attestation.Package) {
	t.Helper()
	if res, err := n.Ingest(context.Background(), p); err != nil || res.Verdict != recorder.Accepted {
		t.Fatalf("%s, %v", res.Verdict, err)
	}
}

// TestWhatIsMadeOfALogHangsOnNoOrder is I-7, I-9 and I-23 for forks, cutoffs, taints and rotations:
// whatever comes in whatever order and how often, the standings at the end are the same, no
// level falls, and what is below a cutoff stays valid once it counts.
func TestWhatIsMadeOfALogHangsOnNoOrder(t *testing.T) {
	ctx := context.Background()
	for seed := range schedules() {
		rng := rand.New(rand.NewPCG(seed, 79))
		acme, beta, core := newParty("acme", 0x11), newParty("beta", 0x21), newParty("core", 0x41)
		old, next := acme.keys[0], seeded(0x15)
		acme.keys = append(acme.keys, next)
		part, third := 1+rng.IntN(7), 1+rng.IntN(7)
		turn := 9 + rng.IntN(4) // the rotation, for a compromise
		ours := long(t, acme, turn)
		from := uint64(rng.IntN(turn - 1))
		ours.rotated(t, next, 1, "compromise", &from)
		for i := len(ours.entries); i < 16; i++ {
			ours.charter(t, next, i)
		}
		_, other := branched(t, acme, part, 1, 14)
		_, more := branched(t, acme, third, 1, 13)
		proof, err := attlog.ProveFork(ours.head(t, old, 8), more.head(t, old, 13), list(more.leaves(13)))
		if err != nil {
			t.Fatal(err)
		}
		cosigned := func(size int) []byte {
			n := ours.head(t, old, size)
			line, err := attlog.Cosign(ctx, core.witness, core.did, n, time.Unix(1_800_000_000, 0))
			if err != nil {
				t.Fatal(err)
			}
			return n.With(line).Bytes()
		}
		charters := []*recorder.Bounds{nil, cutAt(ours, rng.IntN(17)), cutAt(ours, 12, uint64(rng.IntN(12))), {Gaps: []recorder.Gap{{From: 3, To: 5}}}}
		charter := charters[rng.IntN(len(charters))]
		size := 1 + rng.IntN(turn-1)
		forks := rng.IntN(3)
		final := ""
		for try := range 6 {
			var now charterOf
			ring := knows(newParty("acme", 0x11), beta, core)
			n := newNode(t, beta, ring)
			n.bounds, n.quorum = now.bounds, func() int { return 1 }
			begin, judgeSome := func() { n.start(t) }, func() {}
			if try%2 == 1 { // what may be is judged in the background
				begin = func() { n.start(t); n.SetPace(1+rng.IntN(3), 1+rng.IntN(6), 64) }
				judgeSome = func() {
					if _, err := n.JudgeSome(ctx, acme.did); err != nil {
						t.Fatal(err)
					}
				}
			}
			begin()
			ingest(t, n, ours.pack(t, old, 0, 8, 8)) // which branch is held is settled
			steps := []func(){
				func() { ring.learn(acme); _ = n.Recheck(ctx, acme.did) },
				func() { _, _ = n.Ingest(ctx, ours.pack(t, next, 8, 13, 13)) },
				func() { _, _ = n.Ingest(ctx, ours.pack(t, next, 8, 16, 16)) },
				func() { _, _ = n.MergeNote(ctx, acme.did, cosigned(size)) },
				func() { now.Store(charter); _ = n.Rebound(ctx) },
			}
			if forks > 0 { // before the rotation is known, for a retired key frames nobody
				steps = append(steps, func() { _, _ = n.Ingest(ctx, other.pack(t, old, 0, 12, 12)) })
			}
			if forks > 1 {
				steps = append(steps, func() { _, _ = n.TakeFork(ctx, proof) })
			}
			if forks > 0 {
				for _, i := range rng.Perm(forks) {
					steps[len(steps)-1-i]()
				}
			}
			was := n.levels(t, acme.did)
			for range 12 {
				i, head := rng.IntN(5), n.headText(t, acme.did)
				steps[i]()
				if judges := i == 0 || i == 4; judges && n.headText(t, acme.did) != head {
					t.Fatalf("seed %d: what is made of a log changes its head", seed)
				}
				is := n.levels(t, acme.did)
				for i := range was {
					if is[i] < was[i] {
						t.Fatalf("seed %d: the level of %d falls", seed, i)
					}
				}
				was = is
				for i, word := range n.standingsNow(t, acme.did) {
					c := now.Load()
					if ended := c != nil && c.Cut != nil && uint64(i) >= c.Cut.Size; word == "valid" && (ended || forks > 0 && n.Forked(acme.did) && i >= part) {
						t.Fatalf("seed %d: %d counts meanwhile", seed, i)
					}
				}
				if rng.IntN(3) == 0 {
					judgeSome()
				}
				if rng.IntN(6) == 0 {
					begin()
					if err := n.Recheck(ctx, acme.did); err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 3 {
				for _, step := range steps[:5] {
					step()
				}
			}
			if try%2 == 1 {
				n.judgedAll(t, acme.did)
			}
			got := runs(n.standings(t, acme.did))
			if try == 0 {
				final = got
			}
			if c := charter; c != nil && c.Cut != nil && c.Cut.TaintFrom == nil && c.Cut.Size <= uint64(turn) {
				if want := fmt.Sprint(c.Cut.Size, " valid"); c.Cut.Size > 0 && !strings.HasPrefix(got, want) {
					t.Fatalf("seed %d: below a cutoff at %d: %s", seed, c.Cut.Size, got)
				}
			}
			if got != final {
				t.Fatalf("seed %d, cutoff %+v, forks %d at %d and %d, rotated at %d tainted from %d: %s, another order gave %s", seed, charter, forks, part, third, turn, from, got, final)
			}
		}
	}
}

// headText is what a node shows of a log to others.
func (n *node) headText(t *testing.T, d did.DID) string {
	t.Helper()
	h, err := n.Head(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(h.Size, " ", string(h.Note))
}

func (n *node) levels(t *testing.T, d did.DID) (out []attestation.Level) {
	t.Helper()
	for i := range n.entries(t, d) {
		v, err := n.events.Verdict(context.Background(), d, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v.Level)
	}
	return out
}

// schedules is how many random schedules a property test runs.
func schedules() uint64 {
	if os.Getenv("TRUSTNODE_LONG") != "" {
		return 400
	}
	return 12
}

// TestWhatIsSaidPastACutoffTaintsNothing: whoever a charter ended takes nothing back of what
// stands, before the charter is known or after.
func TestWhatIsSaidPastACutoffTaintsNothing(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	next := seeded(0x15)
	acme.keys = append(acme.keys, next)
	f, from := long(t, acme, 6), uint64(1)
	f.rotated(t, next, 1, "compromise", &from)
	for i, c := range []struct {
		size int
		want string
	}{{5, "5 valid, 2 void:cutoff"}, {6, "6 valid, 1 void:cutoff"}, {7, "2 valid, 4 disputed:taint, 1 valid"}} {
		for _, first := range []bool{true, false} {
			var now charterOf
			n := newNode(t, beta, knows(acme, beta))
			n.bounds = now.bounds
			n.start(t)
			ingest(t, n, f.pack(t, next, 0, 6, 7))
			if !first {
				ingest(t, n, f.pack(t, next, 6, 7, 7))
			}
			now.Store(cutAt(f, c.size))
			if err := n.Rebound(context.Background()); err != nil {
				t.Fatal(err)
			}
			if first {
				ingest(t, n, f.pack(t, next, 6, 7, 7))
			}
			if got := runs(n.standings(t, acme.did)); got != c.want {
				t.Errorf("%d, first %v: %s, want %s", i, first, got, c.want)
			}
		}
	}
}

// TestACutoffOfABranchThatNobodyShowed: while it is not known where the held branch parts from
// the one that a charter names, nothing below the cutoff is void; once it is, what both share
// stands.
func TestACutoffOfABranchThatNobodyShowed(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	ours, other := branched(t, acme, 5, 10, 12)
	k, ctx := acme.keys[0], context.Background()
	var now charterOf
	n := newNode(t, beta, knows(acme, beta))
	n.bounds = now.bounds
	n.start(t)
	ingest(t, n, ours.pack(t, k, 0, 10, 10))
	now.Store(cutAt(other, 7))
	for range 2 {
		if err := n.Rebound(ctx); err != nil {
			t.Fatal(err)
		}
		if got, want := runs(n.standings(t, acme.did)), "7 contested:fork, 3 void:cutoff"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		n.start(t)
	}
	if res, _ := n.Ingest(ctx, other.pack(t, k, 0, 12, 12)); res.Verdict != recorder.Forked {
		t.Fatal(res.Verdict)
	}
	if got, want := runs(n.standings(t, acme.did)), "5 valid, 5 void:cutoff"; got != want {
		t.Errorf("once it is shown: %s, want %s", got, want)
	}
}
