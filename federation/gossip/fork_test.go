package gossip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/did/pins"
	"trustnode/federation"
)

// forked is the DID log of a member without a node here: entry 1, and two entries 2 that
// its next update key signed, the first of which goes on.
type forked struct {
	t                   *testing.T
	d                   did.DID
	one, a, longA, b, c didwebvh.History
}

func rotated(t *testing.T, h didwebvh.History, update, next, issuer byte) didwebvh.History {
	t.Helper()
	line, err := didwebvh.Rotate(t.Context(), h, didwebvh.RotateRequest{Update: envelopetest.Repeat(update), Next: envelopetest.Repeat(next).Public(),
		Issuer: envelopetest.Repeat(issuer).Public(), At: h.Head().Time.Add(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	if h, err = h.Extend(line, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	return h
}

func newForked(t *testing.T) forked {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	d, line, err := didwebvh.Create(t.Context(), didwebvh.CreateRequest{Domain: "forked.example", Update: envelopetest.Repeat(1), Next: envelopetest.Repeat(2).Public(),
		Recovery: envelopetest.Repeat(3).Public(), Issuer: envelopetest.Repeat(0x11).Public(), At: at})
	if err != nil {
		t.Fatal(err)
	}
	one, err := didwebvh.Verify(line, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f := forked{t: t, d: d, one: one, a: rotated(t, one, 2, 4, 0x13), b: rotated(t, one, 2, 4, 0x15), c: rotated(t, one, 2, 4, 0x17)}
	f.longA = rotated(t, f.a, 4, 5, 0x19)
	return f
}

// ringHome keeps real DID logs of some members in a keyring, as a node does.
type ringHome struct {
	identitiesOf
	*keyring.Ring

	mu     sync.Mutex
	served int                      // guarded by mu; how often a log of the ring was asked for
	whole  int                      // guarded by mu; from its first line
	claims map[did.DID]bool         // guarded by mu; who has proven a fork of the DID
	forge  func(map[did.DID]string) // guarded by mu; what is done to the heads that are shown
	garble func(log []byte) []byte  // guarded by mu; what is done to a log that is served
	of     did.DID
}

func (f forked) home(h *home, log didwebvh.History) *ringHome {
	r := &ringHome{identitiesOf: identitiesOf{h}, Ring: keyring.New(keyring.Memory(), pins.Memory(), time.Now), claims: map[did.DID]bool{}, of: f.d}
	if _, err := r.Ring.Offer(f.t.Context(), f.d, log.Log(), log.Witness()); err != nil {
		f.t.Fatal(err)
	}
	h.status[f.d] = "active"
	h.ids = r
	return r
}

func (r *ringHome) Heads(ctx context.Context) (map[did.DID]string, error) {
	out, err := r.identitiesOf.Heads(ctx)
	if err != nil {
		return nil, err
	}
	vs, err := r.List(ctx)
	for _, v := range vs {
		out[v.DID] = v.ID
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forge != nil {
		r.forge(out)
	}
	return out, err
}

func (r *ringHome) mine(d did.DID) bool { return d == r.of || d.Method() == "web" }

func (r *ringHome) Log(ctx context.Context, d did.DID, after uint64) ([]byte, []byte, error) {
	if !r.mine(d) {
		return r.identitiesOf.Log(ctx, d, after)
	}
	r.mu.Lock()
	r.served++
	if after == 0 {
		r.whole++
	}
	garble := r.garble
	r.mu.Unlock()
	log, err := r.Ring.Log(ctx, d, int(after))
	if garble != nil {
		log = garble(log)
	}
	return log, nil, err
}

func (r *ringHome) Knows(ctx context.Context, d did.DID, version string) bool {
	if !r.mine(d) {
		return r.identitiesOf.Knows(ctx, d, version)
	}
	return r.Ring.Knows(d, version)
}

func (r *ringHome) Branches(ctx context.Context, d did.DID) (out []Branch, err error) {
	if v, err := r.Head(ctx, d); err != nil || v.State != did.Frozen {
		return nil, nil
	}
	list, err := r.Ring.Branches(ctx, d)
	for _, b := range list {
		if b.Decided == "" {
			out = append(out, Branch{After: uint64(b.Parent), Log: b.Lines, Witness: b.Witness})
		}
	}
	return out, err
}

func (r *ringHome) Doubted(_ context.Context, by did.DID) ([]did.DID, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claims[by] && len(r.Lines(r.of, 2)) < 2 {
		return []did.DID{r.of}, nil
	}
	return nil, nil
}

func (r *ringHome) Offer(ctx context.Context, d did.DID, from uint64, log, witness []byte) (Outcome, error) {
	if !r.mine(d) {
		return r.identitiesOf.Offer(ctx, d, from, log, witness)
	}
	res, err := r.Ring.Offer(ctx, d, log, witness)
	var bad *didwebvh.Error
	var fork *keyring.Fork
	var back *keyring.Rollback
	var changed *keyring.Changed
	switch {
	case err == nil && res.Advanced:
		return Taken, nil
	case err == nil, errors.As(err, &back), errors.As(err, &changed):
		return Held, nil
	case errors.As(err, &fork):
		return Forked, nil
	case errors.As(err, &bad) && bad.Reason == didwebvh.ReasonGap:
		return Behind, nil
	case errors.As(err, &bad):
		return False, nil
	}
	return 0, err
}

func (r *ringHome) asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.served
}

// frozen: the DID counts no further than entry 1, and both entries 2 are kept.
func (f forked) frozen(who string, r *ringHome) {
	f.t.Helper()
	v, err := r.Head(f.t.Context(), f.d)
	if err != nil || v.State != did.Frozen || !r.Ring.Knows(f.d, f.a.Head().ID) || !r.Ring.Knows(f.d, f.b.Head().ID) {
		f.t.Errorf("%s: %+v, %v, knows a %v, b %v", who, v, err, r.Ring.Knows(f.d, f.a.Head().ID), r.Ring.Knows(f.d, f.b.Head().ID))
	}
}

// TestAForkFreezesAll: nodes of which two saw different entries, one both yet the first
// alone and one a longer branch, come to the same frozen record, in whatever order they
// meet, with loss and duplication.
func TestAForkFreezesAll(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, 4, func(w *world) {
				f := newForked(w.t)
				var rs []*ringHome
				for i, log := range []didwebvh.History{f.a, f.b, f.one, f.longA} {
					rs = append(rs, f.home(w.hs[i], log))
				}
				rnd := rand.New(rand.NewPCG(seed, 1))
				w.net.Drop(0.3)
				w.net.Dup(0.3)
				w.net.Reorder(0.3)
				var pairs [][2]int
				for i := range w.hs {
					for j := range i {
						pairs = append(pairs, [2]int{i, j})
						w.net.Cut(w.hs[i].peer, w.hs[j].peer)
					}
				}
				w.start(0, 1, 2, 3)
				for _, at := range rnd.Perm(len(pairs)) {
					p := pairs[at]
					w.net.Heal(w.hs[p[0]].peer, w.hs[p[1]].peer)
					w.wait(time.Duration(rnd.IntN(90)) * time.Second)
					if rnd.IntN(3) == 0 {
						w.net.Cut(w.hs[p[0]].peer, w.hs[p[1]].peer)
						w.wait(time.Second)
						w.net.Heal(w.hs[p[0]].peer, w.hs[p[1]].peer)
					}
				}
				w.wait(5 * time.Minute)
				for i, r := range rs {
					f.frozen(fmt.Sprintf("node %d", i), r)
				}
				f.quiet(w, rs)
			})
		})
	}
}

// quiet: for an hour nobody is asked for a log again.
func (f forked) quiet(w *world, rs []*ringHome) {
	f.t.Helper()
	before := 0
	for _, r := range rs {
		before += r.asked()
	}
	w.wait(2 * time.Hour)
	after := 0
	for i, r := range rs {
		after += r.asked()
		if s := w.node(i).Stats(); s.Blamed > 0 {
			f.t.Errorf("node %d blamed %d times", i, s.Blamed)
		}
	}
	if after != before {
		f.t.Errorf("logs were asked for %d times more", after-before)
	}
}

// TestBothBranchesComeFromOneNode: who holds nothing of the log but its first entry, or
// one branch, gets both of a node that is frozen: the second when that node's member has
// proven the fork, since its head shows nothing new.
func TestBothBranchesComeFromOneNode(t *testing.T) {
	inWorld(t, 4, func(w *world) {
		f := newForked(w.t)
		rs := []*ringHome{f.home(w.hs[0], f.longA), f.home(w.hs[1], f.one), f.home(w.hs[2], f.a), f.home(w.hs[3], f.c)}
		for _, log := range []didwebvh.History{f.b, f.c} {
			if _, err := rs[0].Ring.Offer(w.t.Context(), f.d, log.Log(), nil); !errors.Is(err, keyring.ErrFrozen) {
				t.Fatal(err)
			}
		}
		for i := 1; i < 4; i++ {
			for j := 1; j < i; j++ {
				w.net.Cut(w.hs[i].peer, w.hs[j].peer)
			}
		}
		w.start(0, 1, 2, 3)
		w.wait(3 * time.Minute)
		f.frozen("entry 1", rs[1])
		f.frozen("another branch", rs[3])
		if v, _ := rs[2].Head(w.t.Context(), f.d); v.State != did.Frozen {
			f.t.Logf("as it should: a branch that is known asks nothing: %+v", v)
		}
		rs[2].mu.Lock()
		rs[2].claims[w.hs[0].me] = true
		rs[2].mu.Unlock()
		w.node(2).SyncSoon(w.hs[0].me)
		w.wait(2 * time.Second)
		f.frozen("branch a", rs[2])
		for i, r := range rs {
			if got := len(r.Lines(f.d, 2)); got != 3 {
				t.Errorf("node %d holds %d entries 2", i, got)
			}
		}
		f.quiet(w, rs)
	})
}

// TestABranchOfAnotherBranchComes: what is forked where it is asked may part later than
// what is held here parts from both. A branch then comes with the lines before it.
func TestABranchOfAnotherBranchComes(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		f := newForked(w.t)
		x, y := rotated(w.t, f.b, 4, 5, 0x21), rotated(w.t, f.b, 4, 5, 0x23)
		rs := []*ringHome{f.home(w.hs[0], f.a), f.home(w.hs[1], x)}
		if _, err := rs[1].Ring.Offer(w.t.Context(), f.d, y.Log(), nil); !errors.Is(err, keyring.ErrFrozen) {
			t.Fatal(err)
		}
		w.start(0, 1)
		w.wait(3 * time.Minute)
		for i, r := range rs {
			f.frozen(fmt.Sprintf("node %d", i), r)
			if !r.Ring.Knows(f.d, x.Head().ID) || !r.Ring.Knows(f.d, y.Head().ID) {
				t.Errorf("node %d lacks an entry 3", i)
			}
		}
		f.quiet(w, rs)
	})
}

// TestADecisionLoopsNothing: one node decides, the others stay frozen; what the branch it
// decided for goes on with is kept by all, and asked for once.
func TestADecisionLoopsNothing(t *testing.T) {
	for name, pick := range map[string]func(forked) (won, next didwebvh.History){
		"the branch it held":    func(f forked) (didwebvh.History, didwebvh.History) { return f.a, f.longA },
		"the branch it did not": func(f forked) (didwebvh.History, didwebvh.History) { return f.b, rotated(f.t, f.b, 4, 5, 0x21) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				f := newForked(w.t)
				won, next := pick(f)
				rs := []*ringHome{f.home(w.hs[0], f.a), f.home(w.hs[1], f.b), f.home(w.hs[2], f.one)}
				w.start(0, 1, 2)
				w.wait(3 * time.Minute)
				if _, err := rs[0].AcceptHead(w.t.Context(), f.d, won.Head().ID, "operator"); err != nil {
					t.Fatal(err)
				}
				f.quiet(w, rs)
				if _, err := rs[0].Ring.Offer(w.t.Context(), f.d, next.Log(), nil); err != nil {
					t.Fatal(err)
				}
				w.wait(3 * time.Minute)
				f.quiet(w, rs)
				if v, err := rs[0].Head(w.t.Context(), f.d); err != nil || v.State != did.Held || v.ID != next.Head().ID {
					t.Errorf("who decided: %+v, %v", v, err)
				}
				for i, r := range rs[1:] {
					f.frozen(fmt.Sprintf("node %d", i+1), r)
					if !r.Ring.Knows(f.d, next.Head().ID) {
						t.Errorf("node %d lacks what came after", i+1)
					}
				}
			})
		})
	}
}

// TestABeaconShowsTheOtherBranch: a fork is found when a beacon names the other head, long
// before the next sync is due.
func TestABeaconShowsTheOtherBranch(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		f := newForked(w.t)
		rs := []*ringHome{f.home(w.hs[0], f.one), f.home(w.hs[1], f.one)}
		w.start(0, 1)
		w.wait(70 * time.Second) // syncs have just been
		for i, log := range []didwebvh.History{f.a, f.b} {
			if _, err := rs[i].Ring.Offer(w.t.Context(), f.d, log.Log(), nil); err != nil {
				t.Fatal(err)
			}
		}
		b := beaconOf(w.t, w.hs[1], 1000, f.d, f.b.Head().ID)
		if v := w.node(0).Judge(w.t.Context(), w.hs[1].peer, federation.TopicBeacons, b); v != federation.Accept {
			t.Fatalf("verdict %v", v)
		}
		w.wait(time.Second)
		f.frozen("who heard the beacon", rs[0])
	})
}

// beaconOf is a beacon of a home that shows one head of a member.
func beaconOf(t *testing.T, h *home, n uint64, d did.DID, version string) []byte {
	t.Helper()
	head, _ := h.Head()
	e, err := envelope.Seal(t.Context(), federation.Beacon{At: envelope.TimeOf(time.Now()), Charter: head.Charter, DIDVersion: "1-x", Federation: h.fed, Generation: 1,
		Heads: []federation.BeaconHead{{DID: d, DIDHead: version}}, Kid: h.sign.Public().Multikey(), N: n, Org: h.me, Software: "test", SpecMax: 1}, h.sign)
	if err != nil {
		t.Fatal(err)
	}
	return e.DSSE()
}

// TestInventedHeadsCostBoundedWork: a member shows a new head of everybody in each sync
// and each beacon. It is blamed, is asked for a bounded number of logs, and hides no fork
// that others show.
func TestInventedHeadsCostBoundedWork(t *testing.T) {
	for name, garble := range map[string]func([]byte) []byte{
		"it serves the true log": nil,
		"it serves nothing":      func([]byte) []byte { return nil },
		"it serves no log":       func([]byte) []byte { return []byte("{}\n") },
		"it serves a forged log": func(log []byte) []byte { return bytes.Replace(log, []byte("forked"), []byte("forged"), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				f := newForked(w.t)
				rs := []*ringHome{f.home(w.hs[0], f.a), f.home(w.hs[1], f.a), f.home(w.hs[2], f.a)}
				n := 0
				rs[1].garble = garble
				rs[1].forge = func(heads map[did.DID]string) {
					for d := range heads {
						n++
						heads[d] = fmt.Sprintf("%d-Qm%044d", 1+n%3, n)
					}
				}
				w.net.Cut(w.hs[1].peer, w.hs[2].peer)
				w.start(0, 1, 2)
				for i := range 3600 / 5 {
					if i%60 == 0 && w.node(0) != nil {
						b := beaconOf(w.t, w.hs[1], uint64(100_000+i), f.d, fmt.Sprintf("2-Qm%044d", i))
						w.node(0).Judge(w.t.Context(), w.hs[1].peer, federation.TopicBeacons, b)
					}
					w.node(0).SyncSoon(w.hs[1].me)
					w.wait(5 * time.Second)
				}
				rs[1].mu.Lock()
				if got := rs[1].whole; got == 0 || got > 2*chasesPerHour { // of two hours by the clock
					t.Errorf("in an hour the liar was asked for %d whole logs", got)
				}
				rs[1].mu.Unlock()
				if s := w.node(0).Stats(); s.Blamed == 0 {
					t.Error("nobody was blamed")
				}
				if _, err := rs[2].Ring.Offer(w.t.Context(), f.d, f.b.Log(), nil); !errors.Is(err, keyring.ErrFrozen) {
					t.Fatal(err)
				}
				if _, err := rs[2].AcceptHead(w.t.Context(), f.d, f.b.Head().ID, "operator"); err != nil {
					t.Fatal(err)
				}
				w.wait(90 * time.Second)
				f.frozen("who listened to the liar", rs[0])
			})
		})
	}
}

func TestBeaconsOfInventedHeadsAreBounded(t *testing.T) {
	onePair(t, func(w *world, n *Node) {
		f := newForked(w.t)
		r := f.home(w.hs[0], f.a)
		n.cfg.Identities = r
		from := did.MustParse("did:web:liar.example")
		count := func(first, last int) (strange int) {
			for i := first; i < last; i++ {
				n.judging.mu.Lock()
				if n.strange(w.t.Context(), federation.Beacon{Org: from, Heads: []federation.BeaconHead{{DID: f.d, DIDHead: fmt.Sprintf("2-%d", i)}}}) {
					strange++
				}
				n.judging.mu.Unlock()
			}
			return strange
		}
		time.Sleep(time.Hour - time.Since(time.Now().Truncate(time.Hour)) + time.Second) // an hour begins
		if got := count(0, 5000); got != chasesPerHour {
			t.Errorf("%d syncs for 5000 invented heads", got)
		}
		time.Sleep(time.Hour)
		if got := count(0, 10) + count(0, 10); got != 10 {
			t.Errorf("an hour later, each twice: %d syncs", got)
		}
		if got := len(n.judging.chased.at); got > maxChased {
			t.Errorf("%d heads are remembered", got)
		}
		b := federation.Beacon{Org: from, Heads: []federation.BeaconHead{{DID: f.d, DIDHead: f.a.Head().ID}, {DID: did.MustParse("did:web:stranger.example"), DIDHead: "2-x"}}}
		n.judging.mu.Lock()
		defer n.judging.mu.Unlock()
		if n.strange(w.t.Context(), b) {
			t.Error("a known head, and one of nobody who is listed")
		}
	})
}

// TestOtherDocumentsAreAskedForOnce: heads of did:web have no numbers. Another document is
// fetched, the keyring keeps it as not trusted, and it is known from then on.
func TestOtherDocumentsAreAskedForOnce(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		f := newForked(w.t)
		rs := []*ringHome{f.home(w.hs[0], f.a), f.home(w.hs[1], f.a)}
		web := did.MustParse("did:web:beta.example")
		doc := func(key byte) []byte {
			k := envelopetest.Repeat(key).Public().Multikey()
			return fmt.Appendf(nil, `{"@context":["https://www.w3.org/ns/did/v1"],"id":%[1]q,"verificationMethod":[{"id":"%[1]s#%[2]s","type":"Multikey","controller":%[1]q,"publicKeyMultibase":%[2]q}],"assertionMethod":["%[1]s#%[2]s"]}`, web, k)
		}
		for i, r := range rs {
			if _, err := r.OfferWeb(w.t.Context(), web, doc(byte(1+i)), "join", time.Now(), ""); err != nil {
				t.Fatal(err)
			}
			w.hs[i].status[web] = "active"
		}
		w.start(0, 1)
		w.wait(2 * time.Minute)
		for i, r := range rs {
			if c, err := r.Changes(w.t.Context(), web); err != nil || len(c) != 1 || !r.Ring.Knows(web, c[0].Offered) {
				t.Errorf("node %d: %v, %v", i, c, err)
			}
		}
		f.quiet(w, rs)
	})
}
