package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/node/httpapi"
	"trustnode/node/store"
)

// flood makes n messages of a member that does not run, none of which is another: true
// packages of its log going on one by one, heads of sizes nobody has, and garbage.
func (h *fort) flood(t *testing.T, fed envelope.ID, n int) (out [][]byte) {
	t.Helper()
	h.offline(func(_ *httpapi.Client, node *Node) {
		ctx := t.Context()
		key, kid, err := node.sign.Issuer(ctx)
		if err != nil {
			t.Fatal(err)
		}
		edge := node.events.Edge(h.cfg.Org)
		for i := range n {
			p := attestation.Package{Did: h.cfg.Org, Federation: fed, From: edge.End()}
			if i%3 == 0 {
				ref := envelope.IDOf(fmt.Append(nil, "flood", i))
				en := h.signed(attestation.Event{Type: "charter.signed", Subject: ref.String(), Refs: []envelope.ID{ref},
					Data: canon(t, attestation.CharterSigned{Body: ref, Seq: 1 << 20})}, key, kid)
				p.Entries = append(p.Entries, en)
				if err := edge.Append(en.Hash()); err != nil {
					t.Fatal(err)
				}
			}
			root, err := edge.Root()
			if err != nil {
				t.Fatal(err)
			}
			head := attestation.Head{Size: edge.End(), Root: root}
			if i%3 == 1 {
				head.Size += uint64(1000 + i)
				p.From = head.Size
			}
			note, err := attlog.Sign(ctx, key, h.cfg.Org, head)
			if err != nil {
				t.Fatal(err)
			}
			p.Note = note.Bytes()
			b, err := p.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			if i%3 == 2 {
				b[rand.IntN(len(b))] ^= 0x20
			}
			out = append(out, b)
		}
	})
	return out
}

// pace lets a fort write and another take it, one event after the other, and returns how
// long each took from the draft to the other's log.
func pace(t *testing.T, from, to *fort, n int) (took []time.Duration) {
	t.Helper()
	for i := range n {
		begin := time.Now()
		id, err := from.drafted(int(begin.UnixNano()) + i)
		if err != nil {
			t.Fatal(err)
		}
		for {
			if l, err := to.node.events.Log(context.Background(), from.cfg.Org); err == nil {
				if _, err := l.Find(context.Background(), id); err == nil {
					break
				}
			}
			if time.Since(begin) > time.Minute {
				t.Fatalf("event %d of %s did not come to %s within a minute", i, from.cfg.Name, to.cfg.Name)
			}
			time.Sleep(200 * time.Microsecond)
		}
		took = append(took, time.Since(begin))
		time.Sleep(15 * time.Millisecond)
	}
	slices.Sort(took)
	return took
}

// TestAFloodOfAMemberHarmsNobody is C-19: a member sends 5,000 messages a second. What the
// others write comes through, what is over the limit of a signer is not taken and counted,
// and memory stays bounded. Figures are reported beside the same run without the flood.
func TestAFloodOfAMemberHarmsNobody(t *testing.T) {
	hs := federated(t, "acme", "vendor", "arbiter")
	acme, vendor, arbiter := hs[0], hs[1], hs[2]
	for _, h := range hs {
		h.start()
	}
	for _, h := range hs {
		h.waitFresh()
	}
	vendor.stop()
	rate, seconds := 5000, 3
	switch {
	case os.Getenv("TRUSTNODE_LONG") != "":
		seconds = 20
	case raceEnabled:
		seconds = 1
	}
	head, _ := acme.node.member.Seams().Members.Head()
	msgs := vendor.flood(t, head.Federation, rate*seconds)
	quiet := pace(t, acme, arbiter, 100)

	tr := rogue(t, vendor, arbiter)
	before, size := arbiter.node.gossip.Stats(), held(t, arbiter, vendor.cfg.Org).Size
	runtime.GC()
	var was, most runtime.MemStats
	runtime.ReadMemStats(&was)
	var wg sync.WaitGroup
	sent, begin := 0, time.Now()
	wg.Go(func() {
		for i, m := range msgs {
			if ahead := time.Duration(i)*time.Second/time.Duration(rate) - time.Since(begin); ahead > 0 {
				time.Sleep(ahead)
			}
			if err := tr.Publish(t.Context(), federation.TopicEvents, m); err != nil {
				t.Error(err)
				return
			}
			sent++
		}
	})
	flooded := pace(t, acme, arbiter, 25*seconds)
	wg.Wait()
	took := time.Since(begin)
	runtime.ReadMemStats(&most)
	after := arbiter.node.gossip.Stats()
	judged := after.Accepted + after.Ignored + after.Rejected - before.Accepted - before.Ignored - before.Rejected
	refused := after.Ignored + after.Rejected + after.Dropped - before.Ignored - before.Rejected - before.Dropped
	p := func(d []time.Duration, part int) time.Duration { return d[min(len(d)-1, len(d)*part/100)] }
	t.Logf("%d messages in %s (%d/s), %d judged, %d refused and counted; honest p50 %s, p99 %s; without the flood %s, %s; heap %d MiB, before %d MiB", sent,
		took.Round(time.Millisecond), int(float64(sent)/took.Seconds()), judged, refused, p(flooded, 50), p(flooded, 99), p(quiet, 50), p(quiet, 99), most.HeapAlloc>>20, was.HeapAlloc>>20)
	if taken, limit := int(held(t, arbiter, vendor.cfg.Org).Size-size), 50*(int(took.Seconds())+2); taken > limit {
		t.Errorf("%d messages of the member were taken in %s, the limit is 50 a second", taken, took)
	}
	if judged == 0 || refused < judged*3/4 {
		t.Errorf("%d messages were judged and %d refused: the rest of the flood is counted nowhere", judged, refused)
	}
	if most.HeapAlloc > was.HeapAlloc+256<<20 {
		t.Errorf("the heap grew from %d to %d MiB", was.HeapAlloc>>20, most.HeapAlloc>>20)
	}
	eventually(t, "all that acme wrote at the arbiter", func() bool {
		return held(t, arbiter, acme.cfg.Org) == held(t, acme, acme.cfg.Org)
	})
	a, b := entriesAt(t, acme, acme.cfg.Org), entriesAt(t, arbiter, acme.cfg.Org)
	if !slices.EqualFunc(a, b, func(x, y attestation.Entry) bool { return string(x) == string(y) }) {
		t.Error("the log of acme is another at the arbiter")
	}
}

// TestABurstArrives is C-2: a node writes events as fast as it can, 10,000 with
// TRUSTNODE_LONG, 2,000 else. Its messages stay
// within the limit of a signer, so that nobody refuses them; all events arrive, in order.
func TestABurstArrives(t *testing.T) {
	hs := federated(t, "acme", "vendor", "arbiter")
	for _, h := range hs {
		h.start()
	}
	for _, h := range hs {
		h.waitFresh()
	}
	acme, total := hs[0], 2_000
	if os.Getenv("TRUSTNODE_LONG") != "" {
		total = 10_000
	}
	begin := time.Now()
	var ids []envelope.ID
	for len(ids) < total {
		var some []envelope.ID
		err := acme.node.self.DB.Update(t.Context(), func(tx store.Tx) error {
			some = nil
			for i := range 100 {
				ref := envelope.IDOf(fmt.Append(nil, "burst", len(ids)+i))
				id, err := acme.node.self.Rec.Event(tx, attestation.Draft{Type: "charter.signed", Subject: ref.String(), Refs: []envelope.ID{ref},
					Data: attestation.CharterSigned{Body: ref, Seq: 1 << 20}})
				if err != nil {
					return err
				}
				some = append(some, id)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, some...)
	}
	drafted := time.Since(begin)
	want := func() bool {
		own := held(t, acme, acme.cfg.Org)
		return int(own.Size) > len(ids) && held(t, hs[1], acme.cfg.Org) == own && held(t, hs[2], acme.cfg.Org) == own
	}
	for !want() {
		if time.Since(begin) > 2*time.Minute {
			t.Fatalf("of %d events %d are at %s, %d at %s", len(ids), held(t, hs[1], acme.cfg.Org).Size, hs[1].cfg.Name, held(t, hs[2], acme.cfg.Org).Size, hs[2].cfg.Name)
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Logf("%d events drafted in %s, at all after %s", total, drafted.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
	for _, h := range hs {
		if !holds(t, h, acme.cfg.Org, ids) {
			t.Errorf("%s lacks events, or has them in another order", h.cfg.Name)
		}
		s := h.node.gossip.Stats()
		t.Logf("%s: %+v", h.cfg.Name, s)
		if s.Rejected+s.Blamed > 0 {
			t.Errorf("%s blames honest members: %+v", h.cfg.Name, s)
		}
	}
}
