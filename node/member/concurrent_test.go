package member

import (
	"fmt"
	"sync"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/node/recorder"
)

// TestManyCallers: agents, beacons, projections and states asked for at once leave one
// row per agent and one beacon per number.
func TestManyCallers(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	var all sync.WaitGroup
	numbers := make(chan uint64, 40)
	for i := range 8 {
		all.Go(func() {
			if _, err := acme.AddAgent(ctx, AgentInput{Name: fmt.Sprintf("agent-%d", i), Can: []string{"lend"}}); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if _, err := acme.AddAgent(ctx, AgentInput{Name: "one", Can: []string{"lend"}}); err == nil {
				numbers <- 0
			}
		})
		all.Go(func() {
			e, err := acme.MakeBeacon(ctx)
			b, bad := envelope.Decode[federation.Beacon](e)
			if err != nil || bad != nil {
				t.Error(err, bad)
			}
			numbers <- b.N
		})
		all.Go(func() {
			if err := acme.Project(ctx); err != nil {
				t.Error(err)
			}
			if err := acme.Renew(ctx, clock.Now()); err != nil {
				t.Error(err)
			}
			acme.State(clock.Now())
			acme.Member.Peers(clock.Now())
			if err := acme.Confirmed(ctx, vendor.did); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	close(numbers)
	times := map[uint64]int{}
	for n := range numbers {
		times[n]++
	}
	for n, c := range times { // 0 stands for the one agent of that name
		if c != 1 {
			t.Errorf("number %d came %d times", n, c)
		}
	}
	if len(times) != 9 {
		t.Errorf("%d different numbers, want 8 beacons and one agent", len(times))
	}
	acme.project()
	list, err := acme.Agents(ctx)
	if err != nil || len(list) != 9 {
		t.Fatalf("%d agents, %v", len(list), err)
	}
	for _, a := range list {
		if a.Index == 0 {
			t.Errorf("%s has no index", a.Name)
		}
	}
}

// TestAPauseEndsWithItsCause: peers show numbers above ours and confirm ours in any order.
// When all have confirmed, the own log goes on: a pause never outlives what it was for.
func TestAPauseEndsWithItsCause(t *testing.T) {
	acme, vendor, arbiter := federated(t, newDial())
	ctx := t.Context()
	say := func(from did.DID, a federation.AboutYou) {
		if err := acme.Shown(ctx, from, a); err != nil {
			t.Error(err)
		}
	}
	for i := range 400 {
		var all sync.WaitGroup
		for _, d := range []did.DID{vendor.did, arbiter.did} {
			all.Go(func() { say(d, federation.AboutYou{LogSize: 1 << 20}); say(d, federation.AboutYou{}) })
			all.Go(func() { say(d, federation.AboutYou{}) })
		}
		all.Wait()
		for range 2 {
			say(vendor.did, federation.AboutYou{})
			say(arbiter.did, federation.AboutYou{})
		}
		if s, why := acme.node.Rec.State(); s != recorder.Open {
			t.Fatalf("round %d: the own log is %s: %s", i, s, why)
		}
	}
}
