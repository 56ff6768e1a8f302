package member

import (
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/keyring"
	"trustnode/federation"
)

func confirmedAs(t *testing.T, o *org, d did.DID, by keyring.Confirmation, at time.Time) {
	t.Helper()
	gotBy, gotAt := o.node.Ring.Confirmed(d)
	if gotBy != by || !gotAt.Equal(at) {
		t.Errorf("%s has %s confirmed by %q at %s, want %q at %s", o.name, d, gotBy, gotAt, by, at)
	}
}

// Each beacon says of every member which head its sender holds.
func TestBeaconsConfirmHeads(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	for _, o := range []*org{vendor, arbiter} {
		confirmedAs(t, acme, o.did, keyring.ByImport, t0) // the charter file brought their logs
	}
	clock.turn(time.Minute)
	// What was there before a start is forgotten: nobody has said so since.
	acme.start()
	confirmedAs(t, acme, vendor.did, "", time.Time{})
	vendor.take(arbiter.beacon())
	acme.take(arbiter.beacon())
	confirmedAs(t, acme, vendor.did, keyring.ByBeacon, clock.Now())
	confirmedAs(t, acme, arbiter.did, keyring.ByOwn, clock.Now())
	confirmedAs(t, acme, acme.did, keyring.ByBeacon, clock.Now())
	clock.turn(time.Minute)
	acme.take(vendor.beacon())
	confirmedAs(t, acme, vendor.did, keyring.ByOwn, clock.Now())
}

// A beacon that names another head than the one held confirms nothing.
func TestABeaconThatLagsConfirmsNothing(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	for _, o := range []*org{vendor, arbiter} {
		acme.take(o.beacon())
	}
	acme.take(vendor.beacon())
	arbiter.take(vendor.beacon())
	clock.turn(time.Minute)
	arbiter.rotate(RotateInput{})
	arbiter.didTo(acme)
	confirmedAs(t, acme, arbiter.did, "", time.Time{}) // the head moved
	acme.take(vendor.beacon())                         // which still names the one before
	confirmedAs(t, acme, arbiter.did, "", time.Time{})
	arbiter.didTo(vendor)
	clock.turn(time.Minute)
	acme.take(vendor.beacon())
	confirmedAs(t, acme, arbiter.did, keyring.ByBeacon, clock.Now())
}

// Whose node is greeted on a bound link says itself where its DID stands.
func TestAHelloConfirmsItsOwnHead(t *testing.T) {
	clock := newDial()
	acme, vendor, _ := federated(t, clock)
	acme.start()
	v, err := vendor.node.Ring.Head(t.Context(), vendor.did)
	if err != nil {
		t.Fatal(err)
	}
	clock.turn(time.Minute)
	for _, h := range []federation.Hello{{Org: vendor.did}, {Org: vendor.did, DIDHead: "2-QmOther"}} {
		acme.Seams().Greeter.Shown(t.Context(), vendor.did, h)
		confirmedAs(t, acme, vendor.did, "", time.Time{})
	}
	acme.Seams().Greeter.Shown(t.Context(), vendor.did, federation.Hello{Org: vendor.did, DIDHead: v.ID})
	confirmedAs(t, acme, vendor.did, keyring.ByOwn, clock.Now())
}
