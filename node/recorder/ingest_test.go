package recorder_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

func TestPackagesThatAreNotTaken(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	f := long(t, acme, 10)
	cases := []struct {
		name   string
		change func(p *attestation.Package)
		want   recorder.Verdict
	}{
		{"one bit of an entry flipped", func(p *attestation.Package) { e := clone(p.Entries[2]); e[70] ^= 1; p.Entries[2] = e }, recorder.Rejected},
		{"one bit of a signature flipped", func(p *attestation.Package) { e := clone(p.Entries[2]); e[5] ^= 1; p.Entries[2] = e }, recorder.Rejected},
		{"two entries swapped", func(p *attestation.Package) { p.Entries[1], p.Entries[2] = p.Entries[2], p.Entries[1] }, recorder.Rejected},
		{"an entry left out", func(p *attestation.Package) { p.Entries = p.Entries[:5] }, recorder.Rejected},
		{"an entry twice", func(p *attestation.Package) { p.Entries[3] = p.Entries[2] }, recorder.Rejected},
		{"another rest", func(p *attestation.Package) { p.Rest[0][0] ^= 1 }, recorder.Rejected},
		{"no rest", func(p *attestation.Package) { p.Rest = nil }, recorder.Rejected},
		{"a rest of one hash more", func(p *attestation.Package) { p.Rest = append(p.Rest, tlog.Hash{}) }, recorder.Rejected},
		{"another from", func(p *attestation.Package) { p.From = 1 }, recorder.Behind},
		{"an entry with bytes after it", func(p *attestation.Package) { p.Entries[2] = append(clone(p.Entries[2]), ' ') }, recorder.Rejected},
		{"an entry cut short", func(p *attestation.Package) { p.Entries[2] = p.Entries[2][:60] }, recorder.Rejected},
		{"a note cut short", func(p *attestation.Package) { p.Note = p.Note[:len(p.Note)-5] }, recorder.Rejected},
		{"another size in the note", func(p *attestation.Package) {
			p.Note = []byte(strings.Replace(string(p.Note), "\n10\n", "\n11\n", 1))
		}, recorder.Rejected},
		{"a note of another organization's key", func(p *attestation.Package) { p.Note = f.head(t, beta.keys[0], 10).Bytes() }, recorder.Rejected},
		{"a note of another organization", func(p *attestation.Package) {
			g := long(t, beta, 10)
			p.Note = g.head(t, beta.keys[0], 10).Bytes()
		}, recorder.Rejected},
		{"257 entries", func(p *attestation.Package) { p.Entries = make([]attestation.Entry, 257) }, recorder.Rejected},
		{"another organization's name on it", func(p *attestation.Package) { p.Did = beta.did }, recorder.Rejected},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			n := listener(t, knows(acme, beta), beta)
			p := f.pack(t, acme.keys[0], 0, 7, 10)
			p.Entries = append([]attestation.Entry(nil), p.Entries...)
			c.change(&p)
			res, err := n.Ingest(context.Background(), p)
			if res.Verdict != c.want || (c.want == recorder.Rejected) != errors.Is(err, recorder.ErrRejected) {
				t.Errorf("%s (%v), want %s", res.Verdict, err, c.want)
			}
			if got := len(n.entries(t, acme.did)); got != 0 {
				t.Errorf("%d entries were kept", got)
			}
			if res, err := n.Ingest(context.Background(), f.pack(t, acme.keys[0], 0, 7, 10)); err != nil || res.Verdict != recorder.Accepted {
				t.Errorf("the true package after it: %s (%v)", res.Verdict, err)
			}
		})
	}
}

func clone(e attestation.Entry) attestation.Entry { return append(attestation.Entry(nil), e...) }

func TestPackagesThatOverlap(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	f := long(t, acme, 20)
	k := acme.keys[0]
	n := listener(t, knows(acme, beta), beta)
	for _, c := range []struct {
		name           string
		from, to, size int
		want           recorder.Verdict
		held           uint64
	}{
		{"a head alone, nothing held", 0, 0, 5, recorder.Behind, 0},
		{"the first five", 0, 5, 5, recorder.Accepted, 5},
		{"the same again", 0, 5, 5, recorder.Held, 5},
		{"an older head", 0, 3, 3, recorder.Held, 5},
		{"a gap", 7, 9, 9, recorder.Behind, 5},
		{"half old, half new", 2, 8, 12, recorder.Accepted, 8},
		{"all old under a newer head", 2, 6, 12, recorder.Behind, 8},
		{"a newer head alone", 8, 8, 20, recorder.Behind, 8},
		{"the rest", 8, 20, 20, recorder.Accepted, 20},
	} {
		res, err := n.Ingest(context.Background(), f.pack(t, k, c.from, c.to, c.size))
		if err != nil || res.Verdict != c.want || res.Size != c.held {
			t.Fatalf("%s: %s, size %d (%v), want %s, %d", c.name, res.Verdict, res.Size, err, c.want, c.held)
		}
	}
	if h, err := n.Head(context.Background(), acme.did); err != nil || h.Size != 20 || h.Known != 20 {
		t.Errorf("head %+v (%v)", h, err)
	}
}

func TestForkedHeadsAreKept(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	ours, other := long(t, acme, 8), long(t, acme, 5)
	for i := range 7 {
		other.charter(t, acme.keys[0], 100+i)
	}
	k := acme.keys[0]
	for _, c := range []struct {
		name           string
		from, to, size int
	}{
		{"same size, other root", 0, 8, 8},
		{"a smaller size, other root", 0, 6, 6},
		{"a larger size, the difference shown", 0, 12, 12},
		{"a larger size, from where they part", 5, 12, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := listener(t, knows(acme, beta), beta)
			if _, err := n.Ingest(context.Background(), ours.pack(t, k, 0, 8, 8)); err != nil {
				t.Fatal(err)
			}
			res, err := n.Ingest(context.Background(), other.pack(t, k, c.from, c.to, c.size))
			var fork *recorder.Fork
			if res.Verdict != recorder.Forked || !errors.As(err, &fork) || fork.Org != acme.did {
				t.Fatalf("%s (%v)", res.Verdict, err)
			}
			kept, err := n.events.Evidence(context.Background(), acme.did)
			if err != nil || len(kept) != 2 {
				t.Errorf("%d notes kept (%v), want both", len(kept), err)
			}
			if got := len(n.entries(t, acme.did)); got != 8 {
				t.Errorf("%d entries, the other branch must not be appended", got)
			}
		})
	}
	t.Run("a larger size, the difference not shown", func(t *testing.T) {
		n := listener(t, knows(acme, beta), beta)
		if _, err := n.Ingest(context.Background(), ours.pack(t, k, 0, 8, 8)); err != nil {
			t.Fatal(err)
		}
		// Nothing tells a lying sender from a forked origin here.
		if res, err := n.Ingest(context.Background(), other.pack(t, k, 8, 12, 12)); res.Verdict != recorder.Rejected {
			t.Errorf("%s (%v)", res.Verdict, err)
		}
	})
}

// TestFalseEventsUnderAGoodRoot: they are the origin's fault. They are kept,
// void, and take nobody else with them.
func TestFalseEventsUnderAGoodRoot(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	k := acme.keys[0]
	f := &forged{p: acme}
	f.open(t)
	f.charter(t, k, 1)
	f.charter(t, beta.keys[0], 2) // a key of nobody here
	f.charter(t, k, 3)
	f.entries[3] = clone(f.entries[3])
	f.entries[3][9] ^= 1 // false signature
	d := plain(4)
	f.say(t, k, d.Type, d.Subject, d.Refs, d.Data, func(e *attestation.Event) { e.Org = beta.did })
	f.entries = append(f.entries, f.entries[1]) // its id stands below
	f.raw(k, []byte("no event at all"))
	f.say(t, k, d.Type, d.Subject, nil, d.Data, nil) // a known type without its ref
	f.say(t, k, "weather.seen", "", nil, attestation.Empty{}, nil)
	f.say(t, k, "log.opened", "", nil, attestation.LogOpened{DidVersion: version(0)}, nil)
	f.charter(t, k, 9)
	n := listener(t, knows(acme, beta), beta)
	if _, err := n.Ingest(context.Background(), f.pack(t, k, 0, len(f.entries), len(f.entries))); err != nil {
		t.Fatal(err)
	}
	want := "valid valid pending:unknown void:signature void:org void:repeat void:form void:form valid void:form valid"
	if got := strings.Join(n.standings(t, acme.did), " "); got != want {
		t.Errorf("standings\n got %s\nwant %s", got, want)
	}
	var at []uint64
	for fact, err := range n.Facts(context.Background(), attestation.Query{Org: acme.did}) {
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, fact.Index)
	}
	if fmt.Sprint(at) != "[0 1 8 10]" {
		t.Errorf("facts at %v", at)
	}
}

func TestStolenKeysAndRotations(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	old, next := acme.keys[0], seeded(0x15)
	v1only := &party{did: acme.did, keys: []seedSigner{old}, witness: acme.witness}
	acme.keys = append(acme.keys, next)
	f := &forged{p: acme}
	f.open(t)
	f.charter(t, old, 1)
	f.rotated(t, next, 1, "scheduled", nil)
	f.charter(t, old, 3) // the retired key goes on
	f.charter(t, next, 4)
	want := "valid valid valid void:key valid"
	ctx := context.Background()

	t.Run("all at once", func(t *testing.T) {
		n := listener(t, knows(acme, beta), beta)
		if res, err := n.Ingest(ctx, f.pack(t, next, 0, 5, 5)); err != nil || res.Verdict != recorder.Accepted {
			t.Fatalf("%s (%v)", res.Verdict, err)
		}
		if got := strings.Join(n.standings(t, acme.did), " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("in pieces, the rotation last", func(t *testing.T) {
		n := listener(t, knows(acme, beta), beta)
		if res, err := n.Ingest(ctx, f.pack(t, next, 0, 2, 5)); err != nil || res.Verdict != recorder.Accepted {
			t.Fatalf("%s (%v)", res.Verdict, err)
		}
		if got := strings.Join(n.standings(t, acme.did), " "); got != "pending:removed pending:removed" {
			t.Errorf("before the rotation is seen: %s", got)
		}
		if _, err := n.Ingest(ctx, f.pack(t, next, 2, 5, 5)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(n.standings(t, acme.did), " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("a head under the retired key", func(t *testing.T) {
		n := listener(t, knows(acme, beta), beta)
		if res, err := n.Ingest(ctx, f.pack(t, old, 0, 2, 2)); err != nil || res.Verdict != recorder.Parked {
			t.Errorf("%s (%v)", res.Verdict, err)
		}
		if res, err := n.Ingest(ctx, f.pack(t, old, 0, 5, 5)); err != nil || res.Verdict != recorder.Parked {
			t.Errorf("%s (%v)", res.Verdict, err)
		}
	})
	t.Run("a head under the new key below the rotation", func(t *testing.T) {
		n := listener(t, knows(acme, beta), beta)
		if res, _ := n.Ingest(ctx, f.pack(t, next, 0, 2, 2)); res.Verdict == recorder.Accepted {
			t.Error("taken")
		}
	})
	t.Run("the new version comes later", func(t *testing.T) {
		ring := knows(v1only, beta)
		n := listener(t, ring, beta)
		if res, err := n.Ingest(ctx, f.pack(t, old, 0, 2, 2)); err != nil || res.Verdict != recorder.Accepted {
			t.Fatalf("%s (%v)", res.Verdict, err)
		}
		if res, err := n.Ingest(ctx, f.pack(t, next, 2, 5, 5)); err == nil && res.Verdict == recorder.Accepted {
			t.Fatal("a head under an unknown key was taken")
		}
		ring.learn(acme)
		if err := n.Recheck(ctx, acme.did); err != nil {
			t.Fatal(err)
		}
		if res, err := n.Ingest(ctx, f.pack(t, next, 2, 5, 5)); err != nil || res.Verdict != recorder.Accepted {
			t.Fatalf("%s (%v)", res.Verdict, err)
		}
		if got := strings.Join(n.standings(t, acme.did), " "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestACompromiseTaintsWhatItMay is identity I-7 (only a taint makes it disputed).
func TestACompromiseTaintsWhatItMay(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	old, next := acme.keys[0], seeded(0x15)
	acme.keys = append(acme.keys, next)
	f := &forged{p: acme}
	f.open(t)
	for i := range 4 {
		f.charter(t, old, i)
	}
	from := uint64(2)
	f.rotated(t, next, 1, "compromise", &from)
	f.charter(t, next, 9)
	n := listener(t, knows(acme, beta), beta)
	if _, err := n.Ingest(context.Background(), f.pack(t, next, 0, 7, 7)); err != nil {
		t.Fatal(err)
	}
	want := "valid valid valid disputed:taint disputed:taint valid valid"
	if got := strings.Join(n.standings(t, acme.did), " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// dump is all of n's audit database, key by key. A posting is one key for each append, so
// that they differ with how a log was split: they are given as the indexes they name.
func dump(t *testing.T, n *node) []string {
	t.Helper()
	var out []string
	posts := map[string][]uint64{}
	err := n.audit.View(context.Background(), func(r store.Reader) error {
		return r.Scan(nil, nil, func(k, v []byte) bool {
			if bytes.HasPrefix(k, []byte("in/")) || bytes.HasPrefix(k, []byte("la/")) {
				return true // the order in which events came, and came to count, is that order
			}
			if !bytes.HasPrefix(k, []byte("po/")) {
				out = append(out, fmt.Sprintf("%q %x", k, v))
				return true
			}
			value, at := string(k[:len(k)-8]), binary.BigEndian.Uint64(k[len(k)-8:])
			for len(v) > 0 {
				d, size := binary.Uvarint(v)
				if size <= 0 {
					t.Fatalf("posting %q: %x", k, v)
				}
				posts[value], v = append(posts[value], at+d), v[size:]
			}
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for value, at := range posts {
		out = append(out, fmt.Sprintf("%q %v", value, at))
	}
	slices.Sort(out)
	return out
}

// TestOrderSplitAndRepetitionChangeNothing is I-7: the same heads and entries in any
// packages, in any order and any number of times give byte-equal databases: logs, tiles,
// notes, levels, standings, indexes. It is C-4 as well: an old package that comes again is
// held, and changes nothing.
func TestOrderSplitAndRepetitionChangeNothing(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	old, next := acme.keys[0], seeded(0x15)
	acme.keys = append(acme.keys, next)
	f := &forged{p: acme}
	f.open(t)
	for i := range 30 {
		f.charter(t, old, i)
	}
	f.rotated(t, next, 1, "scheduled", nil)
	for i := range 30 {
		f.charter(t, []seedSigner{old, next}[i%2], 100+i)
	}
	size := len(f.entries)
	var first []string
	for round := range 20 {
		rng := rand.New(rand.NewPCG(uint64(round), 3))
		n := listener(t, knows(acme, beta), beta)
		ingest := func(from, to int) recorder.Result {
			res, err := n.Ingest(context.Background(), f.pack(t, next, from, to, size))
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		for held := 0; held < size; {
			from := rng.IntN(held + 1)
			if rng.IntN(5) == 0 {
				from = min(size-1, held+1+rng.IntN(5)) // from the future: not taken yet
			}
			held = int(ingest(from, min(size, from+1+rng.IntN(20))).Size)
		}
		got := dump(t, n)
		if round == 0 {
			first = got
		} else if !slices.Equal(got, first) {
			t.Fatalf("round %d differs in\n%s\nwant\n%s", round, only(got, first), only(first, got))
		}
		for range 5 {
			from := rng.IntN(size)
			if res := ingest(from, from+1+rng.IntN(size-from)); res.Verdict != recorder.Held {
				t.Errorf("round %d: an old package again is %s", round, res.Verdict)
			}
		}
		if got := dump(t, n); !slices.Equal(got, first) {
			t.Fatalf("round %d: an old package changed\n%s", round, only(got, first))
		}
		if h, err := n.Head(context.Background(), acme.did); err != nil || string(h.Note) != string(f.head(t, next, size).Bytes()) {
			t.Errorf("round %d: newest note %s (%v)", round, h.Note, err)
		}
	}
}

// only lists what a has and b has not.
func only(a, b []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) }), "\n")
}

func TestPackagesServeWhatIngestTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
		ring := knows(acme, beta)
		a, b := running(t, acme, ring), listener(t, ring, beta)
		for i := range 600 {
			a.event(t, plain(i))
		}
		flush(t, a)
		p := pack(t, a, 100)
		if len(p.Entries) != 156 {
			t.Errorf("%d entries from 100, want those up to the multiple of 256", len(p.Entries))
		}
		p.Federation = envelope.IDOf([]byte("f"))
		wire, err := p.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := attestation.ParsePackage(wire, attestation.MaxSyncPackage); err != nil {
			t.Fatal(err)
		}
		pull(t, a, b)
		if fmt.Sprint(a.entries(t, acme.did)) != fmt.Sprint(b.entries(t, acme.did)) {
			t.Error("the logs differ")
		}
		again, err := b.Package(context.Background(), acme.did, 100, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		again.Federation = p.Federation
		if other, err := again.Bytes(); err != nil || string(other) != string(wire) {
			t.Errorf("the holder serves another package than the origin (%v)", err)
		}
		var beyond *attestation.Beyond
		if _, err := a.Package(context.Background(), acme.did, 602, 700); !errors.As(err, &beyond) {
			t.Errorf("above the head: %v", err)
		}
	})
}

func TestBodiesAreWantedTakenAndShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
		ring := knows(acme, beta)
		a, b := running(t, acme, ring), listener(t, ring, beta)
		id := a.event(t, barrier(1))
		flush(t, a)
		pull(t, a, b)
		ctx := context.Background()
		wanted, err := b.Wanted(ctx, 10)
		if err != nil || len(wanted) != 1 || wanted[0].Org != acme.did {
			t.Fatalf("wanted %v (%v)", wanted, err)
		}
		if f, err := b.Fact(ctx, id); err != nil || f.Body != nil {
			t.Errorf("a fact whose body is not held: %q (%v)", f.Body, err)
		}
		body, err := a.Body(ctx, wanted[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.PutBody(ctx, []byte(`{"other":1}`)); !errors.Is(err, attestation.ErrNotFound) {
			t.Errorf("a body nobody names: %v", err)
		}
		if _, err := b.PutBody(ctx, body); err != nil {
			t.Fatal(err)
		}
		if f, err := b.Fact(ctx, id); err != nil || string(f.Body) != string(body) {
			t.Errorf("the fact has body %q (%v)", f.Body, err)
		}
		if wanted, err := b.Wanted(ctx, 10); err != nil || len(wanted) != 0 {
			t.Errorf("still wanted: %v (%v)", wanted, err)
		}
	})
}

func FuzzIngest(f *testing.F) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	t := &testing.T{}
	l := long(t, acme, 6)
	p := l.pack(t, acme.keys[0], 0, 4, 6)
	p.Federation = envelope.IDOf([]byte("f"))
	wire, err := p.Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(wire)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := attestation.ParsePackage(b, attestation.MaxPackage)
		if err != nil {
			return
		}
		n := listener(t, knows(acme, beta), beta)
		res, err := n.Ingest(context.Background(), p)
		if res.Verdict == recorder.Accepted && fmt.Sprint(n.entries(t, acme.did)) != fmt.Sprint(l.entries[:4]) {
			t.Fatalf("took another log (%v)", err)
		}
	})
}
