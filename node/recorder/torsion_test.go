package recorder_test

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"filippo.io/edwards25519"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/node/recorder"
)

// torsion signs with a point of order 8 added to R: an equation multiplied by the cofactor,
// as batch verifiers use it, holds; the plain one of crypto/ed25519 does not.
func torsion(t *testing.T, s seedSigner, msg []byte) []byte {
	t.Helper()
	eighth, _ := hex.DecodeString("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
	low, err := new(edwards25519.Point).SetBytes(eighth)
	if err != nil {
		t.Fatal(err)
	}
	h := sha512.Sum512(s.key.Seed())
	a, err := new(edwards25519.Scalar).SetBytesWithClamping(h[:32])
	if err != nil {
		t.Fatal(err)
	}
	digest := func(parts ...[]byte) *edwards25519.Scalar {
		sum := sha512.Sum512(bytes.Join(parts, nil))
		x, err := new(edwards25519.Scalar).SetUniformBytes(sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	r := digest(h[32:], msg)
	point := new(edwards25519.Point).ScalarBaseMult(r)
	point.Add(point, low)
	k := digest(point.Bytes(), s.Public().Raw(), msg)
	sum := new(edwards25519.Scalar).MultiplyAdd(k, a, r)
	key, err := new(edwards25519.Point).SetBytes(s.Public().Raw())
	if err != nil {
		t.Fatal(err)
	}
	// 8SB = 8R + 8kA: the signature is one that other verifiers pass.
	left := new(edwards25519.Point).ScalarBaseMult(sum)
	right := new(edwards25519.Point).ScalarMult(k, key)
	right.Add(right, point)
	if left.MultByCofactor(left).Equal(right.MultByCofactor(right)) != 1 {
		t.Fatal("no torsion signature")
	}
	return append(point.Bytes(), sum.Bytes()...)
}

// TestATorsionSignatureIsVoidEverywhere is C-17: of 256 events one has a signature that
// batch verifiers pass. Exactly that one is void, at every node, however its log came.
func TestATorsionSignatureIsVoidEverywhere(t *testing.T) {
	acme, beta := newParty("acme", 0x11), newParty("beta", 0x21)
	const bad = 101
	f := long(t, acme, 256)
	f.entries[bad] = clone(f.entries[bad])
	env := envelope.Envelope{Type: attestation.TypeEvent, Body: f.entries[bad][65:]}
	copy(f.entries[bad][1:65], torsion(t, acme.keys[0], env.Preimage().Bytes()))
	want := slices.Repeat([]string{"valid"}, 256)
	want[bad] = "void:signature"
	for _, step := range []int{256, 1, 64, 100} {
		t.Run(fmt.Sprint(step, " at a time"), func(t *testing.T) {
			n := listener(t, knows(acme, beta), beta)
			for from := 0; from < 256; from += step {
				to := min(256, from+step)
				if res, err := n.Ingest(context.Background(), f.pack(t, acme.keys[0], from, to, 256)); err != nil || res.Verdict != recorder.Accepted {
					t.Fatalf("%s (%v)", res.Verdict, err)
				}
			}
			if got := n.standings(t, acme.did); !slices.Equal(got, want) {
				t.Errorf("standings %v", got)
			}
			n.start(t)
			if got := n.standings(t, acme.did); !slices.Equal(got, want) {
				t.Errorf("started again: %v", got)
			}
		})
	}
}
