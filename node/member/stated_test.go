package member

import (
	"testing"
	"time"
)

// TestHowOldIsWhatWasSaidOfALog: the origin's own word counts alone, that of others once a
// quorum has given it, and what came before a restart no longer.
func TestHowOldIsWhatWasSaidOfALog(t *testing.T) {
	clock := newDial()
	acme, vendor, arbiter := federated(t, clock)
	want := func(what string, age time.Duration, known bool) {
		t.Helper()
		if got, ok := acme.Stated(vendor.did); ok != known || known && got != age {
			t.Errorf("%s: %v, %v; want %v, %v", what, got, ok, age, known)
		}
	}
	want("nobody was heard", 0, false)
	acme.take(arbiter.beacon()) // the quorum of three is one other
	clock.turn(40 * time.Second)
	want("another member said it", 40*time.Second, true)
	acme.take(vendor.beacon())
	clock.turn(5 * time.Second)
	want("the origin said it", 5*time.Second, true)
	if silent, ok := acme.Silent(arbiter.did); !ok || silent != 45*time.Second {
		t.Errorf("silent for %v, %v", silent, ok)
	}
	if age, ok := acme.Stated(acme.did); !ok || age != 0 {
		t.Errorf("own log: %v, %v", age, ok)
	}
	acme.start()
	want("after a restart", 0, false)
	if _, ok := acme.Silent(arbiter.did); ok {
		t.Error("heard before the restart counts as heard")
	}
}
