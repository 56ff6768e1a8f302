package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"trustnode/attestation"
	"trustnode/attestation/audit"
	"trustnode/did/envelope"
	"trustnode/node/recorder"
)

// covers are the audit.rows of a log as the disk that made them knew them, by index.
type covers map[uint64]audit.Rows

// note reads the covers that a node knows now.
func (c covers) note(t *testing.T, n *node) {
	t.Helper()
	for i, en := range n.entries(t, n.p.did) {
		_, ev, err := en.Envelope()
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type != "audit.rows" {
			continue
		}
		b, err := n.Body(context.Background(), ev.Body)
		if errors.Is(err, attestation.ErrNotFound) {
			continue // only a disk that is lost had it
		}
		rows, bad := audit.ParseRows(b)
		if err := errors.Join(err, bad); err != nil {
			t.Fatal(err)
		}
		if was, ok := c[uint64(i)]; ok && was != rows {
			t.Errorf("index %d covers %v, and covered %v", i, rows, was)
		}
		c[uint64(i)] = rows
	}
}

// check verifies that every audit.rows is known and that no two cover one number.
func (c covers) check(t *testing.T, n *node) {
	t.Helper()
	var list []audit.Rows
	for i, en := range n.entries(t, n.p.did) {
		_, ev, _ := en.Envelope()
		rows, known := c[uint64(i)]
		if (ev.Type == "audit.rows") != known {
			t.Fatalf("index %d is %s, known %v", i, ev.Type, known)
		}
		if known {
			list = append(list, rows)
		}
	}
	for i := range list[1:] {
		if a, b := list[i], list[i+1]; b.First < a.First+a.Size {
			t.Errorf("rows %d on, %d of them, overlap with %d on, %d of them", b.First, b.Size, a.First, a.Size)
		}
	}
}

// TestCoversNeverOverlapAfterARestore (I-6): again and again the audit database is an older
// copy, the log comes back from a peer and its rows do not. Covers never overlap, what is
// lost is a log.gap, and every row written afterwards is bound and proven.
func TestCoversNeverOverlapAfterARestore(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { loseRows(t, rand.New(rand.NewPCG(seed, 3))) })
		})
	}
}

func loseRows(t *testing.T, rng *rand.Rand) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	ring := knows(acme, beta)
	n, peer := running(t, acme, ring), running(t, beta, ring)
	known, ctx, at := covers{}, context.Background(), 0
	work := func(steps int) (ids []envelope.ID) {
		for range steps {
			at++
			switch rng.IntN(4) {
			case 0:
				n.event(t, barrier(at))
			case 1:
				n.event(t, plain(at))
				time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond) // rows reach the disk, and wait there to be covered
			default:
				ids = append(ids, n.row(t, at))
			}
		}
		return ids
	}
	work(1 + rng.IntN(8))
	for range 3 {
		if rng.IntN(2) == 0 {
			flush(t, n)
		} else {
			time.Sleep(2 * time.Second)
		}
		old := copyDB(t, n.audit)
		work(4 + rng.IntN(10))
		flush(t, n)
		known.note(t, n)
		pull(t, n, peer)
		n.stop()
		n.audit = old
		n.start(t)
		n.run(t)
		synctest.Wait()
		takeBack(t, n, peer)
		flush(t, n)
		fresh := work(3 + rng.IntN(5))
		flush(t, n)
		known.note(t, n)
		for _, id := range fresh {
			p, index, err := n.ProveRow(ctx, id)
			if err != nil {
				t.Fatalf("a row written afterwards: %v", err)
			}
			var d attestation.AuditRows
			f, err := n.Fact(ctx, p.Event)
			if err := errors.Join(err, f.Event.Body().Decode(&d), p.Check(d.Root)); err != nil || f.Index != index {
				t.Errorf("a row written afterwards: %v", err)
			}
		}
		known.check(t, n)
		n.sound(t)
		n.stop()
		n.start(t) // what is lost is not found lost again
		n.run(t)
		flush(t, n)
		known.check(t, n)
	}
	for i := range n.entries(t, acme.did) {
		if v, err := n.events.Verdict(ctx, acme.did, uint64(i)); err != nil || !v.Counts() {
			t.Errorf("own event %d: %v %v", i, v, err)
		}
	}
}

// takeBack brings n's own log back from a peer, and has it go on.
func takeBack(t *testing.T, n, peer *node) {
	t.Helper()
	for {
		size := uint64(len(n.entries(t, n.p.did)))
		p, err := peer.Package(context.Background(), n.p.did, size, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Entries) == 0 {
			break
		}
		if res, err := n.Ingest(context.Background(), p); err != nil || res.Verdict != recorder.Accepted {
			t.Fatalf("own tail: %v (%v)", res, err)
		}
	}
	if s, _ := n.State(); s == recorder.Open {
		return // nothing was lost
	}
	if err := n.Resume(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestAnAuditRowsCoversSoMany: rows that come faster than any event are bound in time.
func TestAnAuditRowsCoversSoMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := newNode(t, p, knows(p))
		n.start(t)
		n.SetMaxCover(2000)
		for i := range 5000 {
			n.row(t, i)
		}
		n.run(t)
		time.Sleep(2 * time.Second)
		known := covers{}
		known.note(t, n)
		flush(t, n)
		known.note(t, n)
		known.check(t, n)
		var sizes []uint64
		for i := range n.entries(t, p.did) {
			if c, ok := known[uint64(i)]; ok {
				sizes = append(sizes, c.Size)
			}
		}
		if len(sizes) < 3 || slices.Max(sizes) > 2000 {
			t.Errorf("audit.rows of %v rows", sizes)
		}
	})
}

// TestAResumedLogThatLostNothingHasNoGap: recovering alone loses no rows.
func TestAResumedLogThatLostNothingHasNoGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParty("acme", 0x11)
		n := running(t, p, knows(p))
		for i := range 3 {
			n.row(t, i)
			flush(t, n)
		}
		n.row(t, 9)
		time.Sleep(2 * time.Second) // it waits to be covered
		n.Pause("asked to")
		if err := n.Resume(context.Background()); err != nil {
			t.Fatal(err)
		}
		flush(t, n)
		for i, en := range n.entries(t, p.did) {
			if _, ev, _ := en.Envelope(); ev.Type == "log.gap" {
				t.Errorf("a gap at %d", i)
			}
		}
		n.sound(t)
	})
}
