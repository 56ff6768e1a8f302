package keyring_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/keyring/keyringtest"
	"trustnode/did/pins"
)

func TestMemoryStore(t *testing.T) {
	keyringtest.Run(t, func(*testing.T) keyring.Store { return keyring.Memory() })
}

func version(h didwebvh.History, state did.State) keyring.Version {
	v := h.Head()
	return keyring.Version{DID: h.DID(), Number: v.Number, ID: v.ID, State: state, VerifiedAt: seen}
}

func TestOfferAdvances(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	three := rotated(t, two, u3, 5, i3)
	r := fresh(t)
	d := one.DID()
	if _, err := r.Head(t.Context(), d); !errors.Is(err, keyring.ErrAbsent) {
		t.Errorf("before anything: %v", err)
	}
	steps := []struct {
		name     string
		log      []byte
		advanced bool
		at       didwebvh.History
	}{
		{"the first log", one.Log(), true, one},
		{"the same log", one.Log(), false, one},
		{"the next line alone", two.After(1), true, two},
		{"the line it has alone", two.After(1), false, two},
		{"the whole longer log", three.Log(), true, three},
	}
	for _, s := range steps {
		before, _ := r.Head(t.Context(), d)
		got, err := r.Offer(t.Context(), d, s.log, nil)
		want := version(s.at, did.Held)
		if err != nil || got.Advanced != s.advanced || got.Version != want || got.From != before {
			t.Errorf("%s: got %+v, %v, want %+v", s.name, got, err, want)
		}
		head, err := r.Head(t.Context(), d)
		if err != nil || head != want {
			t.Errorf("%s: head %+v, %v, want %+v", s.name, head, err, want)
		}
		slot, value, ok := r.pins.Highest(pins.KindDID, d.String())
		if !ok || slot.N != uint64(s.at.Len()) || value != want.ID {
			t.Errorf("%s: pinned %v %s", s.name, slot, value)
		}
	}
	log, err := r.Log(t.Context(), d, 1)
	if err != nil || string(log) != string(three.After(1)) {
		t.Errorf("log after 1: %q, %v", log, err)
	}
	doc, err := r.Document(t.Context(), d)
	if err != nil || !reflect.DeepEqual(doc, three.Head().Document) {
		t.Errorf("document: %v, %v", doc.ID(), err)
	}
	all, err := r.List(t.Context())
	if err != nil || !reflect.DeepEqual(all, []keyring.Version{version(three, did.Held)}) {
		t.Errorf("list: %+v, %v", all, err)
	}
}

func TestOfferRefused(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	three := rotated(t, two, u3, 5, i3)
	d := one.DID()
	foreign := did.MustParse("did:webvh:" + one.SCID() + ":other.example")
	flipped := two.After(1)
	flipped[len(flipped)/2] ^= 1
	for _, c := range []struct {
		name string
		d    did.DID
		log  []byte
		want func(error) bool
	}{
		{"a line past the head", d, three.After(2), reason(didwebvh.ReasonGap)},
		{"a line with one bit changed", d, flipped, func(err error) bool { return didwebvh.ReasonOf(err) != 0 }},
		{"no log", d, nil, reason(didwebvh.ReasonForm)},
		{"the log of another DID", foreign, two.Log(), is(keyring.ErrOtherDID)},
		{"a log for a did:key", ag.did(), two.Log(), is(keyring.ErrMethod)},
	} {
		r := fresh(t)
		r.hold(t, one)
		got, err := r.Offer(t.Context(), c.d, c.log, nil)
		if err == nil || !c.want(err) || !reflect.DeepEqual(got, keyring.Result{}) {
			t.Errorf("%s: got %+v, %v", c.name, got, err)
		}
		if head, err := r.Head(t.Context(), d); err != nil || head != version(one, did.Held) {
			t.Errorf("%s: the head moved to %+v, %v", c.name, head, err)
		}
	}
}

func reason(r didwebvh.Reason) func(error) bool {
	return func(err error) bool { return didwebvh.ReasonOf(err) == r }
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func TestRollbackIsRefused(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	r := fresh(t)
	r.hold(t, two)
	_, err := r.Offer(t.Context(), one.DID(), one.Log(), nil)
	var got *keyring.Rollback
	want := keyring.Rollback{DID: one.DID(), Offered: one.Head().ID, Held: two.Head().ID, Number: 2}
	if !errors.As(err, &got) || *got != want {
		t.Errorf("got %v, want %v", err, &want)
	}
	if head, _ := r.Head(t.Context(), one.DID()); head != version(two, did.Held) {
		t.Errorf("head %+v", head)
	}
}

// fork is a common entry 1 and two entries 2: whoever holds the next key can
// make both, and the recovery key does as well as the next one.
func fork(t *testing.T) (one, a, b didwebvh.History) {
	one = acme(t)
	a = rotated(t, one, u2, u3, i2)
	b = rotated(t, one, u2, u3, i3)
	return one, a, b
}

func TestForkFreezes(t *testing.T) {
	one, a, b := fork(t)
	longer := rotated(t, a, u3, 5, 0)
	r := fresh(t)
	r.hold(t, a)
	want := &keyring.Fork{
		DID: one.DID(), Number: 2, Held: a.Head().ID, Offered: b.Head().ID,
		Parent: one.Head().Line, HeldLine: a.Head().Line, OfferedLine: b.Head().Line,
	}
	check := func(what string, err error) {
		t.Helper()
		var got *keyring.Fork
		if !errors.As(err, &got) || !reflect.DeepEqual(got, want) || !errors.Is(err, keyring.ErrFrozen) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	_, err := r.Offer(t.Context(), one.DID(), b.Log(), nil)
	check("the other branch", err)
	_, err = r.Offer(t.Context(), one.DID(), b.Log(), nil)
	check("the other branch again", err)
	_, err = r.Offer(t.Context(), one.DID(), longer.Log(), nil)
	check("more of the held branch", err)
	if got, err := r.Offer(t.Context(), one.DID(), a.Log(), nil); err != nil || got.Advanced {
		t.Errorf("what is held: %+v, %v", got, err)
	}
	checkFrozen(t, r.Ring, one, a)

	again := newHome(t, r.store, r.pins)
	if err := again.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkFrozen(t, again.Ring, one, a)
	got, err := again.Forked(t.Context(), one.DID())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("after a restart: got %v, %v", got, err)
	}
}

// checkFrozen: the head stays, history up to the fork counts, nothing past it does.
func checkFrozen(t *testing.T, r *keyring.Ring, one, a didwebvh.History) {
	t.Helper()
	ctx, d := t.Context(), one.DID()
	if head, err := r.Head(ctx, d); err != nil || head != version(a, did.Frozen) {
		t.Errorf("head %+v, %v", head, err)
	}
	for _, s := range []seed{i1, i2, i3} {
		if _, err := r.HeadSource().Key(ctx, d, s.kid()); !errors.Is(err, envelope.ErrPending) || !errors.Is(err, keyring.ErrFrozen) {
			t.Errorf("something new by %s: %v", s.kid(), err)
		}
	}
	if k, err := r.AtSource(one.Head().ID).Key(ctx, d, i1.kid()); err != nil || k.Public != i1.Public() {
		t.Errorf("before the fork: %v, %v", k, err)
	}
	if _, err := r.AtSource(a.Head().ID).Key(ctx, d, i2.kid()); !errors.Is(err, keyring.ErrFrozen) {
		t.Errorf("past the fork: %v", err)
	}
	if _, err := r.Document(ctx, d); !errors.Is(err, keyring.ErrFrozen) {
		t.Errorf("document: %v", err)
	}
}

// TestOrderOfBranchesDoesNotMatter: whichever came first, the DID ends frozen at the same place.
func TestOrderOfBranchesDoesNotMatter(t *testing.T) {
	one, a, b := fork(t)
	logs := [][]byte{one.Log(), a.Log(), b.Log(), rotated(t, a, u3, 5, 0).Log(), rotated(t, b, u3, 5, 0).Log()}
	for n := range 20 {
		r := fresh(t)
		for _, i := range rand.New(rand.NewPCG(uint64(n), 1)).Perm(len(logs)) {
			_, _ = r.Offer(t.Context(), one.DID(), logs[i], nil)
		}
		f, err := r.Forked(t.Context(), one.DID())
		if err != nil || f == nil || f.Number != 2 {
			t.Fatalf("order %d: %v, %v", n, f, err)
		}
		ids := map[string]bool{f.Held: true, f.Offered: true}
		if !ids[a.Head().ID] || !ids[b.Head().ID] {
			t.Errorf("order %d: branches %v", n, ids)
		}
	}
}

func TestSources(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	r := fresh(t)
	r.hold(t, two)
	d, ctx := one.DID(), t.Context()
	head, first, last := r.HeadSource(), r.AtSource(one.Head().ID), r.AtSource(two.Head().ID)
	for _, c := range []struct {
		name   string
		src    envelope.KeySource
		signer did.DID
		kid    string
		want   did.Key
		err    error
	}{
		{"the head's key at the head", head, d, i2.kid(), did.Key{Public: i2.Public(), Version: two.Head().ID}, nil},
		{"the old key at the head", head, d, i1.kid(), did.Key{}, envelope.ErrRetired},
		{"a key nobody listed", head, d, i3.kid(), did.Key{}, envelope.ErrUnknownKey},
		{"an update key is no assertion key", head, d, u2.kid(), did.Key{}, envelope.ErrUnknownKey},
		{"a DID that is not held", head, did.MustParse("did:webvh:" + one.SCID() + ":x.example"), i2.kid(), did.Key{}, envelope.ErrPending},
		{"the first key at the first version", first, d, i1.kid(), did.Key{Public: i1.Public(), Version: one.Head().ID}, nil},
		{"the second key at the first version", first, d, i2.kid(), did.Key{}, envelope.ErrRetired},
		{"the second key at the second version", last, d, i2.kid(), did.Key{Public: i2.Public(), Version: two.Head().ID}, nil},
		{"the first key at the second version", last, d, i1.kid(), did.Key{}, envelope.ErrRetired},
		{"a version that is not held", r.AtSource("3-" + one.SCID()), d, i2.kid(), did.Key{}, keyring.ErrUnknownVersion},
		{"a did:key at the head", head, ag.did(), ag.kid(), did.Key{Public: ag.Public(), Version: did.StaticVersion}, nil},
		{"a did:key under another kid", head, ag.did(), i1.kid(), did.Key{}, envelope.ErrUnknownKey},
		{"a did:key without a version", r.AtSource(""), ag.did(), ag.kid(), did.Key{Public: ag.Public(), Version: did.StaticVersion}, nil},
		{"a did:key at somebody's version", first, ag.did(), ag.kid(), did.Key{}, keyring.ErrUnknownVersion},
	} {
		got, err := c.src.Key(ctx, c.signer, c.kid)
		if got != c.want || !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%s: got %v, %v, want %v, %v", c.name, got, err, c.want, c.err)
		}
	}
}

func TestAtAndExtends(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	r := fresh(t)
	r.hold(t, two)
	d, v1, v2 := one.DID(), one.Head().ID, two.Head().ID
	for version, want := range map[string]seed{v1: i1, v2: i2} {
		got, err := r.At(d, version)
		if err != nil || !reflect.DeepEqual(got, []did.PublicKey{want.Public()}) {
			t.Errorf("keys at %s: %v, %v", version, got, err)
		}
	}
	if got, err := r.At(ag.did(), ""); err != nil || !reflect.DeepEqual(got, []did.PublicKey{ag.Public()}) {
		t.Errorf("keys of a did:key: %v, %v", got, err)
	}
	absent := did.MustParse("did:webvh:" + one.SCID() + ":x.example")
	for name, call := range map[string]func() error{
		"a version past the head":   func() error { _, err := r.At(d, "3-"+one.SCID()); return err },
		"no version":                func() error { _, err := r.At(d, ""); return err },
		"a DID that is not held":    func() error { _, err := r.At(absent, v1); return err },
		"an unknown older version":  func() error { _, err := r.Extends(d, "3-"+one.SCID(), v2); return err },
		"an unknown newer version":  func() error { _, err := r.Extends(d, v1, "2-"+one.SCID()); return err },
		"versions of an absent DID": func() error { _, err := r.Extends(absent, v1, v2); return err },
	} {
		if err := call(); !errors.Is(err, keyring.ErrUnknownVersion) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct {
		older, newer string
		want         bool
	}{{v1, v2, true}, {v1, v1, true}, {v2, v1, false}} {
		if got, err := r.Extends(d, c.older, c.newer); err != nil || got != c.want {
			t.Errorf("%s to %s: %v, %v", c.older, c.newer, got, err)
		}
	}
}

func TestRestart(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	r := fresh(t)
	r.hold(t, one)
	old, err := r.store.Load(t.Context(), one.DID())
	if err != nil {
		t.Fatal(err)
	}
	r.hold(t, two)

	t.Run("all is verified again from bytes", func(t *testing.T) {
		again := newHome(t, r.store, r.pins)
		if err := again.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if head, err := again.Head(t.Context(), one.DID()); err != nil || head != version(two, did.Held) {
			t.Errorf("head %+v, %v", head, err)
		}
	})
	t.Run("a clock that was set back forgets nothing", func(t *testing.T) {
		again := keyring.New(r.store, r.pins, func() time.Time { return day1.AddDate(-1, 0, 0) })
		if err := again.Load(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("an old state is behind the pins until peers heal it", func(t *testing.T) {
		store := keyring.Memory()
		if err := store.Advance(t.Context(), keyring.Version{}, old); err != nil {
			t.Fatal(err)
		}
		heals(t, newHome(t, store, r.pins), one, two, 1)
	})
	t.Run("an empty state is behind the pins until peers heal it", func(t *testing.T) {
		heals(t, newHome(t, keyring.Memory(), r.pins), one, two, 0)
	})
	t.Run("a damaged state is behind the pins until peers heal it", func(t *testing.T) {
		bad, err := r.store.Load(t.Context(), one.DID())
		if err != nil {
			t.Fatal(err)
		}
		bad.Log[len(bad.Log)/3] ^= 4
		store := keyring.Memory()
		if err := store.Advance(t.Context(), keyring.Version{}, bad); err != nil {
			t.Fatal(err)
		}
		heals(t, newHome(t, store, r.pins), one, two, 0)
	})
}

// heals: a node behind its pins says so, uses no key, takes no shorter log, and comes back by the true one.
func heals(t *testing.T, r home, one, two didwebvh.History, held int) {
	t.Helper()
	ctx, d := t.Context(), one.DID()
	var below *keyring.Below
	loadErr := r.Load(ctx)
	if _, err := r.Head(ctx, d); !errors.As(err, &below) || below.Held != held || below.Number != 2 || below.Pinned != two.Head().ID {
		t.Errorf("head: %v", err)
	}
	if held > 0 && !errors.As(loadErr, &below) {
		t.Errorf("load: %v", loadErr)
	}
	if _, err := r.HeadSource().Key(ctx, d, i1.kid()); !errors.Is(err, envelope.ErrPending) {
		t.Errorf("a key while recovering: %v", err)
	}
	var rollback *keyring.Rollback
	if _, err := r.Offer(ctx, d, one.Log(), nil); !errors.As(err, &rollback) || rollback.Number != 2 {
		t.Errorf("the short log: %v", err)
	}
	got, err := r.Offer(ctx, d, two.Log(), nil)
	if err != nil || !got.Advanced || got.Version != version(two, did.Held) {
		t.Fatalf("the true log: %+v, %v", got, err)
	}
	if _, err := r.HeadSource().Key(ctx, d, i2.kid()); err != nil {
		t.Errorf("a key after it: %v", err)
	}
}

// failing is a store whose writes fail: the node may crash after any pin.
type failing struct{ keyring.Store }

var errDisk = errors.New("disk is gone")

func (failing) Advance(context.Context, keyring.Version, keyring.Record) error { return errDisk }

// TestPinComesBeforeTheState is identity I-3.
func TestPinComesBeforeTheState(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	r := fresh(t)
	r.hold(t, one)
	cut := newHome(t, failing{r.store}, r.pins)
	if err := cut.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := cut.Offer(t.Context(), one.DID(), two.Log(), nil); !errors.Is(err, errDisk) {
		t.Fatalf("got %v", err)
	}
	heals(t, newHome(t, r.store, r.pins), one, two, 1)
}

func TestDeactivated(t *testing.T) {
	const d = "did:webvh:Qmdxt11AjZewCNXX69bpEDobgjySeZ7eFwjf4tgpF6p2Dg:example.com"
	log := readFile(t, "testdata/deactivated.jsonl")
	r := fresh(t)
	ctx, subject := t.Context(), did.MustParse(d)
	got, err := r.Offer(ctx, subject, log, nil)
	if err != nil || got.Version.State != did.Deactivated {
		t.Fatalf("got %+v, %v", got, err)
	}
	if _, err := r.HeadSource().Key(ctx, subject, "P5RDjVJG"); !errors.Is(err, envelope.ErrRetired) || !errors.Is(err, keyring.ErrDeactivated) {
		t.Errorf("something new: %v", err)
	}
	if _, err := r.At(subject, got.Version.ID); !errors.Is(err, keyring.ErrDeactivated) {
		t.Errorf("keys at the end: %v", err)
	}
	if _, err := r.At(subject, "1-QmPFhMuZH9gjY2JZgyyrgRuFTywQ4mDhoKGVoGE8uy7hFD"); err != nil {
		t.Errorf("keys before the end: %v", err)
	}
	if _, err := r.Document(ctx, subject); !errors.Is(err, keyring.ErrDeactivated) {
		t.Errorf("document: %v", err)
	}
}

func TestConcurrentOffersAndReads(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	three := rotated(t, two, u3, 5, i3)
	r := fresh(t)
	r.hold(t, one)
	var wg sync.WaitGroup
	for _, h := range []didwebvh.History{one, two, three, two, one, three} {
		wg.Go(func() {
			var back *keyring.Rollback
			if _, err := r.Offer(t.Context(), one.DID(), h.Log(), nil); err != nil && !errors.As(err, &back) {
				t.Error(err)
			}
			if _, err := r.HeadSource().Key(t.Context(), one.DID(), i3.kid()); err != nil && !errors.Is(err, envelope.ErrUnknownKey) && !errors.Is(err, envelope.ErrRetired) {
				t.Error(err)
			}
			if _, err := r.List(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if head, err := r.Head(t.Context(), one.DID()); err != nil || head != version(three, did.Held) {
		t.Errorf("head %+v, %v", head, err)
	}
}

func TestFingerprint(t *testing.T) {
	d := did.MustParse("did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example")
	got := keyring.Fingerprint(d, "2-QmRCpJ1PuyZbtPNtd68dAS1ry9eX2zC1iLWXQczwnw77eR")
	if want := "org1-ny24-jc3a-olhj-xfze-kjde-xrpa-xaxv-wypc-lglj"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSpelling(t *testing.T) {
	const worked = "fed1-cfty-5puv-redc-auo2-xlbf-5qzy-j7d6-3ghr-qhf5"
	for name, c := range map[string]struct {
		prefix, text string
		want         bool
	}{
		"what was written":       {"fed1", worked, true},
		"under another prefix":   {"org1", worked, false},
		"the prefix exchanged":   {"org1", "org1" + worked[4:], false},
		"one letter changed":     {"fed1", strings.Replace(worked, "puv", "pvv", 1), false},
		"two groups exchanged":   {"fed1", strings.Replace(worked, "5puv-redc", "redc-5puv", 1), false},
		"in capitals":            {"fed1", strings.ToUpper(worked), false},
		"without dashes":         {"fed1", strings.ReplaceAll(worked, "-", ""), false},
		"without its last group": {"fed1", worked[:len(worked)-5], false},
		"one byte more":          {"fed1", worked + "a", false},
		"a line break in it":     {"fed1", worked[:9] + "\n" + worked[9:], false},
		"nothing":                {"fed1", "", false},
	} {
		if got := keyring.Spelled(c.prefix, c.text); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
