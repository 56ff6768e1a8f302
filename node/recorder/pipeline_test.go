package recorder_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// commits counts the durable transactions of a database.
type commits struct {
	store.DB
	n     atomic.Int64
	after func() // called after each
}

func (c *commits) Update(ctx context.Context, fn func(store.Tx) error) error {
	err := c.DB.Update(ctx, fn)
	if c.n.Add(1); c.after != nil {
		c.after()
	}
	return err
}

// counted is a node whose commits to the audit database are counted.
func counted(t *testing.T, ring *world, p *party) (*node, *commits) {
	t.Helper()
	n := newNode(t, p, ring)
	c := &commits{DB: n.audit}
	n.audit = c
	n.start(t)
	return n, c
}

// TestEntriesAndVerdictsShareACommit: a crash leaves a peer's entries with their verdicts, or
// neither.
func TestEntriesAndVerdictsShareACommit(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	l := long(t, acme, 600)
	n, c := counted(t, knows(acme, beta), beta)
	for from := 0; from < 600; from += 200 {
		was := c.n.Load()
		c.after = func() { // what a process would find that starts now
			e, err := store.OpenEvents(context.Background(), c.DB)
			if err != nil {
				t.Fatal(err)
			}
			l, err := e.Log(context.Background(), acme.did)
			if err != nil {
				t.Fatal(err)
			}
			if h, note := l.Head(); h.Size != uint64(from+200) || e.Judged(acme.did) != h.Size || note == nil {
				t.Errorf("after a commit: %d entries, %d judged, note %q", h.Size, e.Judged(acme.did), note)
			}
		}
		if _, err := n.Ingest(context.Background(), l.pack(t, acme.keys[0], from, from+200, from+200)); err != nil {
			t.Fatal(err)
		}
		if got := c.n.Load() - was; got != 1 {
			t.Errorf("200 entries from %d took %d commits", from, got)
		}
	}
}

// TestOneFalseSignatureOfMany is C-17: exactly that one is void.
func TestOneFalseSignatureOfMany(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	for _, bad := range []int{1, 7, 8, 127, 128, 255} {
		l := long(t, acme, 256)
		l.entries[bad] = clone(l.entries[bad])
		l.entries[bad][40] ^= 4
		n := listener(t, knows(acme, beta), beta)
		if _, err := n.Ingest(context.Background(), l.pack(t, acme.keys[0], 0, 256, 256)); err != nil {
			t.Fatal(err)
		}
		for i, got := range n.standings(t, acme.did) {
			want := "valid"
			if i == bad {
				want = "void:signature"
			}
			if got != want {
				t.Errorf("%d is %s with a false signature at %d", i, got, bad)
			}
		}
		st := n.Stats()
		if st.Logged != 256 || st.Authored != 255 || st.Backlog != 0 || st.Void[recorder.Voided{Org: acme.did, Reason: attestation.ReasonSignature}] != 1 {
			t.Errorf("counted %+v", st)
		}
		for _, stage := range []recorder.Stage{recorder.StageJudge, recorder.StageTake} {
			if got := st.Append[stage]; got.Count != 1 || len(got.Buckets) != len(recorder.StageBounds()) {
				t.Errorf("stage %s took %+v", stage, got)
			}
		}
	}
}

// mixed is a log with all that a log may hold, in an order drawn from rng.
func mixed(t *testing.T, rng *rand.Rand, acme, beta *party, size int) *forged {
	f := &forged{p: acme}
	f.open(t)
	current := 0
	for len(f.entries) < size {
		i := len(f.entries)
		s := acme.keys[current]
		switch rng.IntN(12) {
		case 0:
			f.charter(t, beta.keys[0], i) // a key of nobody here
		case 1:
			f.charter(t, s, i)
			f.entries[i][9] ^= 1
		case 2:
			f.entries = append(f.entries, f.entries[rng.IntN(i)])
		case 3:
			f.raw(s, []byte("no event"))
		case 4:
			d := plain(i)
			f.say(t, s, d.Type, d.Subject, d.Refs, d.Data, func(e *attestation.Event) { e.Org = beta.did })
		case 5:
			f.charter(t, acme.keys[rng.IntN(len(acme.keys))], i) // not yet, now, or no longer
		case 6:
			if i > size/4*(current+1) && current+1 < len(acme.keys) {
				current++
				reason, from := "scheduled", (*uint64)(nil)
				if rng.IntN(2) == 0 {
					at := uint64(rng.IntN(i))
					reason, from = "compromise", &at
				}
				f.rotated(t, acme.keys[current], current, reason, from)
			}
		default:
			f.charter(t, s, i)
		}
	}
	for current+1 < len(acme.keys) { // the document lists only the last
		current++
		f.rotated(t, acme.keys[current], current, "scheduled", nil)
	}
	return f
}

// TestABatchIsJudgedAsItsEventsOneByOne is I-7 and I-8: what all cores say of a batch is what
// one says of each event alone.
func TestABatchIsJudgedAsItsEventsOneByOne(t *testing.T) {
	for round := range 12 {
		rng := rand.New(rand.NewPCG(uint64(round), 7))
		acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
		acme.keys = append(acme.keys, seeded(0x15), seeded(0x16))
		f := mixed(t, rng, acme, beta, 120)
		last := acme.current()
		take := func(step func() int) string {
			n := listener(t, knows(acme, beta), beta)
			for held, size := 0, len(f.entries); held < size; {
				to := min(size, held+step())
				if _, err := n.Ingest(context.Background(), f.pack(t, last, held, to, size)); err != nil {
					t.Fatal(err)
				}
				held = to
			}
			return strings.Join(n.standings(t, acme.did), " ")
		}
		alone := take(func() int { return 1 })
		if many := take(func() int { return attestation.MaxBatch }); many != alone {
			t.Fatalf("round %d:\nat once    %s\none by one %s", round, many, alone)
		}
		if some := take(func() int { return 1 + rng.IntN(40) }); some != alone {
			t.Fatalf("round %d:\nin parts   %s\none by one %s", round, some, alone)
		}
	}
}

// TestLogsAreTakenSideBySide: many logs at once, all new, none waits for the others' locks
// and none takes another's number; a hold keeps all of them.
func TestLogsAreTakenSideBySide(t *testing.T) {
	beta := newParty("beta", 0x21)
	all := []*party{beta}
	for i := range 12 {
		all = append(all, newParty(fmt.Sprintf("org%d", i), byte(0x40+i)))
	}
	n, c := counted(t, knows(all...), beta)
	c.after = func() { time.Sleep(time.Millisecond) } // others come before it can be seen
	ctx := context.Background()
	logs := map[*party]*forged{}
	for _, p := range all[1:] {
		logs[p] = long(t, p, 60)
	}
	packs := func(p *party) (out []attestation.Package) {
		for from := 0; from < 60; from += 15 {
			out = append(out, logs[p].pack(t, p.keys[0], from, from+15, from+15))
		}
		return out
	}
	release := n.Hold()
	var held atomic.Bool
	held.Store(true)
	var wg sync.WaitGroup
	for _, p := range all[1:] {
		list := packs(p)
		wg.Go(func() {
			for _, pack := range list {
				if res, err := n.Ingest(ctx, pack); err != nil || res.Verdict != recorder.Accepted {
					t.Errorf("%s: %s (%v)", p.did, res.Verdict, err)
				}
				if held.Load() {
					t.Error("taken in while all logs were held")
				}
			}
		})
	}
	time.Sleep(5 * time.Millisecond) // let them come to the lock
	held.Store(false)
	release()
	wg.Wait()
	again, err := store.OpenEvents(ctx, n.audit)
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]*store.Events{"as it is": n.events, "opened anew": again} {
		for p, f := range logs {
			l, err := e.Log(ctx, p.did)
			if err != nil {
				t.Fatal(name, err)
			}
			if h, _ := l.Head(); h.Size != 60 || e.Judged(p.did) != 60 {
				t.Errorf("%s: %s has %d entries, %d judged", name, p.did, h.Size, e.Judged(p.did))
			}
			at, err := e.Indexes(ctx, p.did, []envelope.ID{f.entries[59].ID(), f.entries[0].ID(), envelope.IDOf([]byte("other"))})
			if err != nil || len(at) != 2 || at[f.entries[59].ID()] != 59 {
				t.Errorf("%s: %s has its events at %v (%v)", name, p.did, at, err)
			}
			if _, err := e.ReadBack(ctx, p.did); err != nil {
				t.Error(name, err)
			}
		}
	}
}

// TestStagesOfTheOwnLogAreTimed: each is, up to the signed head.
func TestStagesOfTheOwnLogAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme := newParty("acme", 0x11)
		n := running(t, acme, knows(acme))
		for i := range 5 {
			n.event(t, plain(i))
		}
		flush(t, n)
		st := n.Stats()
		for _, stage := range []recorder.Stage{recorder.StageAppend, recorder.StageReadBack, recorder.StagePin, recorder.StageStore} {
			// Time stands still in here, so each lies in the first bucket.
			if got := st.Append[stage]; got.Count == 0 || got.Buckets[0] != got.Count || got.Seconds != 0 {
				t.Errorf("stage %s took %+v", stage, got)
			}
		}
		if st.Logged != 6 || st.Authored != 6 || st.Backlog != 0 || len(st.Void) != 0 {
			t.Errorf("counted %+v", st)
		}
	})
}
