package federation_test

import (
	"bytes"
	"testing"

	"trustnode/did/envelope"
	. "trustnode/federation"
)

// fuzzBody reads bodies: none may panic, and what is read is written as it was.
func fuzzBody[T envelope.Body](f *testing.F, typ envelope.Type, seed string) {
	f.Add([]byte(seed))
	f.Fuzz(func(t *testing.T, in []byte) {
		b, err := envelope.Decode[T](envelope.Envelope{Type: typ, Body: in})
		if err != nil {
			return
		}
		if out, err := envelope.Marshal(b); err != nil || !bytes.Equal(out, in) {
			t.Fatalf("%q is written again as %q, %v", in, out, err)
		}
	})
}

func FuzzBinding(f *testing.F) { fuzzBody[Binding](f, BindingType, golden(f)["binding.body"]) }

func FuzzBeacon(f *testing.F) { fuzzBody[Beacon](f, BeaconType, golden(f)["beacon.body"]) }

func FuzzPeerID(f *testing.F) {
	f.Add("12D3KooWJWoaqZhDaoEFshF7Rh1bpY9ohihFhzcW6d69Lr2NASuq")
	f.Fuzz(func(t *testing.T, in string) {
		id, err := ParsePeerID(in)
		if err != nil {
			return
		}
		k, err := id.Key()
		if back, _ := PeerIDOf(k); err != nil || id.String() != in || back != id {
			t.Fatalf("%q names %v, %v", in, back, err)
		}
	})
}
