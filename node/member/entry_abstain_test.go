package member

import (
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/node/fault"
	"trustnode/node/store"
)

// nextLine is an entry that the holder of an organization's keys could ask to be witnessed.
func (o *org) nextLine() []byte {
	o.t.Helper()
	ctx := o.t.Context()
	next := must(nextUpdate(ctx, o.history(), stick{Store: o.update}))
	return must(didwebvh.Rotate(ctx, o.history(), didwebvh.RotateRequest{Update: next, Next: key(o.t, o.update).Public(), Issuer: key(o.t, o.keys).Public(), At: o.clock.Now()}))
}

// TestARecoveringNodeWitnessesNothing: it does not know yet whether its pins are those of
// now, and could sign a second entry of a number.
func TestARecoveringNodeWitnessesNothing(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := witnessedTrio(t, clock)
	ctx := t.Context()
	one, two := acme.nextLine(), acme.nextLine()
	old := oldPins(t, acme, vendor)
	must(vendor.WitnessEntry(ctx, acme.did, one))
	vendor.pins = old
	vendor.start()
	for _, line := range [][]byte{one, two} {
		proof, err := vendor.WitnessEntry(ctx, acme.did, line)
		refusedAs(t, err, fault.Refused, "recovering")
		if proof != nil {
			t.Error("it has signed")
		}
	}
	vendor.Member.mu.Lock()
	vendor.Member.recovery.elsewhere = true // a number of its own was used that is not here
	vendor.Member.mu.Unlock()
	_, err := vendor.WitnessByHand(ctx, acme.did, two)
	refusedAs(t, err, fault.Refused, "recovering")
	if _, _, ok := old.Highest(pins.KindWitness, acme.history().SCID()); ok {
		t.Error("a refused entry is pinned")
	}
	if vendor.Refused()["recovering"] != 3 {
		t.Errorf("refused: %v", vendor.Refused())
	}
	vendor.start() // nothing is known against it, and its operator's word does for a peer's
	must(vendor.WitnessByHand(ctx, acme.did, one))
}

// TestAnEndedOrganizationWitnessesNothing: its keys sign nothing any more.
func TestAnEndedOrganizationWitnessesNothing(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := witnessedTrio(t, clock)
	ctx := t.Context()
	clock.turn(time.Minute)
	if _, err := vendor.Deactivate(ctx, vendor.authority()); err != nil {
		t.Fatal(err)
	}
	_, err := vendor.WitnessEntry(ctx, acme.did, acme.nextLine())
	refusedAs(t, err, fault.Refused, "left")
}

// oldPins are vendor's from before it witnessed for acme.
func oldPins(t *testing.T, acme, vendor *org) pins.Pins {
	t.Helper()
	old := pins.Memory()
	for _, k := range []pins.Kind{pins.KindDID, pins.KindLog, pins.KindEntry, pins.KindCosign} {
		for _, d := range []string{acme.did.String(), vendor.did.String()} {
			if s, v, ok := vendor.pins.Highest(k, d); ok {
				if err := old.Put(t.Context(), s, v); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return old
}

// TestACopyAbstainsOnce: vendor witnesses an entry that acme does not publish, and is then
// replaced by a copy from before. What arbiter holds of vendor gives that away. The copy
// leaves that one number to others or to its operator, whatever restarts come between, and
// witnesses the next.
func TestACopyAbstainsOnce(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := witnessedTrio(t, clock)
	ctx := t.Context()
	one, two := acme.nextLine(), acme.nextLine()
	old := oldPins(t, acme, vendor)
	must(vendor.WitnessEntry(ctx, acme.did, one))
	last := vendor.beacon() // numbered after the copy was made
	vendor.pins = old
	if err := vendor.state.Update(ctx, func(tx store.Tx) error { return tx.Delete([]byte(beaconKey(vendor.did))) }); err != nil {
		t.Fatal(err)
	}
	vendor.start()
	confirm := func(d did.DID, n uint64) {
		if err := vendor.Shown(ctx, d, federation.AboutYou{BeaconN: n}); err != nil {
			t.Fatal(err)
		}
	}
	n := must(envelope.Decode[federation.Beacon](last)).N
	confirm(arbiter.did, n)
	vendor.start() // killed while recovering
	vendor.take(last)
	confirm(acme.did, n)
	confirm(arbiter.did, n)
	if s, _, _ := vendor.State(clock.Now()); s == federation.Recovering {
		t.Fatal("vendor is still recovering")
	}
	for range 2 {
		proof, err := vendor.WitnessEntry(ctx, acme.did, two)
		refusedAs(t, err, fault.Refused, "restored")
		if proof != nil {
			t.Error("it has signed")
		}
		vendor.start()
		confirm(acme.did, n)
		confirm(arbiter.did, n)
	}
	acme.reach[vendor.did] = nil // arbiter signs it
	clock.turn(10 * time.Minute) // past all that could be dated into the time nobody knows
	must(acme.Rotate(ctx, RotateInput{Authority: acme.authority(), Reason: "scheduled"}))
	acme.didTo(vendor)
	must(vendor.WitnessEntry(ctx, acme.did, acme.nextLine()))
	t.Run("by hand", func(t *testing.T) {
		acme, vendor, _ := witnessedTrio(t, clock)
		if err := vendor.noteAged(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := vendor.abstain(t.Context()); err != nil {
			t.Fatal(err)
		}
		line := acme.nextLine()
		_, err := vendor.WitnessEntry(t.Context(), acme.did, line)
		refusedAs(t, err, fault.Refused, "restored")
		must(vendor.WitnessByHand(t.Context(), acme.did, line))
	})
}
