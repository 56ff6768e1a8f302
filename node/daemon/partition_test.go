package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/store"
)

// five are five forts under one charter, each linked with each by the fabric.
type five struct {
	t      *testing.T
	net    *fabric
	forts  []*fort
	mu     sync.Mutex
	wrote  map[did.DID][]envelope.ID // guarded by mu; ids drafted, in order
	number int                       // guarded by mu
}

func newFive(t *testing.T) *five {
	t.Helper()
	f := &five{t: t, net: newFabric(t), forts: federated(t, "acme", "beta", "core", "dock", "east"), wrote: map[did.DID][]envelope.ID{}}
	for _, h := range f.forts {
		h.members = f.net.via(h.cfg.Name)
		h.start()
	}
	for _, h := range f.forts {
		h.waitFresh()
	}
	return f
}

// drafted is one event without effect, drafted by a fort as its use cases draft.
func (h *fort) drafted(i int) (id envelope.ID, err error) {
	ref := envelope.IDOf(fmt.Append(nil, h.cfg.Name, i))
	err = h.node.self.DB.Update(context.Background(), func(tx store.Tx) error {
		id, err = h.node.self.Rec.Event(tx, attestation.Draft{Type: "charter.signed", Subject: ref.String(), Refs: []envelope.ID{ref},
			Data: attestation.CharterSigned{Body: ref, Seq: 1 << 20}})
		return err
	})
	return id, err
}

// say drafts an event at a fort and notes it.
func (f *five) say(h *fort) {
	f.mu.Lock()
	f.number++
	i := f.number
	f.mu.Unlock()
	id, err := h.drafted(i)
	if err != nil {
		f.t.Errorf("%s drafts: %v", h.cfg.Name, err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wrote[h.cfg.Org] = append(f.wrote[h.cfg.Org], id)
}

// traffic lets the given forts write so many events a second together until the end.
func (f *five) traffic(rate int, who ...*fort) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, h := range who {
		wg.Go(func() {
			tick := time.NewTicker(time.Duration(len(who)) * time.Second / time.Duration(rate))
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					f.say(h)
				}
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// alike reports whether the logs have the same heads everywhere, and cover all that was
// written.
func (f *five) alike() bool {
	for _, log := range f.forts {
		want := held(f.t, log, log.cfg.Org)
		f.mu.Lock()
		written := len(f.wrote[log.cfg.Org])
		f.mu.Unlock()
		if int(want.Size) < written {
			return false
		}
		for _, h := range f.forts {
			if held(f.t, h, log.cfg.Org) != want {
				return false
			}
		}
	}
	return true
}

// held is size and root of a log as a fort holds it.
func held(t *testing.T, h *fort, d did.DID) attestation.Head {
	l, err := h.node.events.Log(context.Background(), d)
	if errors.Is(err, attestation.ErrNotFound) {
		return attestation.Head{}
	}
	if err != nil {
		t.Error(err)
		return attestation.Head{}
	}
	head, _ := l.Head()
	return head
}

// converge waits until all logs are alike, and says how long that took.
func (f *five) converge(what string) {
	f.t.Helper()
	begin := time.Now()
	for !f.alike() {
		if time.Since(begin) > time.Minute {
			for _, log := range f.forts {
				for _, h := range f.forts {
					f.t.Logf("%s holds %d of %s", h.cfg.Name, held(f.t, h, log.cfg.Org).Size, log.cfg.Name)
				}
			}
			f.t.Fatalf("%s: the logs differ after a minute", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	f.t.Logf("%s: equal logs %d ms after it", what, time.Since(begin).Milliseconds())
}

// check compares the entries of all logs byte by byte, and that each event written stands
// in its log once and in order, everywhere authored and valid.
func (f *five) check() {
	f.t.Helper()
	ctx := context.Background()
	for _, log := range f.forts {
		d := log.cfg.Org
		want := entriesAt(f.t, log, d)
		for _, h := range f.forts {
			got := entriesAt(f.t, h, d)
			if !slices.EqualFunc(got, want, func(a, b attestation.Entry) bool { return bytes.Equal(a, b) }) {
				f.t.Errorf("the log of %s at %s is another: %d entries, %d at its own node", log.cfg.Name, h.cfg.Name, len(got), len(want))
			}
			eventually(f.t, "every event of "+log.cfg.Name+" authored and valid at "+h.cfg.Name, func() bool {
				for i := range got {
					v, err := h.node.events.Verdict(ctx, d, uint64(i))
					if err != nil || v.Level != attestation.Authored || v.Standing != attestation.Valid {
						return false
					}
				}
				return true
			})
		}
		at := 0
		for _, id := range f.wrote[d] {
			k := slices.IndexFunc(want[at:], func(e attestation.Entry) bool { return e.ID() == id })
			if k < 0 {
				f.t.Fatalf("%s: event %s is lost, or out of order", log.cfg.Name, id)
			}
			at += k + 1
		}
		f.t.Logf("%s: %d events written, %d in the log, equal at all five", log.cfg.Name, len(f.wrote[d]), len(want))
	}
}

func entriesAt(t *testing.T, h *fort, d did.DID) (out []attestation.Entry) {
	t.Helper()
	l, err := h.node.events.Log(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	head, _ := l.Head()
	err = l.Entries(context.Background(), 0, head.Size, func(_ uint64, e attestation.Entry) error {
		out = append(out, bytes.Clone(e))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// apart cuts one fort from all others.
func (f *five) apart(h *fort, how cut) {
	for _, o := range f.forts {
		if o != h {
			f.net.between(h, o, how)
		}
	}
}

// TestPartitionsHealAlone is acceptance 3 and C-1: five nodes over libp2p, cut while all
// write, one node started again; once the cut is healed all logs are the same, nothing is
// lost, and nobody did anything. TRUSTNODE_LONG: every pair cut once, and one node cut from
// all others for 3, 10 and 30 s, by connections that end and by ones that only stall.
func TestPartitionsHealAlone(t *testing.T) {
	f := newFive(t)
	lone := f.forts[2]
	end := f.traffic(200, f.forts...)
	isolate := func(how cut, name string, d time.Duration) {
		f.apart(lone, how)
		time.Sleep(d)
		end()
		f.apart(lone, healed)
		f.converge(fmt.Sprintf("one node cut for %s, %s", d, name))
		end = f.traffic(200, f.forts...)
	}
	isolate(reset, "connections ended", 3*time.Second)
	end()
	f.forts[4].stop()
	end = f.traffic(200, f.forts[:4]...)
	time.Sleep(time.Second)
	f.forts[4].start()
	end()
	f.converge("one node started again")
	if os.Getenv("TRUSTNODE_LONG") != "" {
		end = f.traffic(200, f.forts...)
		for i, a := range f.forts {
			for _, b := range f.forts[:i] {
				f.net.between(a, b, reset)
				time.Sleep(3 * time.Second)
				f.net.between(a, b, healed)
			}
		}
		for _, d := range []time.Duration{3, 10, 30} {
			isolate(reset, "connections ended", d*time.Second)
			isolate(stall, "connections stalled", d*time.Second)
		}
		end()
		f.converge("the end of traffic")
	}
	f.check()
}
