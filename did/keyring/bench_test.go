package keyring_test

import (
	"context"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/scripts/benchtest"
)

// errand is an object that an agent signs: its issuer is the agent's DID.
type errand struct {
	Agent did.DID `json:"agent"`
	Kid   string  `json:"kid"`
	Text  string  `json:"text"`
}

func (errand) Payload() envelope.Type      { return envelope.TypeOf("errand") }
func (e errand) Signer() (did.DID, string) { return e.Agent, e.Kid }
func (errand) MaxBytes() int               { return 4096 }
func (errand) Check() error                { return nil }

// chain is a 1 KiB errand, its agent object, and the ring that knows the agent's organization.
type chain struct {
	home
	errand, agent envelope.Envelope
}

func newChain(b *testing.B) chain {
	b.Helper()
	r := fresh(b)
	r.hold(b, acme(b))
	body := errand{Agent: ag.did(), Kid: ag.kid(), Text: strings.Repeat("x", 889)}
	e, err := envelope.Seal(b.Context(), body, ag)
	if err != nil {
		b.Fatal(err)
	}
	if n := len(e.Body); n < 1020 || n > 1028 {
		b.Fatalf("body has %d bytes", n)
	}
	return chain{r, e, sealed(b, billing(b))}
}

// warm is a source that has opened the agent object before: it asks whether the object is live and its signer still at
// the head.
func (c chain) warm(opened envelope.Verified[keyring.Agent]) envelope.KeySource {
	head := c.HeadSource()
	return envelope.KeySourceFunc(func(ctx context.Context, signer did.DID, kid string) (did.Key, error) {
		a := opened.Body()
		if signer != a.Agent || kid != a.Key.Kid {
			return did.Key{}, envelope.ErrUnknownKey
		}
		if err := a.LiveError(day1); err != nil {
			return did.Key{}, err
		}
		if _, err := head.Key(ctx, a.Org, a.Kid); err != nil {
			return did.Key{}, err
		}
		return did.Key{Public: a.Key.Pub, Version: did.StaticVersion}, nil
	})
}

func (c chain) open(ctx context.Context) error {
	a, err := keyring.OpenAgent(ctx, c.agent, c.HeadSource())
	if err != nil {
		return err
	}
	_, err = envelope.Open[errand](ctx, c.errand, c.warm(a))
	return err
}

// BenchmarkFigureCachedVerify opens a 1 KiB object that an agent signed, offline, with its agent object opened before.
func BenchmarkFigureCachedVerify(b *testing.B) {
	c := newChain(b)
	a, err := keyring.OpenAgent(b.Context(), c.agent, c.HeadSource())
	if err != nil {
		b.Fatal(err)
	}
	src, msg, sig := c.warm(a), c.errand.Preimage().Bytes(), c.errand.Signatures[0].Sig
	open := func() error {
		_, err := envelope.Open[errand](b.Context(), c.errand, src)
		return err
	}
	got, floor := benchtest.Turns(b, 5000, 1, open, func() error { return ag.Public().Verify(msg, sig) })
	benchtest.Latency(b, "keyring: verify an agent's 1 KiB, chain warm", got, floor, "Ed25519 verify", benchtest.Target{Ratio: 1.3})
}

// BenchmarkFigureCachedVerifyAllocations is what that allocates.
func BenchmarkFigureCachedVerifyAllocations(b *testing.B) {
	c := newChain(b)
	a, err := keyring.OpenAgent(b.Context(), c.agent, c.HeadSource())
	if err != nil {
		b.Fatal(err)
	}
	src := c.warm(a)
	n := testing.AllocsPerRun(100, func() {
		if _, err := envelope.Open[errand](b.Context(), c.errand, src); err != nil {
			b.Fatal(err)
		}
	})
	benchtest.Count(b, "keyring: verify an agent's 1 KiB, allocations", n, 25)
}

// BenchmarkFigureColdVerify opens the agent object too, which has two signatures of its own.
func BenchmarkFigureColdVerify(b *testing.B) {
	c := newChain(b)
	msg, sig := c.errand.Preimage().Bytes(), c.errand.Signatures[0].Sig
	key := ag.Public()
	floor := func() error {
		for range 3 {
			if err := key.Verify(msg, sig); err != nil {
				return err
			}
		}
		return nil
	}
	got, bare := benchtest.Turns(b, 2000, 1, func() error { return c.open(b.Context()) }, floor)
	benchtest.Latency(b, "keyring: verify an agent's 1 KiB, chain cold", got, bare, "three Ed25519 verifies", benchtest.Target{Ratio: 1.6})
}
