package charter

import (
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// admit turns a child of the trio into one that adds dora: a fourth voter needs threshold 3.
func admit(b *Body) {
	b.Add(dora.member(b.Seq))
	b.Governance.Threshold = 3
}

func TestRulesOfTheNextCharter(t *testing.T) {
	for _, c := range []struct {
		name   string
		want   string
		change func(b *Body)
		by     []envelope.Signer
		world  func(k *keys)
		at     time.Time
	}{
		{name: "a renewal by two of three", want: "accepted", by: []envelope.Signer{acme, arbiter}},
		{name: "a renewal by all", want: "accepted", by: everybody},
		{name: "an expired parent can be followed", want: "accepted", by: everybody, at: t0.AddDate(3, 0, 0)},
		{name: "parked until it takes effect", want: "parked", by: everybody, at: t0, change: func(b *Body) { b.IssuedAt = envelope.TimeOf(t0) }},

		{name: "A1 of another federation", want: "A1", by: everybody, change: func(b *Body) { b.Federation = envelope.IDOf(nil) }},
		{name: "A1 a nonce", want: "A1", by: everybody, change: func(b *Body) { b.Nonce = "AAECAwQFBgcICQoLDA0ODw" }},
		{name: "A1 another genesis", want: "A1", by: everybody, change: func(b *Body) {
			b.Seq, b.Prev, b.Federation, b.Nonce = 0, envelope.ID{}, envelope.ID{}, "AAECAwQFBgcICQoLDA0OEA"
		}},
		{name: "A1 round 8", want: "A1", by: everybody, change: func(b *Body) { b.Round, b.Released = 8, []envelope.ID{envelope.IDOf(nil)} }},
		{name: "A2 a jump", want: "A2", by: everybody, change: func(b *Body) { b.Seq = 2 }},
		{name: "pending on its parent", want: "pending", by: everybody, change: func(b *Body) { b.Prev = envelope.IDOf([]byte("unheard of")) }},
		{name: "pending on an abandon", want: "pending", by: everybody, change: func(b *Body) { b.Round, b.Released = 1, []envelope.ID{envelope.IDOf(nil)} }},
		{name: "authority recovery is refused", want: "unsupported", by: everybody, change: func(b *Body) { b.Authority = AuthorityRecovery }},
		{name: "authority resolution is refused", want: "unsupported", by: everybody, change: func(b *Body) {
			b.Authority, b.Resolves = AuthorityResolution, envelope.IDOf(nil)
		}},

		{name: "A4 one of three", want: "A4", by: []envelope.Signer{acme}},
		{name: "A4 one and a stranger", want: "A4", by: []envelope.Signer{acme, eve}},
		{name: "A4 nobody", want: "A4"},
		{name: "A4 the newcomer does not count for the parent", want: "A4", by: []envelope.Signer{acme, dora}, change: admit},
		{name: "A5 its own threshold is higher", want: "A5", by: []envelope.Signer{acme, dora, vendor}, change: func(b *Body) {
			b.Add(dora.member(1))
			b.Add(eve.member(1))
			member(t, b, eve).Votes = true
			b.Governance.Threshold = 4
		}},
		{name: "A6 the newcomer did not sign", want: "A6", by: everybody, change: admit},
		{name: "a newcomer and all others", want: "accepted", by: []envelope.Signer{acme, vendor, dora}, change: admit},
		{name: "a newcomer without a vote", want: "accepted", by: []envelope.Signer{acme, vendor, dora}, change: func(b *Body) {
			b.Add(dora.member(1))
			member(t, b, dora).Votes = false
		}},
		{name: "A6 a newcomer without a vote signs too", want: "A6", by: everybody, change: func(b *Body) {
			b.Add(dora.member(1))
			member(t, b, dora).Votes = false
		}},

		{name: "A7 the name of the federation", want: "A7", by: everybody, change: func(b *Body) { b.Name = "other" }},
		{name: "A7 a record lost", want: "A7", by: everybody, change: func(b *Body) {
			b.Members = slices.DeleteFunc(b.Members, func(m Member) bool { return m.DID == vendor.did })
			b.Recovery.Keys, b.Recovery.Threshold, b.Policy.FreshQuorum = []Key{{"r", spare.Public()}}, 1, 1
			b.Mediation.Ladder, b.Mediation.Neutral, b.Mediation.Contract = []string{"contract"}, nil, court()
		}},
		{name: "A7 since_seq of a member", want: "A7", by: everybody, change: func(b *Body) { b.Members[0].SinceSeq = 1 }},
		{name: "A7 since_seq of a newcomer", want: "A7", by: everybody, change: func(b *Body) { admit(b); member(t, b, dora).SinceSeq = 0 }},
		{name: "A7 gaps of a newcomer", want: "A7", by: everybody, change: func(b *Body) { admit(b); member(t, b, dora).Gaps = []Gap{{1, 2}} }},
		{name: "A7 a gap out of nothing", want: "A7", by: everybody, change: func(b *Body) { b.Members[0].Gaps = []Gap{{1, 2}} }},
		{name: "A7 a generation out of nothing", want: "A7", by: everybody, change: func(b *Body) { b.Members[0].Generation = 2 }},
		{name: "expulsion is refused", want: "unsupported", by: everybody, change: func(b *Body) { gone(t, b, vendor, StatusExpelled) }},
		{name: "suspension is refused", want: "unsupported", by: everybody, change: func(b *Body) { gone(t, b, vendor, StatusSuspended) }},
		{name: "leaving is refused", want: "unsupported", by: everybody, change: func(b *Body) { gone(t, b, vendor, StatusLeft) }},
		{name: "rekey is refused", want: "unsupported", by: append(slices.Clone(everybody), dora), change: func(b *Body) {
			gone(t, b, vendor, StatusReplaced)
			member(t, b, vendor).ReplacedBy = dora.did
			b.Add(dora.member(1))
			member(t, b, dora).Generation = 2
		}},

		{name: "A8 a fourth voter and threshold 2", want: "A8", by: everybody, change: func(b *Body) { b.Add(dora.member(1)) }},
		{name: "A8 a newcomer with a member's key", want: "A8", by: everybody, change: func(b *Body) { admit(b); member(t, b, dora).Key = acme.keyRecord() }},
		{name: "A8 the vote of one taken", want: "A8", by: everybody, change: func(b *Body) { member(t, b, vendor).Votes = false }},
		{name: "A8 no mediator any more", want: "A8", by: everybody, change: func(b *Body) { b.Mediation.Rotating.Ties = []Tie{{vendor.did, acme.did}} }},

		{name: "A9 issued past the parent's skew", want: "A9", by: everybody, change: func(b *Body) {
			b.IssuedAt, b.Policy.ClockSkewS = b.IssuedAt.Add(121*time.Second), 600
		}},
		{name: "issued at the parent's skew", want: "accepted", by: everybody, change: func(b *Body) {
			b.IssuedAt, b.Policy.ClockSkewS = b.IssuedAt.Add(120*time.Second), 5
		}},

		{name: "an edit of a name and a contact", want: "accepted", by: []envelope.Signer{acme, vendor}, change: func(b *Body) {
			member(t, b, arbiter).Name, member(t, b, arbiter).Contact = "Arbiter Ltd", "tel:1"
		}},
		{name: "a policy that is set", want: "accepted", by: []envelope.Signer{acme, vendor}, change: func(b *Body) { b.Policy.MaxLoanTTLS = 60 }},
		{name: "a head that moves along its log", want: "accepted", by: []envelope.Signer{acme, vendor},
			world: func(k *keys) { k.lists(arbiter, 2, seed(31)) }, change: func(b *Body) { moved(t, b, arbiter, 2, seed(31)) }},
		{name: "a head that moves counts under its new key", want: "accepted", by: []envelope.Signer{acme, seed(31)},
			world: func(k *keys) { k.lists(arbiter, 2, seed(31)) }, change: func(b *Body) { moved(t, b, arbiter, 2, seed(31)) }},
		{name: "A4 the key the charter replaces does not count", want: "A4", by: []envelope.Signer{acme, arbiter},
			world: func(k *keys) { k.lists(arbiter, 2, seed(31)) }, change: func(b *Body) { moved(t, b, arbiter, 2, seed(31)) }},
		{name: "A10 a head that goes back", want: "A10", by: everybody,
			world: func(k *keys) {
				k.versions[arbiter.did] = []string{arbiter.version(2), arbiter.version(1)}
				k.at[arbiter.did.String()+arbiter.version(2)] = []did.PublicKey{seed(31).Public()}
			}, change: func(b *Body) { moved(t, b, arbiter, 2, seed(31)) }},
		{name: "A10 a key the new head does not list", want: "A10", by: everybody,
			world: func(k *keys) { k.lists(arbiter, 2, seed(31)) }, change: func(b *Body) { moved(t, b, arbiter, 2, seed(32)) }},
		{name: "A10 a key that changes at one head", want: "A10", by: everybody, change: func(b *Body) { member(t, b, arbiter).Key.Pub = seed(31).Public() }},
		{name: "pending on a head", want: "pending", by: everybody, change: func(b *Body) { moved(t, b, arbiter, 2, seed(31)) }},
		{name: "pending on the log of a newcomer", want: "pending", by: append(slices.Clone(everybody), dora), change: admit,
			world: func(k *keys) { delete(k.at, dora.did.String()+dora.version(1)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := world(acme, vendor, arbiter, dora, eve)
			chain := begun(t, k)
			if c.world != nil {
				c.world(k)
			}
			b := child(t, chain)
			if c.change != nil {
				c.change(&b)
			}
			at := c.at
			if at.IsZero() {
				at = t0.Add(time.Hour)
			}
			next, _, err := chain.Next(seal(t, b, c.by...), nil, k, at)
			if got := outcome(err); got != c.want {
				t.Fatalf("got %s (%v), want %s", got, err, c.want)
			}
			if err != nil {
				if !next.IsZero() {
					t.Error("a chain beside an error")
				}
				return
			}
			if got, want := next.Head().Body.Seq, uint64(1); got != want || chain.Head().Seq != 0 {
				t.Errorf("head %d, before %d", got, chain.Head().Seq)
			}
		})
	}
}

func gone(t testing.TB, b *Body, a actor, status string) {
	m := member(t, b, a)
	m.Status, m.Cutoff = status, cutoff()
	b.Recovery.Keys, b.Recovery.Threshold, b.Policy.FreshQuorum = []Key{{"r", spare.Public()}}, 1, 1
	b.Mediation.Ladder, b.Mediation.Neutral, b.Mediation.Contract = []string{"contract"}, nil, court()
}

func moved(t testing.TB, b *Body, a actor, n int, s signer) {
	m := member(t, b, a)
	m.DIDHead, m.Key = a.version(n), Key{Kid: s.Public().Multikey(), Pub: s.Public()}
}

func TestHeldAndSibling(t *testing.T) {
	k := world(acme, vendor, arbiter)
	zero := begun(t, k)
	at := t0.Add(time.Hour)
	first := seal(t, child(t, zero), everybody...)
	one, _, err := zero.Next(first, nil, k, at)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := one.Next(first, nil, k, at); !errors.Is(err, ErrHeld) {
		t.Errorf("again: %v", err)
	}
	b := child(t, zero)
	b.Policy.MaxLoanTTLS = 60
	other := seal(t, b, everybody...)
	var fork *Sibling
	if _, _, err := one.Next(other, nil, k, at); !errors.As(err, &fork) || *fork != (Sibling{1, first.ID(), other.ID()}) {
		t.Errorf("sibling: %v", err)
	}
	if _, _, err := one.Next(seal(t, b, acme), nil, k, at); outcome(err) != "A4" {
		t.Errorf("a sibling without signatures is no fork: %v", err)
	}
}

func TestChainAnswersByPlaceAndID(t *testing.T) {
	k := world(acme, vendor, arbiter)
	c := begun(t, k)
	genesis := c.Head()
	for range 3 {
		var err error
		if c, _, err = c.Next(seal(t, child(t, c), everybody...), nil, k, t0.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := c.At(0); !ok || got.ID != genesis.ID || c.Federation() != genesis.ID {
		t.Errorf("genesis %v, %v", got.ID, ok)
	}
	if got, ok := c.Find(c.Head().ID); !ok || got.Seq != 3 {
		t.Errorf("head found as %d, %v", got.Seq, ok)
	}
	if _, ok := c.At(4); ok {
		t.Error("charter 4 of 0..3")
	}
	if _, ok := c.Find(envelope.IDOf(nil)); ok {
		t.Error("found what is not there")
	}
	var none Chain
	if !none.IsZero() || !none.Federation().IsZero() || !none.Head().ID.IsZero() {
		t.Error("the zero chain holds something")
	}
}

// TestLateSignatures: a key that was retired counts only for what its owner's log,
// or an anchor, shows to be older.
func TestLateSignatures(t *testing.T) {
	for _, c := range []struct {
		name  string
		want  string
		world func(k *keys, slot string, id envelope.ID)
	}{
		{"nothing known of it", "A6", func(*keys, string, envelope.ID) {}},
		{"signed below the rotation", "accepted", func(k *keys, slot string, _ envelope.ID) { k.signed[slot] = 39 }},
		{"signed at the rotation", "A6", func(k *keys, slot string, _ envelope.ID) { k.signed[slot] = 40 }},
		{"anchored", "accepted", func(k *keys, _ string, id envelope.ID) { k.anchored[id] = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := world(acme, vendor, arbiter)
			b := trio(t)
			e := seal(t, b, everybody...)
			k.ended[vendor.Public()] = 40
			c.world(k, fmt.Sprint(vendor.did, SlotOf(b, e.ID()), e.ID()), e.ID())
			_, tally, err := Genesis(e, k, t0)
			if got := outcome(err); got != c.want {
				t.Fatalf("got %s (%v), want %s", got, err, c.want)
			}
			if late := len(tally.Ignored) == 1 && tally.Ignored[0].Org == vendor.did; late != (err != nil) {
				t.Errorf("ignored %v", tally.Ignored)
			}
		})
	}
}

// TestRoundsOpenByCount: a round opens where, for every body, t voters froze it
// without naming that body; that all of them froze it is not enough.
func TestRoundsOpenByCount(t *testing.T) {
	x, y := envelope.IDOf([]byte("x")), envelope.IDOf([]byte("y"))
	type froze struct {
		who   actor
		named envelope.ID
		round uint64
		seq   uint64
	}
	for _, c := range []struct {
		name string
		want string
		list []froze
	}{
		{"two froze it without a commit", "accepted", []froze{{acme, envelope.ID{}, 0, 1}, {vendor, envelope.ID{}, 0, 1}}},
		{"three froze it, one committed", "accepted", []froze{{acme, x, 0, 1}, {vendor, envelope.ID{}, 0, 1}, {arbiter, envelope.ID{}, 0, 1}}},
		{"three froze it, committed to two bodies", "accepted", []froze{{acme, x, 0, 1}, {vendor, y, 0, 1}, {arbiter, envelope.ID{}, 0, 1}}},
		{"all froze it, two committed to one body", "A3", []froze{{acme, x, 0, 1}, {vendor, x, 0, 1}, {arbiter, envelope.ID{}, 0, 1}}},
		{"one froze it", "A3", []froze{{acme, envelope.ID{}, 0, 1}}},
		{"one froze it twice", "A3", []froze{{acme, envelope.ID{}, 0, 1}, {acme, x, 0, 1}}},
		{"a stranger froze it too", "A3", []froze{{acme, envelope.ID{}, 0, 1}, {eve, envelope.ID{}, 0, 1}}},
		{"another round was frozen", "A3", []froze{{acme, envelope.ID{}, 1, 1}, {vendor, envelope.ID{}, 1, 1}}},
		{"another seq was frozen", "A3", []froze{{acme, envelope.ID{}, 0, 2}, {vendor, envelope.ID{}, 0, 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := world(acme, vendor, arbiter, eve)
			chain := begun(t, k)
			b := child(t, chain)
			b.Round = 1
			var given []envelope.Verified[Abandon]
			for _, f := range c.list {
				v := abandoned(t, f.who, Abandon{At: envelope.TimeOf(t0), Committed: f.named, DIDVersion: f.who.version(1), Federation: b.Federation,
					Kid: "sign-1", Org: f.who.did, Prev: b.Prev, Round: f.round, Seq: f.seq})
				given = append(given, v)
				b.Released = append(b.Released, v.ID())
			}
			slices.SortFunc(b.Released, func(p, q envelope.ID) int { return cmpID(p, q) })
			_, _, err := chain.Next(seal(t, b, everybody...), given, k, t0.Add(time.Hour))
			if got := outcome(err); got != c.want {
				t.Errorf("got %s (%v), want %s", got, err, c.want)
			}
		})
	}
}

func cmpID(p, q envelope.ID) int {
	if p.String() < q.String() {
		return -1
	}
	return 1
}

func abandoned(t testing.TB, a actor, body Abandon) envelope.Verified[Abandon] {
	t.Helper()
	e, err := envelope.Seal(t.Context(), body, a)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := envelope.OpenSet[Abandon](e, []did.PublicKey{a.Public()}, func([]did.PublicKey) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSignaturesInAnyOrderGiveOneChain: order, repetition and strangers among the
// signatures change neither id nor decision.
func TestSignaturesInAnyOrderGiveOneChain(t *testing.T) {
	k := world(acme, vendor, arbiter)
	want := begun(t, k)
	for i := range 50 {
		by := []envelope.Signer{acme, vendor, arbiter, eve, acme, seed(byte(100 + i))}
		rand.New(rand.NewSource(int64(i))).Shuffle(len(by), func(i, j int) { by[i], by[j] = by[j], by[i] })
		got, _, err := Genesis(seal(t, trio(t), by...), k, t0)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("order %d: %v", i, err)
		}
	}
}

// TestAcceptedMeansCounted holds every accepted child against a count of its own.
func TestAcceptedMeansCounted(t *testing.T) {
	k := world(acme, vendor, arbiter, dora)
	chain := begun(t, k)
	b := child(t, chain)
	admit(&b)
	all := []actor{acme, vendor, arbiter, dora}
	for set := range 16 {
		var by []envelope.Signer
		old, own := 0, 0
		for i, a := range all {
			if set&(1<<i) == 0 {
				continue
			}
			by = append(by, a)
			own++
			if a.did != dora.did {
				old++
			}
		}
		_, _, err := chain.Next(seal(t, b, by...), nil, k, t0.Add(time.Hour))
		if got, want := err == nil, old >= 2 && own >= 3 && set&8 != 0; got != want {
			t.Errorf("signers %04b: %v", set, err)
		}
	}
}
