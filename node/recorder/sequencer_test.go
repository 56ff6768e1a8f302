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

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/node/recorder"
	"trustnode/node/store"
)

// journal is what was committed, in order.
type journal struct {
	ids  []envelope.ID // events and rows alike
	rows []envelope.ID
	bar  map[envelope.ID]int // barrier event to the rows committed before it
}

func newJournal() *journal { return &journal{bar: map[envelope.ID]int{}} }

func (j *journal) draft(t *testing.T, n *node, i int, rng *rand.Rand) {
	switch k := rng.IntN(4); k {
	case 0:
		id := n.event(t, barrier(i))
		j.ids, j.bar[id] = append(j.ids, id), len(j.rows)
	case 1:
		j.ids = append(j.ids, n.event(t, plain(i)))
	default:
		id := n.row(t, i)
		j.ids, j.rows = append(j.ids, id), append(j.rows, id)
	}
}

// check verifies I-1, I-4, I-5 and I-6 on the own log of n.
func (j *journal) check(t *testing.T, n *node) {
	t.Helper()
	var want, got, leaves = []envelope.ID{}, []envelope.ID{}, []tlog.Hash{}
	for _, id := range j.ids {
		if !slices.Contains(j.rows, id) {
			want = append(want, id)
		}
	}
	covered := 0
	rows := j.allRows(t, n)
	at := envelope.Time{}
	for i, en := range n.entries(t, n.p.did) {
		leaves = append(leaves, en.Hash())
		_, ev, err := en.Envelope()
		if err != nil {
			t.Fatal(err)
		}
		if ev.At.Before(at) {
			t.Errorf("index %d is dated before the one below it", i)
		}
		at = ev.At
		switch {
		case ev.Type == "audit.rows":
			covered += j.checkRows(t, n, ev, covered, rows)
		case ev.Type != "log.opened":
			got = append(got, en.ID())
		}
		if before, ok := j.bar[en.ID()]; ok && covered != before {
			t.Errorf("barrier at %d: %d rows under audit.rows, %d were committed before it", i, covered, before)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("log has %d events, want these %d in order\n got %v\nwant %v", len(got), len(want), got, want)
	}
	if covered != len(j.rows) {
		t.Errorf("%d rows are covered, want %d", covered, len(j.rows))
	}
	l, err := n.events.Log(context.Background(), n.p.did)
	if err != nil {
		t.Fatal(err)
	}
	if h, _ := l.Head(); h.Root != attlog.RootOf(leaves) {
		t.Error("the head is not the root of the entries")
	}
}

func (j *journal) allRows(t *testing.T, n *node) [][]byte {
	t.Helper()
	var out [][]byte
	var ids []envelope.ID
	err := n.events.Rows(context.Background(), audit.Filter{}, func(k uint64, r audit.Row) error {
		if int(k) != len(out)+1 {
			t.Errorf("row %d at place %d", k, len(out)+1)
		}
		out, ids = append(out, r.Body), append(ids, audit.ID(r))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(ids) != fmt.Sprint(j.rows) {
		t.Errorf("%d rows, want %d: each once and in order", len(ids), len(j.rows))
	}
	return out
}

// checkRows verifies one audit.rows and returns how many rows it covers.
func (j *journal) checkRows(t *testing.T, n *node, ev attestation.Event, covered int, rows [][]byte) int {
	t.Helper()
	b, err := n.Body(context.Background(), ev.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, err := audit.ParseRows(b)
	if err != nil {
		t.Fatal(err)
	}
	var d attestation.AuditRows
	if err := ev.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if int(body.First) != covered+1 || covered+int(body.Size) > len(rows) {
		t.Fatalf("audit.rows from %d, %d of them, after %d covered", body.First, body.Size, covered)
	}
	if root := attlog.RootOf(attlog.Leaves(rows[covered : covered+int(body.Size)])); root != d.Root {
		t.Errorf("root of rows %d on is %s, the event says %s", body.First, root, d.Root)
	}
	return int(body.Size)
}

// signed verifies I-2: one root per size, each that of the log.
func signed(t *testing.T, n *node) {
	t.Helper()
	l, err := n.events.Log(context.Background(), n.p.did)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range n.news.told() {
		note := parseNote(t, h.Note)
		want, err := attlog.RootAt(note.Head.Size, l)
		if err != nil || want != note.Head {
			t.Errorf("size %d was signed with root %s, the log has %s (%v)", note.Head.Size, note.Head.Root, want.Root, err)
		}
		if floor, _, ok := n.pins.Highest(pins.KindLog, n.p.did.String()); !ok || floor.N < note.Head.Size {
			t.Errorf("size %d was signed and not pinned", note.Head.Size)
		}
	}
}

func TestOutboxReachesTheLogInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := running(t, p, knows(p))
		j, rng := newJournal(), rand.New(rand.NewPCG(1, 1))
		for i := range 600 {
			j.draft(t, n, i, rng)
			if i%97 == 0 {
				time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
			}
		}
		flush(t, n)
		j.check(t, n)
		signed(t, n)
		for i, s := range n.standings(t, p.did) {
			if s != "valid" {
				t.Errorf("own event %d is %s", i, s)
			}
		}
	})
}

// TestCrashAtEachStep stops the sequencer after each of its steps in turn,
// begins again over the same databases, and goes on drafting.
func TestCrashAtEachStep(t *testing.T) {
	for _, at := range []string{"read", "signed", "appended", "readback", "pinned", "headsigned", "stored", "told"} {
		for round := range 12 {
			t.Run(fmt.Sprintf("after %s, round %d", at, round), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { crash(t, at, uint64(round)) })
			})
		}
	}
}

func crash(t *testing.T, at string, seed uint64) {
	p := newParty("acme", 0x11)
	n := newNode(t, p, knows(p))
	j, rng := newJournal(), rand.New(rand.NewPCG(seed, 7))
	for life := range 4 {
		n.start(t)
		skip := rng.IntN(4)
		n.SetStep(func(step string) error {
			if step == at && life < 3 {
				if skip--; skip < 0 {
					return recorder.ErrStopped
				}
			}
			return nil
		})
		n.run(t)
		for i := range 40 {
			j.draft(t, n, life*1000+i, rng)
			if rng.IntN(8) == 0 {
				time.Sleep(time.Duration(rng.IntN(1200)) * time.Millisecond)
			}
		}
		if life == 3 {
			flush(t, n)
		} else {
			time.Sleep(3 * time.Second)
		}
		if err := n.stop(); life < 3 && !errors.Is(err, recorder.ErrStopped) {
			t.Logf("life %d ended with %v", life, err)
		}
		signed(t, n)
	}
	j.check(t, n)
	if s, why := n.State(); s != recorder.Open {
		t.Errorf("the log is %s: %s", s, why)
	}
}

func TestRowsGoIntoTheLogByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := running(t, p, knows(p))
		id := n.row(t, 1, "perm")
		time.Sleep(30 * time.Second)
		if _, _, err := n.ProveRow(context.Background(), id); !errors.Is(err, attestation.ErrNotFound) {
			t.Errorf("after 30 s: %v", err)
		}
		time.Sleep(40 * time.Second)
		proof, index, err := n.ProveRow(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		f, err := n.Fact(context.Background(), proof.Event)
		if err != nil || f.Index != index {
			t.Fatalf("fact of the audit.rows: %v at %d, want %d", err, f.Index, index)
		}
		var d attestation.AuditRows
		if err := f.Event.Body().Decode(&d); err != nil {
			t.Fatal(err)
		}
		if err := proof.Check(d.Root); err != nil {
			t.Error(err)
		}
	})
}

func TestAskedRowsComeAtMostOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := running(t, p, knows(p))
		begin := time.Now()
		for i := range 5 {
			n.row(t, i)
			flush(t, n)
		}
		if took := time.Since(begin); took < 4*time.Second {
			t.Errorf("five asked for within %s", took)
		}
	})
}

func TestDraftsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := running(t, p, knows(p))
		cases := []struct {
			name  string
			draft func() attestation.Draft
			want  error
		}{
			{"a type not known here", func() attestation.Draft { d := plain(1); d.Type = "weather.seen"; return d }, attestation.ErrUnknownType},
			{"a type of the sequencer", func() attestation.Draft {
				return attestation.Draft{Type: "audit.rows", Data: attestation.AuditRows{Root: envelope.IDOf(nil)}}
			}, attestation.ErrUnknownType},
			{"a body of 64 KiB and more", func() attestation.Draft {
				d := barrier(1)
				d.Body = []byte(`{"a":"` + strings.Repeat("x", 64<<10) + `"}`)
				return d
			}, attestation.ErrTooLarge},
			{"an event of 16 KiB and more", func() attestation.Draft {
				d := barrier(1)
				d.Data = attestation.LoanEnded{Cause: strings.Repeat("x", 17<<10), Target: d.Subject, TargetKind: "permission"}
				return d
			}, attestation.ErrTooLarge},
			{"another subject", func() attestation.Draft { d := plain(1); d.Subject = plain(2).Subject; return d }, nil},
			{"a body that is not canonical", func() attestation.Draft { d := barrier(1); d.Body = []byte(`{"a": 1}`); return d }, nil},
			{"a body where none belongs", func() attestation.Draft { d := plain(1); d.Body = []byte(`{}`); return d }, nil},
		}
		for _, c := range cases {
			err := n.state.Update(context.Background(), func(tx store.Tx) error {
				_, err := n.Event(tx, c.draft())
				return err
			})
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", c.name, err, c.want)
			}
		}
		n.row(t, 1)
		flush(t, n)
		if got := len(n.entries(t, p.did)); got != 2 { // log.opened, audit.rows
			t.Errorf("%d entries after refused drafts", got)
		}
	})
}

func TestATransactionThatFailsLeavesNoHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := running(t, p, knows(p))
		no := errors.New("no")
		for i := range 5 {
			err := n.state.Update(context.Background(), func(tx store.Tx) error {
				if _, err := n.Event(tx, plain(i)); err != nil {
					return err
				}
				return no
			})
			if !errors.Is(err, no) {
				t.Fatal(err)
			}
			n.event(t, plain(100+i))
		}
		flush(t, n)
		if got := len(n.entries(t, p.did)); got != 6 {
			t.Errorf("%d entries, want log.opened and 5", got)
		}
	})
}

func TestPausedLogKeepsDraftsAndSignsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := running(t, p, knows(p))
		n.event(t, plain(0))
		flush(t, n)
		n.Pause("a test")
		j := newJournal()
		j.ids = append(j.ids, n.event(t, plain(1)), n.event(t, barrier(2)))
		time.Sleep(5 * time.Second)
		if got := len(n.entries(t, p.did)); got != 2 {
			t.Errorf("%d entries while recovering", got)
		}
		if err := n.Flush(context.Background()); !errors.Is(err, recorder.ErrRecovering) {
			t.Errorf("flush while recovering: %v", err)
		}
		if err := n.Resume(context.Background()); err != nil {
			t.Fatal(err)
		}
		flush(t, n)
		if got := len(n.entries(t, p.did)); got != 4 {
			t.Errorf("%d entries after it, want 4", got)
		}
	})
}

func TestWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := running(t, p, knows(p))
		id := n.event(t, plain(1))
		at, err := n.WaitLogged(context.Background(), id)
		if err != nil || at != 1 {
			t.Fatalf("logged at %d (%v)", at, err)
		}
		if _, err := n.Proof(context.Background(), id); err != nil {
			t.Errorf("logged, and no proof: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := n.WaitAppended(ctx, envelope.IDOf([]byte("never"))); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an event nobody drafted: %v", err)
		}
	})
}

func TestRotationInTheOwnLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		ring := knows(p)
		n := running(t, p, ring)
		n.event(t, plain(0))
		n.row(t, 0)
		next := seeded(0x19)
		old := p.keys[0]
		p.add(next)
		ring.learn(p)
		rotate(t, n, p, old, next, "scheduled", nil)
		n.event(t, plain(1))
		flush(t, n)
		var kids []string
		for _, en := range n.entries(t, p.did) {
			_, ev, _ := en.Envelope()
			kids = append(kids, string(ev.Type)+" "+map[string]string{old.kid(): "old", next.kid(): "new"}[ev.Kid])
		}
		want := "[log.opened old charter.signed old audit.rows old key.rotated new charter.signed new]"
		if fmt.Sprint(kids) != want {
			t.Errorf("got %v, want %s", kids, want)
		}
		if got := n.standings(t, p.did); strings.Join(got, " ") != "valid valid valid valid valid" {
			t.Errorf("standings %v", got)
		}
		h, err := n.Head(context.Background(), p.did)
		if err != nil || parseNote(t, h.Note).Verify(next.Public()) != nil {
			t.Errorf("the head that covers the rotation is not under the new key (%v)", err)
		}
	})
}

// rotate drafts key.rotated as the rotation does: new kid first.
func rotate(t *testing.T, n *node, p *party, old, next seedSigner, reason string, taint *uint64) envelope.ID {
	t.Helper()
	var id envelope.ID
	err := n.state.Update(context.Background(), func(tx store.Tx) error {
		if err := n.SetKey(tx, next.kid()); err != nil {
			return err
		}
		var err error
		id, err = n.Event(tx, attestation.Draft{Type: "key.rotated", Subject: p.did.String(), Data: attestation.KeyRotated{
			Added: []string{next.kid()}, Did: p.did, DidVersion: version(len(p.keys) - 1), Previous: version(len(p.keys) - 2),
			Reason: reason, Retired: []string{old.kid()}, TaintFrom: taint,
		}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}
