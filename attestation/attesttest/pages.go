package attesttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// at is a moment n minutes after the time of [Entry].
func at(t *testing.T, n int) envelope.Time {
	t.Helper()
	first, err := envelope.ParseTime("2026-12-01T10:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	return first.Add(time.Duration(n) * time.Minute)
}

// testAhead gives cursors to a store that holds less than the one that made them, and to one
// that holds as much and came by it in another order.
func testAhead(t *testing.T, fresh func(t *testing.T) Opener) {
	long, short, other := fresh(t)(), fresh(t)(), fresh(t)()
	for i := range 3 {
		add(t, long, acme, uint64(i), Entry(t, acme, i, nil))
		add(t, long, beta, uint64(i), Entry(t, beta, i, nil))
	}
	add(t, short, acme, 0, entries(t, acme, 0, 3)...)
	add(t, other, acme, 0, entries(t, acme, 0, 3)...)
	add(t, other, beta, 0, entries(t, beta, 0, 3)...)
	for _, c := range []struct {
		name  string
		order attestation.Order
		limit int
		in    attestation.Store
		ok    bool
	}{
		{"by log, of more logs", attestation.ByLog, 1, short, false},
		{"by arrival, of more events", attestation.ByIngest, 4, short, false},
		{"by log, of as many", attestation.ByLog, 4, other, true},
		{"by arrival, another event before it", attestation.ByIngest, 4, other, false},
		{"by arrival, the same event before it", attestation.ByIngest, 1, other, true},
	} {
		q := attestation.Query{Any: true, Order: c.order, Limit: c.limit}
		p, err := long.Query(context.Background(), q)
		if err != nil || p.Next == "" {
			t.Fatalf("%+v (%v)", p, err)
		}
		q.Cursor = p.Next
		if _, err := c.in.Query(context.Background(), q); (err == nil) != c.ok || err != nil && !errors.Is(err, attestation.ErrCursorAhead) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// hours is a log whose times go back and forth over many blocks.
func hours(n int) int { return n/40*3 - n%7*50 }

func testTimes(t *testing.T, open Opener) {
	s := open()
	const n = 1500
	for from := 0; from < n; from += 100 {
		var list []attestation.Entry
		for i := from; i < from+100; i++ {
			list = append(list, Entry(t, acme, i, func(e *attestation.Event) {
				e.At = at(t, hours(i))
				if i%3 == 0 {
					e.Type = "loan.issued"
				}
			}))
		}
		add(t, s, acme, uint64(from), list...)
		add(t, s, beta, uint64(from), entries(t, beta, from, 100)...)
	}
	for _, c := range []struct {
		name         string
		since, until int
		typ          attestation.Type
		order        attestation.Order
	}{
		{"an hour", 60, 120, "", 0}, {"a minute", 99, 100, "", 0}, {"until before all", -9999, -9998, "", 0},
		{"one type in an hour", 30, 90, "loan.issued", 0}, {"an hour by arrival", 60, 120, "", attestation.ByIngest},
		{"one type by arrival", 30, 90, "loan.issued", attestation.ByIngest}, {"nothing between two equal times", 50, 50, "", 0},
	} {
		want := []string{}
		for i := range n {
			if h := hours(i); h >= c.since && h < c.until && (c.typ == "" || i%3 == 0) {
				want = append(want, fmt.Sprintf("%s/%d", acme.ID(), i))
			}
		}
		for _, limit := range []int{0, 7, 1000} {
			q := attestation.Query{Any: true, Org: acme, Type: c.typ, Since: at(t, c.since), Until: at(t, c.until), Order: c.order, Limit: limit}
			if got := places(t, s, q); !slices.Equal(got, want) {
				t.Errorf("%s, pages of %d: %d events, want %d", c.name, limit, len(got), len(want))
			}
		}
	}
	if got := places(t, s, attestation.Query{Any: true, Since: at(t, 0), Limit: 900}); len(got) < n {
		t.Errorf("since alone: %d", len(got))
	}
}

// testPages reads pages of random sizes while logs grow: each event that a query selects
// comes once, in order; by log up to the sizes of the first page, by arrival to the end.
func testPages(t *testing.T, open Opener) {
	for round := range 6 {
		s, rng := open(), rand.New(rand.NewPCG(uint64(round), 7))
		size := map[did.DID]int{}
		orgs := []did.DID{did.MustParse(fmt.Sprintf("did:web:m%d.example", round)), did.MustParse(fmt.Sprintf("did:web:b%d.example", round)), did.MustParse(fmt.Sprintf("did:web:z%d.example", round))}
		var came []string // by arrival, of this round
		grow := func() {
			org := orgs[rng.IntN(len(orgs))]
			list := []attestation.Entry{}
			for i := range 1 + rng.IntN(90) {
				n := size[org] + i
				list = append(list, Entry(t, org, n, func(e *attestation.Event) {
					e.Actor, e.At = agent, at(t, n/10)
					if n%2 == round%2 {
						e.Type = "loan.taken"
					}
				}))
				came = append(came, fmt.Sprintf("%s/%d", org.ID(), n))
			}
			add(t, s, org, uint64(size[org]), list...)
			size[org] += len(list)
		}
		for range 9 {
			grow()
		}
		for _, q := range []attestation.Query{{Actor: agent}, {Actor: agent, Order: attestation.ByIngest}, {Type: "loan.taken"}, {Actor: agent, Since: at(t, 3), Order: attestation.ByIngest}} {
			q.Any = true
			mine := func(list []string) []string {
				return slices.DeleteFunc(slices.Clone(list), func(p string) bool { return !ofRound(p, orgs) || !selects(q, p, round) })
			}
			before := sorted(mine(came), orgs, q.Order)
			var got []string
			for {
				q.Limit = 1 + rng.IntN(60)
				p, err := s.Query(context.Background(), q)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range p.Found {
					got = append(got, fmt.Sprintf("%s/%d", f.Org.ID(), f.Index))
				}
				if q.Cursor = p.Next; q.Cursor == "" {
					break
				}
				if len(came) < 3000 && rng.IntN(2) == 0 {
					grow()
				}
			}
			want := before
			if q.Order == attestation.ByIngest {
				want = mine(came)
			}
			if got = slices.DeleteFunc(got, func(p string) bool { return !ofRound(p, orgs) }); !slices.Equal(got, want) {
				t.Fatalf("round %d, order %s: %d events, want %d\n%v\n%v", round, q.Order, len(got), len(want), got, want)
			}
		}
	}
}

func ofRound(place string, orgs []did.DID) bool {
	return slices.ContainsFunc(orgs, func(d did.DID) bool { return len(place) > len(d.ID()) && place[:len(d.ID())] == d.ID() })
}

func indexOf(place string) (n int) {
	_, _ = fmt.Sscanf(place[len("m0.example/"):], "%d", &n)
	return n
}

func selects(q attestation.Query, place string, round int) bool {
	n := indexOf(place)
	return (q.Type == "" || n%2 == round%2) && (q.Since.IsZero() || n/10 >= 3)
}

// sorted puts places by organization and index, where that is the order.
func sorted(list []string, orgs []did.DID, o attestation.Order) []string {
	if o != attestation.ByIngest {
		slices.SortFunc(list, func(a, b string) int {
			if a[:2] != b[:2] {
				return int(a[0]) - int(b[0])
			}
			return indexOf(a) - indexOf(b)
		})
	}
	return list
}

// testTail follows logs: a tail gives each event once, whichever of its cursors it goes on from.
func testTail(t *testing.T, open Opener) {
	s := open()
	q := attestation.Query{Any: true, Type: "loan.taken", Order: attestation.ByIngest}
	p, err := s.Query(context.Background(), q)
	if err != nil || p.Tail == "" || p.Next != "" {
		t.Fatalf("tail of nothing: %+v (%v)", p, err)
	}
	var got []string
	want := []string{}
	for i := range 30 {
		for _, org := range []did.DID{beta, acme} {
			add(t, s, org, uint64(i), Entry(t, org, i, func(e *attestation.Event) {
				if i%3 == 1 {
					e.Type = "loan.taken"
					want = append(want, fmt.Sprintf("%s/%d", org.ID(), i))
				}
			}))
		}
		if i%4 != 0 {
			continue
		}
		q.Cursor = p.Tail
		if p, err = s.Query(context.Background(), q); err != nil {
			t.Fatal(err)
		}
		for _, f := range p.Found {
			got = append(got, fmt.Sprintf("%s/%d", f.Org.ID(), f.Index))
		}
		if n := len(p.Found); n > 1 { // a reader that handled one less
			p.Tail, got = p.Found[n-2].Cursor, got[:len(got)-1]
		}
		if i == 20 {
			s = open()
		}
	}
	q.Cursor = p.Tail
	got = append(got, places(t, s, q)...)
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
