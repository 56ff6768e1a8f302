package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// judgedAll judges what waits of a log until nothing does.
func (n *node) judgedAll(t *testing.T, d did.DID) {
	t.Helper()
	for {
		more, err := n.JudgeSome(context.Background(), d)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

// TestBackgroundAndInlineGiveOneDatabase is I-7 and I-8: entries that are judged as they come,
// in the background, or by the process after one that was killed between, give byte-equal
// databases, whatever the log holds.
func TestBackgroundAndInlineGiveOneDatabase(t *testing.T) {
	for round := range 12 {
		rng := rand.New(rand.NewPCG(uint64(round), 11))
		acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
		acme.keys = append(acme.keys, seeded(0x15), seeded(0x16))
		f := mixed(t, rng, acme, beta, 150)
		last, size := acme.current(), len(f.entries)
		f.charter(t, last, size) // under the head, and never brought: whoever signed it, it is not the newest
		waited := 0
		take := func(behind bool) []string {
			n := listener(t, knows(acme, beta), beta)
			pace := func() {
				if behind {
					n.SetPace(1+rng.IntN(4), 1+rng.IntN(20), uint64(8+rng.IntN(200)))
				}
			}
			pace()
			for held := 0; held < size; {
				to := min(size, held+1+rng.IntN(12))
				res, err := n.Ingest(context.Background(), f.pack(t, last, held, to, size+1))
				if err != nil || res.Verdict != recorder.Accepted {
					t.Fatal(round, held, to, res, err)
				}
				held = to
				waited += held - int(n.events.Judged(acme.did))
				if !behind {
					continue
				}
				if rng.IntN(3) == 0 {
					if _, err := n.JudgeSome(context.Background(), acme.did); err != nil {
						t.Fatal(err)
					}
				}
				if rng.IntN(6) == 0 { // a process that ends here leaves nothing but the databases
					n.start(t)
					pace()
				}
			}
			if behind {
				n.judgedAll(t, acme.did)
			}
			n.sound(t)
			return dump(t, n)
		}
		inline := take(false)
		if waited != 0 {
			t.Fatal("without a loop in the background something waits")
		}
		if got := take(true); !slices.Equal(got, inline) {
			t.Fatalf("round %d: in the background\n%s\ninline\n%s", round, only(got, inline), only(inline, got))
		}
		if waited == 0 {
			t.Fatal("nothing was ever judged in the background")
		}
	}
}

// bulky is a log of plain events with some of another type at the end.
func bulky(t *testing.T, p *party, n int, last attestation.Draft) *forged {
	f := long(t, p, n)
	f.say(t, p.keys[0], last.Type, last.Subject, last.Refs, last.Data, nil)
	return f
}

// TestWhatIsDeliveredIsAuthored: an event that has to be authored before it is delivered is
// judged when its Ingest returns, with all that lies below it; so is one that comes alone.
func TestWhatIsDeliveredIsAuthored(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	k := acme.keys[0]
	for _, c := range []struct {
		name  string
		draft attestation.Draft
		waits bool
	}{
		{"a barrier", barrier(1), false},
		{"a charter", plain(1000), true},
		{"an event of a dispute, of no type known here", attestation.Draft{Type: "dispute.future", Data: attestation.Empty{}}, false},
		{"an event of an agent, of no type known here", attestation.Draft{Type: "agent.future", Data: attestation.Empty{}}, false},
		{"an event of no type known here", attestation.Draft{Type: "any.other", Data: attestation.Empty{}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := bulky(t, acme, 100, c.draft)
			n := listener(t, knows(acme, beta), beta)
			n.SetPace(32, 64, 1000)
			judged := func(want uint64) {
				t.Helper()
				if got := n.events.Judged(acme.did); got != want {
					t.Fatalf("%d are judged, want %d", got, want)
				}
			}
			ingest(t, n, f.pack(t, k, 0, 1, 101)) // the log's opening
			judged(1)
			ingest(t, n, f.pack(t, k, 1, 6, 101)) // few: inline
			judged(6)
			ingest(t, n, f.pack(t, k, 6, 99, 101)) // bulk
			judged(6)
			ingest(t, n, f.pack(t, k, 99, 100, 101)) // alone, behind what waits
			judged(6)
			if st := n.Stats(); st.Backlog != 94 || st.Logged != 100 || st.Authored != 6 {
				t.Errorf("counted %+v", st)
			}
			ingest(t, n, f.pack(t, k, 100, 101, 101))
			if c.waits {
				judged(6)
				n.judgedAll(t, acme.did)
			}
			judged(101)
			if st := n.Stats(); st.Backlog != 0 || st.Authored != 101 {
				t.Errorf("counted %+v", st)
			}
		})
	}
}

// TestWhatWaitsIsBounded: whoever brings more than may wait has it judged first, and nobody
// who asks for what counts is shown what waits.
func TestWhatWaitsIsBounded(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	f := long(t, acme, 400)
	n := listener(t, knows(acme, beta), beta)
	n.SetPace(8, 16, 64)
	for at := 0; at < 400; at += 20 {
		ingest(t, n, f.pack(t, acme.keys[0], at, at+20, 400))
		judged := n.events.Judged(acme.did)
		if held := uint64(at + 20); held-judged > 64 {
			t.Fatalf("%d of %d are judged", judged, held)
		}
		for _, order := range []attestation.Order{attestation.ByLog, attestation.ByIngest} {
			page, err := n.events.Query(context.Background(), attestation.Query{Order: order, Limit: attestation.MaxPage})
			if err != nil || uint64(len(page.Found)) != judged {
				t.Fatalf("%d events are shown (%v), %d are judged", len(page.Found), err, judged)
			}
		}
		page, err := n.events.Query(context.Background(), attestation.Query{Any: true, Limit: attestation.MaxPage})
		if err != nil || len(page.Found) != at+20 {
			t.Fatalf("%d events are shown to who asks for all (%v)", len(page.Found), err)
		}
	}
}

// TestWhoFollowsMissesNothingThatWaits: a cursor ends before what waits, and goes on from there
// once it is judged.
func TestWhoFollowsMissesNothingThatWaits(t *testing.T) {
	ctx := context.Background()
	acme, core, beta := newParty("acme", 0x11), newParty("core", 0x41), newParty("beta", 0x21)
	a, c := long(t, acme, 60), long(t, core, 3)
	n := listener(t, knows(acme, core, beta), beta)
	n.SetPace(8, 7, 64)
	cursor, seen := "", []string{}
	follow := func() {
		t.Helper()
		page, err := n.events.Query(ctx, attestation.Query{Order: attestation.ByIngest, Limit: attestation.MaxPage, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range page.Found {
			seen = append(seen, fmt.Sprint(f.Org, f.Index))
		}
		cursor = page.Tail
	}
	ingest(t, n, a.pack(t, acme.keys[0], 0, 1, 60))
	ingest(t, n, a.pack(t, acme.keys[0], 1, 50, 60))
	follow()
	ingest(t, n, c.pack(t, core.keys[0], 0, 3, 3))
	follow()
	for more := true; more; {
		var err error
		if more, err = n.JudgeSome(ctx, acme.did); err != nil {
			t.Fatal(err)
		}
		follow()
	}
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprint(acme.did, i))
	}
	for i := range 3 {
		want = append(want, fmt.Sprint(core.did, i))
	}
	if !slices.Equal(seen, want) {
		t.Errorf("followed %v", seen)
	}
}

// TestRunJudgesWhatWaits: what a process left unjudged is judged by the next, each log gets
// its turn, and Run ends with its context whatever waits.
func TestRunJudgesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		acme, core, beta := newParty("acme", 0x11), newParty("core", 0x41), newParty("beta", 0x21)
		a, c := long(t, acme, 300), long(t, core, 40)
		n := listener(t, knows(acme, core, beta), beta)
		n.SetPace(8, 16, 1000)
		ingest(t, n, a.pack(t, acme.keys[0], 0, 1, 300))
		ingest(t, n, a.pack(t, acme.keys[0], 1, 200, 300))
		ingest(t, n, c.pack(t, core.keys[0], 0, 1, 40))
		ingest(t, n, c.pack(t, core.keys[0], 1, 40, 40))
		n.start(t)
		n.run(t)
		time.Sleep(time.Second)
		if a, c := n.events.Judged(acme.did), n.events.Judged(core.did); a != 200 || c != 40 {
			t.Fatalf("%d and %d are judged after a start", a, c)
		}
		told := len(n.news.told())
		ingest(t, n, a.pack(t, acme.keys[0], 200, 300, 300))
		time.Sleep(time.Second)
		if got := n.events.Judged(acme.did); got != 300 {
			t.Errorf("%d are judged", got)
		}
		if got := len(n.news.told()) - told; got < 2 {
			t.Errorf("%d heads are told of: once it is logged, and once it is judged", got)
		}
		if err := n.stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if st := n.Stats(); st.Backlog != 0 {
			t.Errorf("counted %+v", st)
		}
		// What comes now is judged as it comes: nobody would do it later.
		for i := range 50 {
			a.charter(t, acme.keys[0], 1000+i)
		}
		if _, err := n.Ingest(ctx, a.pack(t, acme.keys[0], 300, 350, 350)); err != nil || n.events.Judged(acme.did) != 350 {
			t.Errorf("%d are judged without Run (%v)", n.events.Judged(acme.did), err)
		}
	})
}

// TestADamagedEntryIsNotJudged: what the disk changed before it was judged is no event of
// its origin; it waits until the log is repaired, and no other log waits for it.
func TestADamagedEntryIsNotJudged(t *testing.T) {
	ctx := context.Background()
	acme, core, beta := newParty("acme", 0x11), newParty("core", 0x41), newParty("beta", 0x21)
	a, c := long(t, acme, 60), long(t, core, 40)
	n := listener(t, knows(acme, core, beta), beta)
	n.SetPace(8, 16, 1000)
	k := acme.keys[0]
	ingest(t, n, a.pack(t, k, 0, 1, 60))
	ingest(t, n, a.pack(t, k, 1, 60, 60))
	var good []byte
	change := func(v []byte) {
		t.Helper()
		err := n.audit.Update(ctx, func(tx store.Tx) error {
			key := append([]byte("en/\x00\x00\x00\x01"), 0, 0, 0, 0, 0, 0, 0, 20)
			b, err := tx.Get(key)
			if good == nil {
				good = slices.Clone(b)
			}
			if v == nil {
				v = slices.Clone(b)
				v[20] ^= 1
			}
			return errors.Join(err, tx.Set(key, v))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change(nil)
	ingest(t, n, c.pack(t, core.keys[0], 0, 1, 40))
	ingest(t, n, c.pack(t, core.keys[0], 1, 40, 40))
	n.judgedAll(t, core.did)
	for range 2 {
		if more, err := n.JudgeSome(ctx, acme.did); err != nil && !errors.Is(err, store.ErrCorrupt) || err == nil && !more {
			t.Fatal(more, err)
		}
	}
	if _, err := n.JudgeSome(ctx, acme.did); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("judged what is damaged: %v", err)
	}
	if got := n.events.Judged(acme.did); got > 20 {
		t.Errorf("%d are judged", got)
	}
	change(good)
	n.judgedAll(t, acme.did)
	if got := strings.Join(n.standings(t, acme.did), " "); strings.Contains(got, "void") || n.events.Judged(acme.did) != 60 {
		t.Errorf("after the repair: %s", got)
	}
}

// movedRing has something happen while signatures are being verified.
type movedRing struct {
	recorder.Ring
	known func()
}

func (m movedRing) Known(ctx context.Context, d did.DID) ([]string, error) {
	m.known()
	return m.Ring.Known(ctx, d)
}

// TestWhatIsOpenedUnderOldKeysIsNotUsed: a key history that moves while what waits is
// verified has it verified again.
func TestWhatIsOpenedUnderOldKeysIsNotUsed(t *testing.T) {
	ctx := context.Background()
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	a := long(t, acme, 60)
	n := listener(t, knows(acme, beta), beta)
	n.SetPace(8, 100, 1000)
	ingest(t, n, a.pack(t, acme.keys[0], 0, 1, 60))
	ingest(t, n, a.pack(t, acme.keys[0], 1, 60, 60))
	times := 0
	n.SetRing(movedRing{n.ring, func() {
		if times++; times == 1 {
			if err := n.Recheck(ctx, acme.did); err != nil {
				t.Error(err)
			}
		}
	}})
	if more, err := n.JudgeSome(ctx, acme.did); err != nil || !more || n.events.Judged(acme.did) != 1 {
		t.Fatalf("%d are judged under keys of before (%t, %v)", n.events.Judged(acme.did), more, err)
	}
	n.judgedAll(t, acme.did)
	if got := n.events.Judged(acme.did); got != 60 || times < 2 {
		t.Errorf("%d are judged", got)
	}
}
