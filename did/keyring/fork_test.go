package keyring_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/pins"
)

// restart is another ring over what r wrote, loaded; an error of Load that is not about this DID fails the test.
func (h home) restart(t testing.TB) home {
	t.Helper()
	again := newHome(t, h.store, h.pins)
	var below *keyring.Below
	if err := again.Load(t.Context()); err != nil && !errors.As(err, &below) {
		t.Fatal(err)
	}
	return again
}

// forked is a ring that is frozen: a is held, b offered.
func forked(t *testing.T) (r home, one, a, b didwebvh.History) {
	t.Helper()
	one, a, b = fork(t)
	r = fresh(t)
	r.hold(t, a)
	var f *keyring.Fork
	if _, err := r.Offer(t.Context(), one.DID(), b.Log(), nil); !errors.As(err, &f) {
		t.Fatal(err)
	}
	return r, one, a, b
}

const charter = "zQmCharter"

func TestAcceptHeadChoosesABranch(t *testing.T) {
	for _, c := range []struct {
		name         string
		choose       func(a, b didwebvh.History) (won, lost didwebvh.History)
		right, wrong seed
	}{
		{"the held branch", func(a, b didwebvh.History) (didwebvh.History, didwebvh.History) { return a, b }, i2, i3},
		{"the other branch", func(a, b didwebvh.History) (didwebvh.History, didwebvh.History) { return b, a }, i3, i2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, one, a, b := forked(t)
			won, lost := c.choose(a, b)
			ctx, d := t.Context(), one.DID()
			got, err := r.AcceptHead(ctx, d, won.Head().ID, charter)
			if err != nil || got.Version != version(won, did.Held) || !got.Advanced {
				t.Fatalf("got %+v, %v", got, err)
			}
			for _, r := range []home{r, r.restart(t)} {
				settled(t, r, won, lost, c.right, c.wrong)
			}
			next := rotated(t, won, u3, 5, 0)
			if got, err := r.Offer(ctx, d, next.Log(), nil); err != nil || got.Version != version(next, did.Held) {
				t.Errorf("the branch goes on: %+v, %v", got, err)
			}
			settled(t, r.restart(t), next, lost, c.right, c.wrong)
		})
	}
}

// settled: won is held, nothing of lost counts, and lost is still there as evidence.
func settled(t *testing.T, r home, won, lost didwebvh.History, right, wrong seed) {
	t.Helper()
	ctx, d := t.Context(), won.DID()
	if head, err := r.Head(ctx, d); err != nil || head != version(won, did.Held) {
		t.Errorf("head %+v, %v", head, err)
	}
	if _, value, _ := r.pins.Highest(pins.KindDID, d.String()); value != won.Head().ID {
		t.Errorf("pinned %s", value)
	}
	if k, err := r.HeadSource().Key(ctx, d, right.kid()); err != nil || k.Version != won.Head().ID {
		t.Errorf("the key decided for: %v, %v", k, err)
	}
	if _, err := r.HeadSource().Key(ctx, d, wrong.kid()); !errors.Is(err, envelope.ErrUnknownKey) {
		t.Errorf("the key decided against: %v", err)
	}
	if _, err := r.AtSource(lost.Head().ID).Key(ctx, d, wrong.kid()); !errors.Is(err, keyring.ErrUnknownVersion) {
		t.Errorf("the version decided against: %v", err)
	}
	for _, log := range []didwebvh.History{lost, rotated(t, lost, u3, 7, 0)} {
		var f *keyring.Fork
		_, err := r.Offer(ctx, d, log.Log(), nil)
		if !errors.As(err, &f) || f.Decided != charter || errors.Is(err, keyring.ErrFrozen) {
			t.Errorf("the lost branch again: %v", err)
		}
	}
	f, err := r.Forked(ctx, d)
	first, _ := lost.At(2)
	if err != nil || f == nil || f.Decided != charter || f.Offered != first.ID || !bytes.Equal(f.OfferedLine, first.Line) || f.Number != 2 {
		t.Errorf("evidence %+v, %v", f, err)
	}
}

func TestAcceptHeadRefused(t *testing.T) {
	r, one, a, _ := forked(t)
	d := one.DID()
	for _, c := range []struct {
		name, version, by string
		d                 did.DID
		want              error
	}{
		{"a version that no branch has", "2-" + one.SCID(), charter, d, keyring.ErrUnknownVersion},
		{"no version", "", charter, d, keyring.ErrUnknownVersion},
		{"nobody decided", a.Head().ID, "", d, keyring.ErrUnapproved},
		{"a version from before the fork settles nothing", one.Head().ID, charter, d, keyring.ErrFrozen},
		{"a DID that is not held", a.Head().ID, charter, did.MustParse("did:webvh:" + one.SCID() + ":x.example"), keyring.ErrAbsent},
		{"a did:key", did.StaticVersion, charter, ag.did(), keyring.ErrMethod},
	} {
		got, err := r.AcceptHead(t.Context(), c.d, c.version, c.by)
		if !errors.Is(err, c.want) || !reflect.DeepEqual(got, keyring.Result{}) {
			t.Errorf("%s: got %+v, %v, want %v", c.name, got, err, c.want)
		}
		checkFrozen(t, r.Ring, one, a)
	}
}

func TestAcceptHeadWithoutAForkChangesNothing(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	r := fresh(t)
	r.hold(t, two)
	for _, v := range []string{one.Head().ID, two.Head().ID} {
		got, err := r.AcceptHead(t.Context(), one.DID(), v, charter)
		if err != nil || got.Advanced || got.Version != version(two, did.Held) {
			t.Errorf("%s: %+v, %v", v, got, err)
		}
	}
}

// TestShorterBranchIsDecidedFor: the thief was faster than the organization. The number of the pin does not fall, and
// the branch grows past it.
func TestShorterBranchIsDecidedFor(t *testing.T) {
	one, b, thief := fork(t)
	thief = rotated(t, rotated(t, thief, u3, 5, 0), 5, 6, 0)
	ctx, d := t.Context(), one.DID()
	r := fresh(t)
	r.hold(t, thief)
	_, _ = r.Offer(ctx, d, b.Log(), nil)
	if _, err := r.AcceptHead(ctx, d, b.Head().ID, charter); err != nil {
		t.Fatal(err)
	}
	update := u3
	for n := 2; n < 7; n++ {
		slot, value, _ := r.pins.Highest(pins.KindDID, d.String())
		if want := uint64(max(4, n)); slot.N != want || value != b.Head().ID {
			t.Errorf("at %d: pinned %d %s, want %d", n, slot.N, value, want)
		}
		r = r.restart(t)
		if head, err := r.Head(ctx, d); err != nil || head != version(b, did.Held) {
			t.Errorf("at %d: head %+v, %v", n, head, err)
		}
		if _, err := r.Offer(ctx, d, thief.Log(), nil); err == nil {
			t.Errorf("at %d: the thief's branch was taken", n)
		}
		next := seed(100 + n)
		b = rotated(t, b, update, next, 0)
		update = next
		if _, err := r.Offer(ctx, d, b.Log(), nil); err != nil {
			t.Fatalf("at %d: %v", n, err)
		}
	}
	var below *keyring.Below
	lost := newHome(t, keyring.Memory(), r.pins)
	if _, err := lost.Head(ctx, d); !errors.As(err, &below) {
		t.Errorf("a lost state: %v", err)
	}
	if _, err := lost.Offer(ctx, d, thief.Log(), nil); err == nil {
		t.Error("a lost state takes the thief's branch")
	}
}

func TestThirdBranchFreezesAgain(t *testing.T) {
	r, one, a, b := forked(t)
	ctx, d := t.Context(), one.DID()
	if _, err := r.AcceptHead(ctx, d, b.Head().ID, charter); err != nil {
		t.Fatal(err)
	}
	third := rotated(t, one, u2, u3, ag)
	for name, c := range map[string]struct {
		log    didwebvh.History
		number int
	}{
		"beside both":               {third, 2},
		"beside the one that holds": {rotated(t, b, u3, 5, 0), 3},
	} {
		r := copyOf(t, r)
		if c.number == 3 {
			r.hold(t, rotated(t, b, u3, 6, 0))
		}
		var f *keyring.Fork
		if _, err := r.Offer(ctx, d, c.log.Log(), nil); !errors.As(err, &f) || !errors.Is(err, keyring.ErrFrozen) || f.Number != c.number {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.HeadSource().Key(ctx, d, i3.kid()); !errors.Is(err, keyring.ErrFrozen) {
			t.Errorf("%s: a key at the head: %v", name, err)
		}
		if _, err := r.AcceptHead(ctx, d, c.log.Head().ID, charter); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		kept, err := r.restart(t).Branches(ctx, d)
		if err != nil || len(kept) != 2 || kept[0].Decided != charter || kept[1].Decided != charter {
			t.Errorf("%s: kept %+v, %v", name, kept, err)
		}
		if _, err := r.Offer(ctx, d, a.Log(), nil); errors.Is(err, keyring.ErrFrozen) || err == nil {
			t.Errorf("%s: the first lost branch: %v", name, err)
		}
	}
}

// copyOf is a ring over a copy of what r wrote.
func copyOf(t *testing.T, r home) home {
	t.Helper()
	store, p := copyOfStore(t, r.store), pins.Memory()
	all, err := store.List(t.Context(), did.DID{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range all {
		slot, value, _ := r.pins.Highest(pins.KindDID, rec.Version.DID.String())
		if err := p.Put(t.Context(), slot, value); err != nil {
			t.Fatal(err)
		}
	}
	return home{r.Ring, store, p}.restart(t)
}

func copyOfStore(t *testing.T, from keyring.Store) keyring.Store {
	t.Helper()
	store := keyring.Memory()
	all, err := from.List(t.Context(), did.DID{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range all {
		if err := store.Advance(t.Context(), keyring.Version{}, rec); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// TestWhatGoesOnWhileFrozenIsKept: a charter names a version that came after the fork, of either branch.
func TestWhatGoesOnWhileFrozenIsKept(t *testing.T) {
	for _, held := range []bool{true, false} {
		r, one, a, b := forked(t)
		if !held {
			a = b
		}
		ctx, d := t.Context(), one.DID()
		longer := rotated(t, rotated(t, a, u3, 5, 0), 5, 6, 0)
		if _, err := r.Offer(ctx, d, longer.Prefix(3).Log(), nil); !errors.Is(err, keyring.ErrFrozen) {
			t.Errorf("entry 3: %v", err)
		}
		if _, err := r.Offer(ctx, d, longer.Log(), nil); !errors.Is(err, keyring.ErrFrozen) {
			t.Errorf("entry 4: %v", err)
		}
		third, _ := longer.At(3)
		got, err := r.restart(t).AcceptHead(ctx, d, third.ID, charter)
		if err != nil || got.Version != version(longer, did.Held) {
			t.Errorf("held %v: got %+v, %v", held, got, err)
		}
	}
}

func TestLaterDecisionReplacesAnEarlierOne(t *testing.T) {
	r, one, a, b := forked(t)
	ctx, d := t.Context(), one.DID()
	if _, err := r.AcceptHead(ctx, d, b.Head().ID, "an operator"); err != nil {
		t.Fatal(err)
	}
	if got, err := r.AcceptHead(ctx, d, a.Head().ID, charter); err != nil || got.Version != version(a, did.Held) {
		t.Fatalf("%+v, %v", got, err)
	}
	settled(t, r.restart(t), a, b, i2, i3)
}

// crash fails at the step that counts down to zero, before or after the step has taken effect.
type crash struct {
	left  int
	after bool
}

var errCrash = errors.New("crash")

func (c *crash) step(do func() error) error {
	c.left--
	if c.left == 0 && !c.after || c.left < 0 {
		return errCrash
	}
	if err := do(); err != nil {
		return err
	}
	if c.left == 0 {
		return errCrash
	}
	return nil
}

type crashStore struct {
	keyring.Store
	*crash
}

func (s crashStore) Advance(ctx context.Context, from keyring.Version, next keyring.Record) error {
	return s.step(func() error { return s.Store.Advance(ctx, from, next) })
}

type crashPins struct {
	pins.Pins
	*crash
}

func (p crashPins) Put(ctx context.Context, s pins.Slot, v string) error {
	return p.step(func() error { return p.Pins.Put(ctx, s, v) })
}

func (p crashPins) Move(ctx context.Context, s pins.Slot, v, by string) error {
	return p.step(func() error { return p.Pins.Move(ctx, s, v, by) })
}

// TestDecisionSurvivesACrashAtEachStep: before the pin moved nothing happened; once it moved, Load carries the decision out.
func TestDecisionSurvivesACrashAtEachStep(t *testing.T) {
	for left := 1; left <= 2; left++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("step %d, after it %v", left, after), func(t *testing.T) {
				r, one, a, b := forked(t)
				ctx, d := t.Context(), one.DID()
				c := &crash{left: left, after: after}
				cut := newHome(t, crashStore{r.store, c}, crashPins{r.pins, c})
				if err := cut.Load(ctx); err != nil {
					t.Fatal(err)
				}
				if _, err := cut.AcceptHead(ctx, d, b.Head().ID, charter); !errors.Is(err, errCrash) {
					t.Fatalf("got %v", err)
				}
				again := newHome(t, r.store, r.pins)
				if err := again.Load(ctx); err != nil {
					t.Fatal(err)
				}
				if left == 1 && !after {
					checkFrozen(t, again.Ring, one, a)
				} else if head, err := again.Head(ctx, d); err != nil || head != version(b, did.Held) {
					t.Errorf("head %+v, %v", head, err)
				}
				if _, err := again.AcceptHead(ctx, d, b.Head().ID, charter); err != nil {
					t.Errorf("the same decision again: %v", err)
				}
				f, err := again.restart(t).Forked(ctx, d)
				if err != nil || f == nil || f.Decided == "" || f.Offered != a.Head().ID {
					t.Errorf("evidence %+v, %v", f, err)
				}
			})
		}
	}
}

// TestFailedStoreLeavesNoKey: in the process that could not store a decision, nothing is answered until it is carried out.
// It is identity I-3.
func TestFailedStoreLeavesNoKey(t *testing.T) {
	r, one, _, b := forked(t)
	ctx, d := t.Context(), one.DID()
	c := &crash{left: 2}
	cut := newHome(t, crashStore{r.store, c}, crashPins{r.pins, c})
	if err := cut.Load(ctx); err != nil {
		t.Fatal(err)
	}
	_, _ = cut.AcceptHead(ctx, d, b.Head().ID, charter)
	var below *keyring.Below
	if _, err := cut.AtSource(one.Head().ID).Key(ctx, d, i1.kid()); !errors.As(err, &below) {
		t.Errorf("a key: %v", err)
	}
	c.left = 100
	got, err := cut.AcceptHead(ctx, d, b.Head().ID, charter)
	if err != nil || got.Version != version(b, did.Held) || !got.Advanced {
		t.Errorf("again: %+v, %v", got, err)
	}
}

// TestForkSeenBehindThePins: a restored node sees the other branch first. It ends where a node ends that was never restored.
func TestForkSeenBehindThePins(t *testing.T) {
	one, a, b := fork(t)
	ctx, d := t.Context(), one.DID()
	for _, had := range []bool{true, false} {
		old := fresh(t)
		if had {
			old.hold(t, one)
		}
		p := pins.Memory()
		if err := p.Put(ctx, pins.Slot{Kind: pins.KindDID, Key: d.String(), N: 2}, a.Head().ID); err != nil {
			t.Fatal(err)
		}
		r := newHome(t, old.store, p).restart(t)
		var f *keyring.Fork
		_, err := r.Offer(ctx, d, b.Log(), nil)
		if !errors.As(err, &f) || f.Held != a.Head().ID || f.Offered != b.Head().ID || f.Number != 2 || f.HeldLine != nil {
			t.Errorf("had %v: the other branch: %+v, %v", had, f, err)
		}
		r = r.restart(t)
		shown, err := r.Forked(ctx, d)
		if err != nil || shown == nil || shown.Held != f.Held || shown.Offered != f.Offered || shown.Number != 2 || !bytes.Equal(shown.OfferedLine, f.OfferedLine) {
			t.Errorf("had %v: shown %+v, %v", had, shown, err)
		}
		if _, err := r.HeadSource().Key(ctx, d, i3.kid()); !errors.Is(err, envelope.ErrPending) {
			t.Errorf("had %v: a key of the other branch: %v", had, err)
		}
		if had {
			var below *keyring.Below
			if _, err := r.AcceptHead(ctx, d, one.Head().ID, charter); !errors.As(err, &below) {
				t.Errorf("a decision for what came before the pin: %v", err)
			}
		}
		decided := copyOf(t, r)
		if got, err := decided.AcceptHead(ctx, d, b.Head().ID, charter); err != nil || got.Version != version(b, did.Held) {
			t.Errorf("had %v: decided against the pin: %+v, %v", had, got, err)
		}
		if got, err := r.Offer(ctx, d, a.Log(), nil); err != nil || got.Version != version(a, did.Frozen) {
			t.Errorf("had %v: the pinned branch: %+v, %v", had, got, err)
		}
		checkFrozen(t, r.restart(t).Ring, one, a)
	}
}

// TestTheHeldBranchComesAgainBehindThePins: the state holds one branch, a decision pinned the other
// and was not stored. The held one, offered again whole or in part, adds nothing and is refused.
func TestTheHeldBranchComesAgainBehindThePins(t *testing.T) {
	one, a, b := fork(t)
	ctx, d := t.Context(), one.DID()
	old := fresh(t)
	old.hold(t, b)
	p := pins.Memory()
	if err := p.Put(ctx, pins.Slot{Kind: pins.KindDID, Key: d.String(), N: 2}, a.Head().ID); err != nil {
		t.Fatal(err)
	}
	r := newHome(t, old.store, p).restart(t)
	for _, log := range [][]byte{b.Log(), one.Log(), b.After(1)} {
		if got, err := r.Offer(ctx, d, log, nil); err == nil || got.Advanced {
			t.Errorf("%d bytes of it: %+v, %v", len(log), got, err)
		}
		var below *keyring.Below
		if _, err := r.Head(ctx, d); !errors.As(err, &below) {
			t.Errorf("head: %v", err)
		}
	}
	if got, err := r.Offer(ctx, d, a.Log(), nil); err != nil || got.Version.ID != a.Head().ID {
		t.Errorf("the pinned branch: %+v, %v", got, err)
	}
}

// TestManyBranches: whoever holds the keys makes branches without end. The earliest one is among those that are kept.
func TestManyBranches(t *testing.T) {
	one := acme(t)
	two := rotated(t, one, u2, u3, i2)
	three := rotated(t, two, u3, 5, 0)
	ctx, d := t.Context(), one.DID()
	r := fresh(t)
	r.hold(t, three)
	for n := range 12 {
		_, _ = r.Offer(ctx, d, rotated(t, two, u3, seed(0x60+n), 0).Log(), nil)
	}
	if f, err := r.Forked(ctx, d); err != nil || f.Number != 3 {
		t.Fatalf("%+v, %v", f, err)
	}
	early := rotated(t, one, u2, u3, i3)
	if _, err := r.Offer(ctx, d, early.Log(), nil); !errors.Is(err, keyring.ErrFrozen) {
		t.Fatal(err)
	}
	if _, err := r.AtSource(two.Head().ID).Key(ctx, d, i2.kid()); !errors.Is(err, keyring.ErrFrozen) {
		t.Errorf("a version that is contested: %v", err)
	}
	kept, _ := r.Branches(ctx, d)
	if len(kept) != 8 || !slices.ContainsFunc(kept, func(b keyring.Branch) bool { return b.Parent == 1 }) {
		t.Errorf("%d kept", len(kept))
	}
	if _, err := r.AcceptHead(ctx, d, early.Head().ID, charter); err != nil {
		t.Errorf("the earliest is decided for: %v", err)
	}
}

// TestBackupFromBeforeADecision: the state holds the branch that was decided against, the pin the other one. That is a
// decision, though nobody here remembers whose.
func TestBackupFromBeforeADecision(t *testing.T) {
	one, a, b := fork(t)
	ctx, d := t.Context(), one.DID()
	old := fresh(t)
	old.hold(t, a)
	p := pins.Memory()
	if err := p.Put(ctx, pins.Slot{Kind: pins.KindDID, Key: d.String(), N: 2}, b.Head().ID); err != nil {
		t.Fatal(err)
	}
	r := newHome(t, old.store, p).restart(t)
	if got, err := r.Offer(ctx, d, b.Log(), nil); err != nil || got.Version != version(b, did.Held) {
		t.Errorf("the pinned branch: %+v, %v", got, err)
	}
	f, err := r.restart(t).Forked(ctx, d)
	if err != nil || f == nil || f.Decided != "pin" || f.Offered != a.Head().ID {
		t.Errorf("evidence %+v, %v", f, err)
	}
}
