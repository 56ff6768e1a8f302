package member

import (
	"testing"
	"time"

	"trustnode/did/didwebvh"
	"trustnode/did/pins"
	"trustnode/node/fault"
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
	old := pins.Memory() // a copy from before it witnessed
	for _, k := range []pins.Kind{pins.KindDID, pins.KindLog, pins.KindEntry, pins.KindCosign} {
		for _, d := range []string{acme.did.String(), vendor.did.String()} {
			if s, v, ok := vendor.pins.Highest(k, d); ok {
				if err := old.Put(ctx, s, v); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
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
