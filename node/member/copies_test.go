package member

import (
	"testing"
	"time"

	"trustnode/attestation"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/node/store"
)

// confirmedBy has peers confirm all that an organization holds of itself.
func (o *org) confirmedBy(peers ...*org) {
	o.t.Helper()
	for range 2 {
		for _, p := range peers {
			if err := o.Shown(o.t.Context(), p.did, federation.AboutYou{}); err != nil {
				o.t.Fatal(err)
			}
		}
	}
}

// TestARotationInDoubtWasTold: a rotation that a later compromise puts in doubt is no rotation
// that nobody was told of. After a restart the node signs under its newest key alone.
func TestARotationInDoubtWasTold(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	zero := uint64(0)
	for _, in := range []RotateInput{{}, {Reason: "compromise", TaintFrom: &zero}} {
		clock.turn(time.Minute)
		acme.rotate(in)
	}
	acme.start()
	acme.confirmedBy(vendor, arbiter)
	acme.didTo(vendor)
	acme.didTo(arbiter)
	hear(acme, vendor, arbiter)
	acme.agent("late", "lend")
	acme.project()
	page, err := acme.events.Query(t.Context(), attestation.Query{Org: acme.did, Limit: attestation.MaxPage, Any: true})
	if err != nil {
		t.Fatal(err)
	}
	newest, rotations := acme.roles().Issuer.Multikey(), 0
	var last attestation.Event
	for _, f := range page.Found {
		if _, last, err = f.Entry.Envelope(); err != nil {
			t.Fatal(err)
		}
		if last.Type == "key.rotated" {
			rotations++
		}
	}
	if rotations != 2 || last.Kid != newest || last.Type != "agent.issued" {
		t.Errorf("%d rotations, the last event is %s under %s, the newest key is %s", rotations, last.Type, last.Kid, newest)
	}
}

// TestAWordAgesNobody: a member that says once, and unsigned, that it holds numbers far above
// ours makes no node abstain.
func TestAWordAgesNobody(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := witnessedTrio(t, clock)
	if err := vendor.Shown(t.Context(), arbiter.did, federation.AboutYou{LogSize: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	vendor.confirmedBy(arbiter, acme)
	must(vendor.WitnessEntry(t.Context(), acme.did, acme.nextLine()))
}

// TestACopyLearnsWhatItSignedOfACharter: a copy of the directory from before its organization
// signed a charter learns that from its own beacon, and leaves recovering.
func TestACopyLearnsWhatItSignedOfACharter(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	hear(acme, vendor, arbiter)
	ctx := t.Context()
	chain, _ := vendor.Charter()
	old := pins.Memory()
	for _, k := range []pins.Kind{pins.KindDID, pins.KindLog, pins.KindBeacon, pins.KindHead, pins.KindSlot} {
		for _, key := range []string{acme.did.String(), vendor.did.String(), arbiter.did.String(), chain.Federation().String()} {
			if s, v, ok := vendor.pins.Highest(k, key); ok {
				if err := old.Put(ctx, s, v); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	clock.turn(time.Minute)
	vendor.sign(amend(t, vendor, "a"))
	if err := vendor.node.Rec.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	last := vendor.beacon()
	for _, o := range []*org{acme, arbiter} {
		o.take(last)
	}
	vendor.pins = old
	if err := vendor.state.Update(ctx, func(tx store.Tx) error { return tx.Delete([]byte(beaconKey(vendor.did))) }); err != nil {
		t.Fatal(err)
	}
	vendor.start()
	for i := range 2 {
		for _, o := range []*org{acme, arbiter} {
			if err := vendor.Shown(ctx, o.did, o.About(vendor.did)); err != nil {
				t.Fatal(err)
			}
			if i == 0 && o == acme {
				vendor.take(last)
			}
			if err := vendor.Synced(ctx, o.did); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := vendor.stateNow(); s == federation.Recovering {
		t.Errorf("vendor is %s: %s", s, vendor.above(acme.About(vendor.did)))
	}
}
