package didwebvh_test

import (
	"errors"
	"testing"

	"trustnode/did"
	"trustnode/did/didwebvh"
)

// TestWhatIsUnverified: a log that is refused can be told from a DID that is malformed and from a log that is absent.
func TestWhatIsUnverified(t *testing.T) {
	good := find(t, "basic-create/ts")
	other := find(t, "basic-create/java")
	h, err := didwebvh.Verify(good.log, nil, present)
	if err != nil {
		t.Fatal(err)
	}
	broken := append([]byte(nil), good.log...)
	broken[len(broken)/2] ^= 1
	cases := []struct {
		name string
		d    did.DID
		log  []byte
		want bool
	}{
		{"a log with one bit turned", h.DID(), broken, true},
		{"a log that is no JSON", h.DID(), []byte("x\n"), true},
		{"the log of another DID", h.DID(), other.log, true},
		{"no log", h.DID(), nil, false},
		{"an identifier that is none", did.MustParse("did:webvh:Qm:acme.example"), good.log, false},
	}
	for _, c := range cases {
		_, err := didwebvh.Resolver{}.Resolve(t.Context(), c.d, did.Material{Log: c.log}, did.Options{Now: present})
		if err == nil || errors.Is(err, did.ErrUnverified) != c.want {
			t.Errorf("%s: %v, unverified %v", c.name, err, !c.want)
		}
	}
}
