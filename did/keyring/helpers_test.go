package keyring_test

import (
	"context"
	"os"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/did/pins"
)

// seed signs with the Ed25519 key of 32 equal bytes. It is a number, so that keys can be constants.
type seed byte

func (s seed) signer() *envelopetest.Signer { return envelopetest.Repeat(byte(s)) }

func (s seed) Public() did.PublicKey { return s.signer().Public() }

func (s seed) Sign(ctx context.Context, p envelope.Preimage) (did.Signature, error) {
	return s.signer().Sign(ctx, p)
}

func (s seed) kid() string { return s.Public().Multikey() }

func (s seed) did() did.DID {
	d, err := didkey.FromKey(s.Public())
	if err != nil {
		panic(err)
	}
	return d
}

// The keys of the worked example of the specification.
const (
	u1, u2, u3 seed = 0x01, 0x02, 0x04
	rec        seed = 0x03
	i1, i2, i3 seed = 0x11, 0x13, 0x15
	w0, w      seed = 0x14, 0x21
	ag         seed = 0x31
)

var (
	day1 = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	day2 = time.Date(2026, 12, 15, 9, 0, 0, 0, time.UTC)
	seen = time.Date(2026, 12, 15, 9, 0, 4, 0, time.UTC)
)

// acme is the worked example's organization after its first entry.
func acme(t testing.TB) didwebvh.History {
	t.Helper()
	_, line, err := didwebvh.Create(t.Context(), didwebvh.CreateRequest{
		Domain: "acme.example", Update: u1, Next: u2.Public(), Recovery: rec.Public(), Issuer: i1.Public(), At: day1,
		Services: []didwebvh.Service{
			{Name: "lending", Type: "TrustnodeLending", Endpoint: "https://acme.example/api/v1/permissions"},
			{Name: "witness", Type: "TrustnodeWitness", Endpoint: "did:key:" + w0.kid()},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := didwebvh.Verify(line, nil, seen)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// rotated is h and one rotation, to another issuer key if issuer is not 0.
func rotated(t testing.TB, h didwebvh.History, update, next, issuer seed) didwebvh.History {
	t.Helper()
	r := didwebvh.RotateRequest{Update: update, Next: next.Public(), At: day2}
	if issuer != 0 {
		r.Issuer = issuer.Public()
	}
	line, err := didwebvh.Rotate(t.Context(), h, r)
	if err != nil {
		t.Fatal(err)
	}
	h, err = h.Extend(line, nil, seen)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// home is a ring and what it stands on.
type home struct {
	*keyring.Ring
	store keyring.Store
	pins  pins.Pins
}

func newHome(t testing.TB, store keyring.Store, p pins.Pins) home {
	t.Helper()
	return home{keyring.New(store, p, func() time.Time { return seen }), store, p}
}

func fresh(t testing.TB) home { return newHome(t, keyring.Memory(), pins.Memory()) }

func (h home) hold(t testing.TB, log didwebvh.History) {
	t.Helper()
	if _, err := h.Offer(t.Context(), log.DID(), log.Log(), log.Witness()); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
