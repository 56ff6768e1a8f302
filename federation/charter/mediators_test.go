package charter

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"

	"trustnode/did"
)

func TestWhoCouldMediate(t *testing.T) {
	// in the order of their DIDs, as a draw lists them
	all := sortedOnce([]did.DID{acme.did, vendor.did, arbiter.did, dora.did, eve.did})
	rest := func(without ...did.DID) []did.DID {
		var list []did.DID
		for _, d := range all {
			free := true
			for _, w := range without {
				free = free && d != w
			}
			if free {
				list = append(list, d)
			}
		}
		return list
	}
	five := func() Body {
		b := trio(t)
		b.Add(dora.member(0))
		b.Add(eve.member(0))
		return b
	}
	for _, c := range []struct {
		name   string
		body   func() Body
		x, y   did.DID
		change func(b *Body)
		want   []Rung
	}{
		{"the neutral, then the third member", func() Body { return trio(t) }, acme.did, vendor.did, nil,
			[]Rung{{Name: "neutral", Candidates: []did.DID{arbiter.did}}, {Name: "rotating", Candidates: []did.DID{arbiter.did}}}},
		{"a party is not its own mediator", func() Body { return trio(t) }, acme.did, arbiter.did, nil,
			[]Rung{{Name: "neutral"}, {Name: "rotating", Candidates: []did.DID{vendor.did}}}},
		{"alternates follow in their order", five, acme.did, vendor.did, func(b *Body) { b.Mediation.Neutral.Alternates = []did.DID{vendor.did, eve.did, dora.did} },
			[]Rung{{Name: "neutral", Candidates: []did.DID{arbiter.did, eve.did, dora.did}}, {Name: "rotating", Candidates: rest(acme.did, vendor.did)}}},
		{"affiliates of affiliates are left out", five, acme.did, vendor.did, func(b *Body) {
			b.Mediation.Rotating.Ties = []Tie{{dora.did, acme.did}, {eve.did, dora.did}}
		}, []Rung{{Name: "neutral", Candidates: []did.DID{arbiter.did}}, {Name: "rotating", Candidates: []did.DID{arbiter.did}}}},
		{"the inactive are left out", five, acme.did, vendor.did, func(b *Body) { member(t, b, arbiter).Status = StatusSuspended },
			[]Rung{{Name: "neutral"}, {Name: "rotating", Candidates: rest(acme.did, vendor.did, arbiter.did)}}},
		{"only the pool is drawn from", five, acme.did, vendor.did, func(b *Body) { b.Mediation.Rotating.Pool = []did.DID{eve.did, acme.did} },
			[]Rung{{Name: "neutral", Candidates: []did.DID{arbiter.did}}, {Name: "rotating", Candidates: []did.DID{eve.did}}}},
		{"the jury is no candidate; a panel of three", five, acme.did, vendor.did, func(b *Body) { b.Mediation = DefaultMediation() },
			[]Rung{{Name: "rotating", Candidates: rest(acme.did, vendor.did)}, {Name: "panel", Candidates: rest(acme.did, vendor.did)}}},
		{"a panel of two is empty", func() Body { b := trio(t); b.Add(dora.member(0)); return b }, acme.did, vendor.did,
			func(b *Body) { b.Mediation = DefaultMediation() },
			[]Rung{{Name: "rotating", Candidates: rest(acme.did, vendor.did, eve.did)}, {Name: "panel"}}},
		{"a contract", func() Body { return trio(t) }, acme.did, vendor.did, func(b *Body) { b.Mediation.Ladder, b.Mediation.Contract = []string{"contract"}, court() },
			[]Rung{{Name: "contract", Contract: court().Address}}},
	} {
		b := c.body()
		if c.change != nil {
			c.change(&b)
		}
		got := Mediators(b, c.x, c.y)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %v\nwant %v", c.name, got, c.want)
		}
		if back := Mediators(b, c.y, c.x); !reflect.DeepEqual(back, got) {
			t.Errorf("%s: the other way round %v", c.name, back)
		}
	}
}

func TestGroupsAreTransitive(t *testing.T) {
	x := sortedOnce([]did.DID{acme.did, vendor.did, arbiter.did, dora.did, eve.did})
	b := Body{}
	b.Mediation.Rotating.Ties = []Tie{{x[4], x[3]}, {x[2], x[0]}, {x[0], x[2]}, {x[1], x[4]}}
	if got, want := Groups(b), map[did.DID]int{x[0]: 1, x[2]: 1, x[1]: 2, x[3]: 2, x[4]: 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestRefusedPairsAreThoseWithoutMediators holds the fast count of A8 against the
// list that a loan is refused by.
func TestRefusedPairsAreThoseWithoutMediators(t *testing.T) {
	rungs := [][]string{{"neutral"}, {"rotating"}, {"panel"}, {"neutral", "rotating"}, {"rotating", "panel"}, {"neutral", "panel"}, {"jury"}, {"neutral", "contract"}}
	r := rand.New(rand.NewSource(1))
	found := 0
	for i := range 400 {
		b := Body{Mediation: DefaultMediation()}
		b.Mediation.Ladder = rungs[r.Intn(len(rungs))]
		b.Mediation.Contract = court()
		var all []did.DID
		for n := range 3 + r.Intn(6) {
			a := org(fmt.Sprintf("m%d", n), byte(n+1))
			b.Add(a.member(0))
			all = append(all, a.did)
		}
		pick := func() did.DID { return all[r.Intn(len(all))] }
		b.Mediation.Neutral = &Neutral{DID: pick(), Alternates: []did.DID{pick()}}
		for range r.Intn(3) {
			b.Mediation.Rotating.Ties = append(b.Mediation.Rotating.Ties, Tie{pick(), pick()})
		}
		for range r.Intn(4) {
			b.Mediation.Rotating.Pool = append(b.Mediation.Rotating.Pool, pick())
		}
		b.Mediation.Rotating.Pool = sortedOnce(b.Mediation.Rotating.Pool)
		b.Members[r.Intn(len(all))].Status = StatusExpelled
		want := false
		for i, x := range b.ActiveMembers() {
			for _, y := range b.ActiveMembers()[i+1:] {
				want = want || !CanMediate(b, x.DID, y.DID)
			}
		}
		x, y, got := seatsOf(b).pairWithout(b)
		if got != want || got && CanMediate(b, x, y) {
			t.Fatalf("case %d: refused %v between %v and %v, want %v: %+v", i, got, x, y, want, b.Mediation)
		}
		if got {
			found++
		}
	}
	if found == 0 || found == 400 {
		t.Errorf("%d of 400 refused: the cases prove nothing", found)
	}
}
