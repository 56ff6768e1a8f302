package credential_test

import (
	"context"
	"crypto/sha256"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/credential"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/integrity"
	"trustnode/scripts/benchtest"
)

// BenchmarkFigureVerify is the credential of an agent beside one verification of its signature, with the issuer's
// document at hand: what is above the floor is reading it, two RFC 8785 forms and three hashes.
func BenchmarkFigureVerify(b *testing.B) {
	org := acme(b)
	raw := exported(b, org)
	resolution, err := fromLog(org, now).Resolve(b.Context(), org.DID())
	if err != nil {
		b.Fatal(err)
	}
	o := credential.Options{At: now, Resolve: held(resolution)}
	v := parsed(b, string(raw))
	inner, _ := v.Get("proof")
	proof, err := integrity.Parse(inner)
	if err != nil {
		b.Fatal(err)
	}
	signed, err := proof.Signed(v)
	if err != nil {
		b.Fatal(err)
	}
	document, key := sha256.Sum256(signed), envelopetest.Repeat(i1).Public()
	verify := func() error {
		_, err := credential.Verify(b.Context(), raw, o)
		return err
	}
	got, floor := benchtest.Turns(b, 3000, 1, verify, func() error { return proof.Verify(key, document) })
	benchtest.Latency(b, "credential: verify an agent's", got, floor, "Ed25519 verify", benchtest.Target{})
}

func BenchmarkVerify(b *testing.B) {
	org := acme(b)
	raw := exported(b, org)
	resolution, err := fromLog(org, now).Resolve(b.Context(), org.DID())
	if err != nil {
		b.Fatal(err)
	}
	o := credential.Options{At: now, Resolve: held(resolution)}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := credential.Verify(b.Context(), raw, o); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExport(b *testing.B) {
	v, signer := billing(b, acme(b)), envelopetest.Repeat(i1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := credential.Export(b.Context(), v, signer); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWorst is what a stranger may make this cost: 64 KiB of contexts, all of which are compared.
func BenchmarkWorst(b *testing.B) {
	raw := []byte(worst(b))
	o := credential.Options{At: now, Resolve: held(did.Resolution{})}
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := credential.Verify(b.Context(), raw, o); err == nil {
			b.Fatal("accepted")
		}
	}
}

// held answers one resolution, as a node does for a DID that it has at hand.
func held(r did.Resolution) credential.ResolveFunc {
	return func(context.Context, did.DID) (did.Resolution, error) { return r, nil }
}

// worst is a credential of nearly 64 KiB that is refused at the last step before the issuer's key.
func worst(t testing.TB) string {
	long := swap(t, contexts, "]", strings.Repeat(`,{"a":1.5}`, 2900)+"]")
	return string(secure(t, doc(t, contexts, long), opt(t, contexts, long), key1))
}
