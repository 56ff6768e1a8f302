// Package attesttest answers: does a store of logs keep what
// attestation.Store promises? It is the one suite that every implementation
// runs, over databases in memory and on disk alike.
package attesttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
)

// Opener opens a store on the same data each time it is called; the one opened
// before is no longer used.
type Opener func() attestation.Store

// Run runs the suite; fresh returns the opener of a new, empty store.
func Run(t *testing.T, fresh func(t *testing.T) Opener) {
	cases := map[string]func(*testing.T, Opener){
		"an empty store":                    testEmpty,
		"sizes 0 to 300 in odd steps":       testGrow,
		"a batch from another size":         testConflict,
		"batches above the caps":            testCaps,
		"the first of two equal ids":        testFind,
		"entries up to the size":            testEntries,
		"the mark never falls":              testMark,
		"queries by each filter and page":   testQuery,
		"a cursor of another query":         testCursor,
		"queries by time":                   testTimes,
		"pages while logs grow":             testPages,
		"a tail goes on where it was":       testTail,
		"two logs do not touch":             testTwoLogs,
		"what was appended survives":        testReopen,
		"entries that are no events at all": testForeign,
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) { f(t, fresh(t)) })
	}
	t.Run("a cursor above what is held", func(t *testing.T) { testAhead(t, fresh) })
}

var (
	acme  = did.MustParse("did:web:acme.example")
	beta  = did.MustParse("did:web:beta.example")
	agent = did.MustParse("did:web:acme.example:agents:a")
)

// Entry returns an entry of an unsigned event: a store looks at no signature.
func Entry(t testing.TB, org did.DID, n int, change func(*attestation.Event)) attestation.Entry {
	t.Helper()
	at, err := envelope.ParseTime("2026-12-01T10:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	nonce := tlog.RecordHash(fmt.Append(nil, n))
	ev := attestation.Event{
		At: at, Data: envelope.Raw("{}"), Kid: "k", Nonce: attestation.FormatEntry(nonce[:16]), Org: org, Type: "test.said",
	}
	if change != nil {
		change(&ev)
	}
	body, err := envelope.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	return append(attestation.Entry{1}, append(make([]byte, 64), body...)...)
}

func entries(t *testing.T, org did.DID, from, n int) []attestation.Entry {
	t.Helper()
	var out []attestation.Entry
	for i := range n {
		out = append(out, Entry(t, org, from+i, nil))
	}
	return out
}

func add(t *testing.T, s attestation.Store, org did.DID, from uint64, list ...attestation.Entry) {
	t.Helper()
	if err := s.Append(context.Background(), attestation.Batch{Org: org, From: from, Entries: list}); err != nil {
		t.Fatal(err)
	}
}

func logOf(t *testing.T, s attestation.Store, org did.DID) attestation.Log {
	t.Helper()
	l, err := s.Log(context.Background(), org)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func testEmpty(t *testing.T, open Opener) {
	s := open()
	if _, err := s.Log(context.Background(), acme); !errors.Is(err, attestation.ErrNotFound) {
		t.Errorf("log of an empty store: %v", err)
	}
	if m, err := s.Mark(context.Background()); m != 0 || err != nil {
		t.Errorf("mark %d (%v)", m, err)
	}
	if p, err := s.Query(context.Background(), attestation.Query{Any: true}); len(p.Found) != 0 || err != nil {
		t.Errorf("query found %v (%v)", p, err)
	}
}

func testGrow(t *testing.T, open Opener) {
	s := open()
	all := entries(t, acme, 0, 300)
	var leaves []tlog.Hash
	for from, step := 0, 1; from < len(all); step = step%7 + 1 {
		to := min(len(all), from+step*step)
		add(t, s, acme, uint64(from), all[from:to]...)
		for _, e := range all[from:to] {
			leaves = append(leaves, e.Hash())
		}
		checkTree(t, logOf(t, s, acme), leaves)
		from = to
	}
}

// checkTree compares head, root from the stored hashes, and proofs.
func checkTree(t *testing.T, l attestation.Log, leaves []tlog.Hash) {
	t.Helper()
	head, _ := l.Head()
	want := attestation.Head{Size: uint64(len(leaves)), Root: attlog.RootOf(leaves)}
	if head != want {
		t.Fatalf("head %v, want %v", head, want)
	}
	if got, err := attlog.RootAt(head.Size, l); err != nil || got != want {
		t.Fatalf("root of the stored hashes %v (%v), want %v", got, err, want)
	}
	for _, i := range []uint64{0, head.Size / 2, head.Size - 1} {
		p, err := attlog.Include(i, head.Size, l)
		if err != nil {
			t.Fatal(err)
		}
		if err := attlog.CheckInclusion(head, i, leaves[i], p); err != nil {
			t.Fatal(err)
		}
	}
}

func testConflict(t *testing.T, open Opener) {
	s := open()
	add(t, s, acme, 0, entries(t, acme, 0, 3)...)
	for _, from := range []uint64{0, 2, 4} {
		err := s.Append(context.Background(), attestation.Batch{Org: acme, From: from, Entries: entries(t, acme, 9, 1)})
		if !errors.Is(err, attestation.ErrConflict) {
			t.Errorf("batch from %d: %v", from, err)
		}
	}
	if h, _ := logOf(t, s, acme).Head(); h.Size != 3 {
		t.Errorf("size %d after conflicts", h.Size)
	}
}

func testCaps(t *testing.T, open Opener) {
	s := open()
	long := append(Entry(t, acme, 0, nil), bytes.Repeat([]byte("x"), attestation.MaxEntry-1000)...)
	cases := map[string][]attestation.Entry{
		"257 entries":          entries(t, acme, 0, attestation.MaxBatch+1),
		"more than 3 MiB":      {},
		"an entry of no bytes": {nil},
	}
	for range 60 {
		cases["more than 3 MiB"] = append(cases["more than 3 MiB"], long)
	}
	for name, list := range cases {
		if err := s.Append(context.Background(), attestation.Batch{Org: acme, Entries: list}); err == nil {
			t.Errorf("%s: appended", name)
		}
	}
}

func testFind(t *testing.T, open Opener) {
	s := open()
	one := Entry(t, acme, 1, nil)
	add(t, s, acme, 0, Entry(t, acme, 0, nil), one, one)
	add(t, s, acme, 3, one, Entry(t, acme, 2, nil))
	l := logOf(t, s, acme)
	if at, err := l.Find(context.Background(), one.ID()); at != 1 || err != nil {
		t.Errorf("found at %d (%v), want 1", at, err)
	}
	if at, err := l.Find(context.Background(), Entry(t, acme, 2, nil).ID()); at != 4 || err != nil {
		t.Errorf("found at %d (%v), want 4", at, err)
	}
	if _, err := l.Find(context.Background(), Entry(t, acme, 3, nil).ID()); !errors.Is(err, attestation.ErrNotFound) {
		t.Errorf("an event that is not held: %v", err)
	}
}

func testEntries(t *testing.T, open Opener) {
	s := open()
	all := entries(t, acme, 0, 300)
	add(t, s, acme, 0, all[:256]...)
	add(t, s, acme, 256, all[256:]...)
	l := logOf(t, s, acme)
	next := uint64(10)
	err := l.Entries(context.Background(), 10, 300, func(i uint64, e attestation.Entry) error {
		if i != next || !bytes.Equal(e, all[i]) {
			t.Fatalf("entry %d at %d", i, next)
		}
		next++
		return nil
	})
	if err != nil || next != 300 {
		t.Errorf("ended at %d (%v)", next, err)
	}
	var beyond *attestation.Beyond
	if err := l.Entries(context.Background(), 0, 301, nil); !errors.As(err, &beyond) || beyond.Size != 300 {
		t.Errorf("above the size: %v", err)
	}
	stop := errors.New("enough")
	if err := l.Entries(context.Background(), 0, 300, func(uint64, attestation.Entry) error { return stop }); err != stop {
		t.Errorf("a yield that ends it: %v", err)
	}
}

func testMark(t *testing.T, open Opener) {
	s := open()
	for i, c := range []struct{ give, want uint64 }{{5, 5}, {0, 5}, {3, 5}, {9, 9}} {
		err := s.Append(context.Background(), attestation.Batch{Org: acme, From: uint64(i), Entries: entries(t, acme, i, 1), Mark: c.give})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Mark(context.Background()); got != c.want || err != nil {
			t.Errorf("mark %d after %d (%v), want %d", got, c.give, err, c.want)
		}
	}
	if got, err := open().Mark(context.Background()); got != 9 || err != nil {
		t.Errorf("mark %d after opening again (%v), want 9", got, err)
	}
}

// places returns where a query finds events, over all its pages.
func places(t *testing.T, s attestation.Store, q attestation.Query) []string {
	t.Helper()
	out := []string{}
	for {
		p, err := s.Query(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if q.Limit > 0 && len(p.Found) > q.Limit {
			t.Fatalf("page of %d, limit %d", len(p.Found), q.Limit)
		}
		for _, f := range p.Found {
			out = append(out, fmt.Sprintf("%s/%d", f.Org.ID(), f.Index))
		}
		if q.Cursor = p.Next; q.Cursor == "" {
			return out
		}
	}
}

func testQuery(t *testing.T, open Opener) {
	s := open()
	ref := envelope.IDOf([]byte("ref"))
	perm := envelope.IDOf([]byte("perm")).String()
	for i, change := range []func(*attestation.Event){
		func(e *attestation.Event) { e.Type, e.Subject = "loan.issued", perm },
		func(e *attestation.Event) { e.Type, e.Subject, e.Refs = "loan.ended", perm, []envelope.ID{ref, ref} },
		func(e *attestation.Event) { e.Type, e.Actor = "dispute.filed", agent },
		func(e *attestation.Event) { e.Refs = []envelope.ID{ref} },
	} {
		add(t, s, acme, uint64(i), Entry(t, acme, i, change))
		add(t, s, beta, uint64(i), Entry(t, beta, i, change))
	}
	cases := []struct {
		name string
		q    attestation.Query
		want string
	}{
		{"everything of one log", attestation.Query{Org: acme}, "[acme.example/0 acme.example/1 acme.example/2 acme.example/3]"},
		{"one type over all logs", attestation.Query{Type: "loan.ended"}, "[acme.example/1 beta.example/1]"},
		{"a family", attestation.Query{Type: "loan."}, "[acme.example/0 acme.example/1 beta.example/0 beta.example/1]"},
		{"a subject", attestation.Query{Subject: perm, Org: beta}, "[beta.example/0 beta.example/1]"},
		{"a subject and a type", attestation.Query{Subject: perm, Type: "loan.issued"}, "[acme.example/0 beta.example/0]"},
		{"an actor", attestation.Query{Actor: agent}, "[acme.example/2 beta.example/2]"},
		{"a ref, once an event", attestation.Query{Ref: ref}, "[acme.example/1 acme.example/3 beta.example/1 beta.example/3]"},
		{"a type nobody uses", attestation.Query{Type: "loan.lost"}, "[]"},
		{"a log nobody has", attestation.Query{Org: agent}, "[]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.q.Any = true
			for _, limit := range []int{0, 1, 3} {
				c.q.Limit = limit
				if got := fmt.Sprint(places(t, s, c.q)); got != c.want {
					t.Errorf("limit %d: got %s, want %s", limit, got, c.want)
				}
			}
			c.q.Any = false
			if got := places(t, s, c.q); len(got) != 0 {
				t.Errorf("events that nobody judged count: %v", got)
			}
		})
	}
}

func testCursor(t *testing.T, open Opener) {
	s := open()
	add(t, s, acme, 0, entries(t, acme, 0, 3)...)
	p, err := s.Query(context.Background(), attestation.Query{Any: true, Limit: 1})
	if err != nil || p.Next == "" {
		t.Fatalf("page %v (%v)", p, err)
	}
	for name, q := range map[string]attestation.Query{
		"another filter": {Any: true, Org: acme, Cursor: p.Next},
		"another time":   {Any: true, Since: at(t, 0), Cursor: p.Next},
		"another level":  {Any: true, Level: attestation.Logged, Cursor: p.Next},
		"another order":  {Any: true, Order: attestation.ByIngest, Cursor: p.Next},
		"another hash":   {Any: true, Cursor: p.Next[:6] + "AAAA" + p.Next[10:]},
		"half a cursor":  {Any: true, Cursor: p.Next[:8]},
		"no base64":      {Any: true, Cursor: "!"},
	} {
		if _, err := s.Query(context.Background(), q); !errors.Is(err, attestation.ErrCursor) {
			t.Errorf("%s: %v", name, err)
		}
	}
	add(t, s, acme, 3, Entry(t, acme, 3, nil))
	if got := fmt.Sprint(places(t, s, attestation.Query{Any: true, Limit: 1, Cursor: p.Next})); got != "[acme.example/1 acme.example/2]" {
		t.Errorf("a cursor under appends goes on with %s, not with the log of its first page", got)
	}
}

func testTwoLogs(t *testing.T, open Opener) {
	s := open()
	a, b := entries(t, acme, 0, 5), entries(t, beta, 0, 300)
	add(t, s, acme, 0, a[:2]...)
	add(t, s, beta, 0, b[:256]...)
	add(t, s, acme, 2, a[2:]...)
	add(t, s, beta, 256, b[256:]...)
	for org, list := range map[did.DID][]attestation.Entry{acme: a, beta: b} {
		var leaves []tlog.Hash
		for _, e := range list {
			leaves = append(leaves, e.Hash())
		}
		checkTree(t, logOf(t, s, org), leaves)
	}
}

func testReopen(t *testing.T, open Opener) {
	s := open()
	all := entries(t, acme, 0, 70)
	add(t, s, acme, 0, all[:50]...)
	s = open()
	add(t, s, acme, 50, all[50:]...)
	s = open()
	var leaves []tlog.Hash
	for _, e := range all {
		leaves = append(leaves, e.Hash())
	}
	checkTree(t, logOf(t, s, acme), leaves)
	if at, err := logOf(t, s, acme).Find(context.Background(), all[49].ID()); at != 49 || err != nil {
		t.Errorf("found at %d (%v)", at, err)
	}
}

func testForeign(t *testing.T, open Opener) {
	s := open()
	junk := append(attestation.Entry{1}, bytes.Repeat([]byte{0xff}, 80)...)
	stolen := Entry(t, beta, 0, func(e *attestation.Event) { e.Type = "loan.issued" })
	add(t, s, acme, 0, junk, stolen)
	if got := fmt.Sprint(places(t, s, attestation.Query{Any: true})); got != "[acme.example/0 acme.example/1]" {
		t.Errorf("all entries: %s", got)
	}
	if got := places(t, s, attestation.Query{Any: true, Type: "loan.issued"}); len(got) != 0 {
		t.Errorf("an event of another organization is indexed: %v", got)
	}
	if at, err := logOf(t, s, acme).Find(context.Background(), junk.ID()); at != 0 || err != nil {
		t.Errorf("found at %d (%v)", at, err)
	}
}
