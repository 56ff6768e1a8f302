package keyring_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
)

// grove is one DID and the logs that holders of its keys could publish: they share entry 1, two lines part after it,
// and each parts again. One ends the DID.
type grove struct {
	d    did.DID
	logs []didwebvh.History
	kids []seed // every assertion key in any of them
}

func plant(t *testing.T) grove {
	one := acme(t)
	a, b := rotated(t, one, u2, u3, i2), rotated(t, one, u2, u3, i3)
	a3, a3x := rotated(t, a, u3, 5, 40), rotated(t, a, u3, 6, 41)
	a4 := rotated(t, a3, 5, 7, 42)
	b3 := rotated(t, b, u3, 5, 43)
	return grove{one.DID(), []didwebvh.History{one, a, b, a3, a3x, a4, ended(t, a3x, 6), b3, ended(t, b, u3)}, []seed{i1, i2, i3, 40, 41, 42, 43}}
}

// want is what a set of logs must come to: the number of the first contested entry, or the longest log.
func (g grove) want(picked []int) (contested int, longest didwebvh.History) {
	entries := map[int]string{}
	for _, i := range picked {
		h := g.logs[i]
		if h.Len() > longest.Len() {
			longest = h
		}
		for n := 1; n <= h.Len(); n++ {
			v, _ := h.At(n)
			if other, ok := entries[n]; ok && other != v.ID && (contested == 0 || n < contested) {
				contested = n
			}
			entries[n] = v.ID
		}
	}
	return contested, longest
}

// TestI4I5SameLogsInAnyOrder offers logs in random order, some twice, with restarts between: the same logs give the
// same head, or a freeze at the same entry, and after a freeze no key of any branch past it is answered.
func TestI4I5SameLogsInAnyOrder(t *testing.T) {
	g := plant(t)
	rapid.Check(t, func(rt *rapid.T) {
		order := rapid.SliceOfN(rapid.IntRange(0, len(g.logs)-1), 1, 12).Draw(rt, "order")
		r := fresh(t)
		for _, i := range order {
			_, _ = r.Offer(t.Context(), g.d, g.logs[i].Log(), nil)
			if rapid.IntRange(0, 4).Draw(rt, "restart") == 0 {
				r = r.restart(t)
			}
		}
		contested, longest := g.want(order)
		head, err := r.Head(t.Context(), g.d)
		f, forkErr := r.Forked(t.Context(), g.d)
		if err != nil || forkErr != nil {
			rt.Fatalf("%v, %v", err, forkErr)
		}
		if contested == 0 {
			state := did.Held
			if longest.Deactivated() {
				state = did.Deactivated
			}
			if head != version(longest, state) || f != nil {
				rt.Fatalf("got %+v, %+v, want %s", head, f, longest.Head().ID)
			}
			return
		}
		if head.State != did.Frozen || f == nil || f.Number != contested || f.Held == f.Offered || f.Decided != "" {
			rt.Fatalf("got %+v, %+v, want entry %d contested", head, f, contested)
		}
		g.nothingFrom(rt, r, order, contested)
	})
}

// nothingFrom: no key counts anywhere at or past the contested entry, and everything before it still does.
func (g grove) nothingFrom(t *rapid.T, r home, offered []int, contested int) {
	ctx := t.Context()
	for _, k := range g.kids {
		if key, err := r.HeadSource().Key(ctx, g.d, k.kid()); !errors.Is(err, envelope.ErrPending) {
			t.Fatalf("at the head: %v, %v", key, err)
		}
	}
	if _, err := r.Document(ctx, g.d); !errors.Is(err, keyring.ErrFrozen) {
		t.Fatalf("document: %v", err)
	}
	for i, h := range g.logs {
		for n := 1; n <= h.Len(); n++ {
			v, _ := h.At(n)
			keys, err := r.At(g.d, v.ID)
			if n < contested && slices.Contains(offered, i) && (err != nil || len(keys) != 1) {
				t.Fatalf("entry %d, before %d: %v, %v", n, contested, keys, err)
			}
			if n >= contested && err == nil {
				t.Fatalf("entry %d, contested from %d: %v", n, contested, keys)
			}
			for _, k := range g.kids {
				if _, err := r.AtSource(v.ID).Key(ctx, g.d, k.kid()); n >= contested && err == nil {
					t.Fatalf("%s at entry %d, contested from %d", k.kid(), n, contested)
				}
			}
			if _, err := r.Extends(g.d, h.Prefix(1).Head().ID, v.ID); n >= contested && err == nil {
				t.Fatalf("entry %d extends, contested from %d", n, contested)
			}
		}
	}
}

// watched are pins that fail the test when they fall, or change without a decision.
type watched struct {
	pins.Pins
	t       *rapid.T
	decided func() bool
}

func (w watched) check(before pins.Slot, had string, ok bool, key string) {
	after, value, still := w.Highest(pins.KindDID, key)
	if ok && (!still || after.N < before.N || after.N == before.N && value != had && !w.decided()) {
		w.t.Fatalf("pin %d %s became %d %s", before.N, had, after.N, value)
	}
}

func (w watched) Put(ctx context.Context, s pins.Slot, v string) error {
	before, had, ok := w.Highest(s.Kind, s.Key)
	defer w.check(before, had, ok, s.Key)
	return w.Pins.Put(ctx, s, v)
}

func (w watched) Move(ctx context.Context, s pins.Slot, v, by string) error {
	before, had, ok := w.Highest(s.Kind, s.Key)
	defer w.check(before, had, ok, s.Key)
	return w.Pins.Move(ctx, s, v, by)
}

// TestI3PinsNeverFall drives a node through offers, decisions, crashes at every step, restarts and restored backups: the
// number of a pin never falls, its value changes by decisions only, and a node whose state is behind it answers no key.
func TestI3PinsNeverFall(t *testing.T) {
	g := plant(t)
	rapid.Check(t, func(rt *rapid.T) {
		decided := false // from the first decision on, a shorter branch may grow within one slot
		p := watched{pins.Memory(), rt, func() bool { return decided }}
		store := keyring.Memory()
		var backups []keyring.Store
		r := newHome(t, store, p)
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			ctx := t.Context()
			ring := r
			if left := rapid.IntRange(0, 3).Draw(rt, "crash"); left > 0 {
				c := &crash{left: left, after: rapid.Bool().Draw(rt, "after")}
				ring = newHome(t, crashStore{store, c}, crashPins{p, c})
				_ = ring.Load(ctx)
			}
			log := g.logs[rapid.IntRange(0, len(g.logs)-1).Draw(rt, "log")]
			switch rapid.IntRange(0, 5).Draw(rt, "do") {
			case 0:
				decided = true
				_, _ = ring.AcceptHead(ctx, g.d, log.Head().ID, charter)
			case 1:
				backups = append(backups, copyOfStore(t, store))
			case 2:
				if len(backups) > 0 {
					store = copyOfStore(t, rapid.SampledFrom(backups).Draw(rt, "backup"))
				}
			default:
				_, _ = ring.Offer(ctx, g.d, log.Log(), nil)
			}
			g.neverBehind(rt, ring)
			r = newHome(t, store, p)
			_ = r.Load(ctx)
			g.neverBehind(rt, r)
		}
		for _, log := range g.logs { // whatever happened, the true log heals it
			_, value, pinned := p.Highest(pins.KindDID, g.d.String())
			if _, has := log.ByID(value); pinned && has {
				_, _ = r.Offer(t.Context(), g.d, log.Log(), nil)
				if _, err := r.Head(t.Context(), g.d); err != nil {
					rt.Fatalf("a log with the pinned version does not heal: %v", err)
				}
			}
		}
	})
}

// neverBehind: what is answered is what is pinned.
func (g grove) neverBehind(t *rapid.T, r home) {
	_, value, ok := r.pins.Highest(pins.KindDID, g.d.String())
	head, err := r.Head(t.Context(), g.d)
	if err == nil && (!ok || head.ID != value) {
		t.Fatalf("head %s, pinned %s", head.ID, value)
	}
	for _, k := range g.kids {
		key, err := r.HeadSource().Key(t.Context(), g.d, k.kid())
		if err == nil && key.Version != value {
			t.Fatalf("a key at %s, pinned %s", key.Version, value)
		}
	}
}

// TestI16NothingExtendsADeactivatedLog: not the key that ended it, and no order of offers.
func TestI16NothingExtendsADeactivatedLog(t *testing.T) {
	one := acme(t)
	end := ended(t, one, u2)
	after := wild{
		parameters: fmt.Sprintf(`{"updateKeys":[%q],"deactivated":false}`, u2.kid()),
		state:      string(one.Head().Document.Raw()), by: u2,
	}.line(t, end)
	longer := append(append(end.Log(), after...), '\n')
	rapid.Check(t, func(rt *rapid.T) {
		r := fresh(t)
		r.hold(t, end)
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			log := rapid.SampledFrom([][]byte{longer, append(after, '\n'), end.Log(), one.Log()}).Draw(rt, "log")
			if got, err := r.Offer(t.Context(), one.DID(), log, nil); err == nil && got.Advanced {
				rt.Fatalf("advanced to %+v", got.Version)
			}
			if rapid.Bool().Draw(rt, "restart") {
				r = r.restart(t)
			}
			if head, err := r.Head(t.Context(), one.DID()); err != nil || head != version(end, did.Deactivated) {
				rt.Fatalf("head %+v, %v", head, err)
			}
		}
	})
	if _, err := fresh(t).Offer(t.Context(), one.DID(), longer, nil); didwebvh.ReasonOf(err) != didwebvh.ReasonDeactivated {
		t.Errorf("a log that goes on after its end: %v", err)
	}
}

// TestI22WebKeysChangeInThreeWays drives a did:web DID with random documents from random sources, decisions, events,
// crashes and restarts: the keys that count change by AcceptHead and Rotated alone.
func TestI22WebKeysChangeInThreeWays(t *testing.T) {
	var docs [][]byte
	for _, keys := range [][]seed{{i1}, {i2}, {i1, i2}, {i3}} {
		docs = append(docs, site("x", keys...), site("y", keys...))
	}
	rapid.Check(t, func(rt *rapid.T) {
		ctx := t.Context()
		p := watched{pins.Memory(), rt, func() bool { return false }}
		store := keyring.Memory()
		r := newHome(t, store, p)
		trusted := ""
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			doc := rapid.SampledFrom(docs).Draw(rt, "doc")
			ring := r
			if left := rapid.IntRange(0, 3).Draw(rt, "crash"); left > 0 {
				c := &crash{left: left, after: rapid.Bool().Draw(rt, "after")}
				ring = newHome(t, crashStore{store, c}, crashPins{p, c})
				_ = ring.Load(ctx)
			}
			decision := false
			switch rapid.IntRange(0, 5).Draw(rt, "do") {
			case 0:
				decision = true
				_, _ = ring.AcceptHead(ctx, beta, idOf(doc), "operator")
			case 1:
				decision = true
				_, _ = ring.Rotated(ctx, beta, idOf(doc))
			default:
				by := rapid.SampledFrom([]string{"", "", "join", "operator"}).Draw(rt, "by")
				_, _ = ring.OfferWeb(ctx, beta, doc, by, seen, rapid.SampledFrom([]string{"", spki}).Draw(rt, "spki"))
				decision = by != "" && trusted == ""
			}
			r = newHome(t, store, p)
			_ = r.Load(ctx)
			now, ok := webKeys(r)
			if ok && trusted != "" && now != trusted && !decision {
				rt.Fatalf("keys %s became %s", trusted, now)
			}
			if ok {
				trusted = now
			}
			if head, err := r.Head(ctx, beta); err == nil {
				if _, value, _ := p.Highest(pins.KindDID, beta.String()); value != head.ID {
					rt.Fatalf("head %s, pinned %s", head.ID, value)
				}
			}
		}
	})
}

// webKeys is the key set of the document that stands; false if none counts.
func webKeys(r home) (string, bool) {
	vs, err := r.Versions(context.Background(), beta)
	if err != nil {
		return "", false
	}
	out := slices.Clone(vs[len(vs)-1].Document.Listed(did.AssertionMethod))
	slices.Sort(out)
	return strings.Join(out, " "), true
}
