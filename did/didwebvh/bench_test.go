package didwebvh_test

import (
	"crypto/sha256"
	"testing"

	"github.com/gowebpki/jcs"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
	"trustnode/scripts/benchtest"
)

// BenchmarkFigureVerify verifies a log of 1,000 entries; its floor is, for each, one
// signature, the entry canonical twice and the proof once, and three hashes.
func BenchmarkFigureVerify(b *testing.B) {
	const n = 1000
	h := longLog(b, n-1)
	log := h.Log()
	entry, ok := h.At(n)
	if !ok {
		b.Fatal("no last entry")
	}
	doc, err := strictjson.Parse(entry.Line, 32)
	if err != nil {
		b.Fatal(err)
	}
	proofs, _ := doc.Get("proof")
	line, proof := string(entry.Line), proofs.Elements()[0].Raw()
	key := u2.Public()
	pre := envelope.DataIntegrity([64]byte{1})
	sig, err := u2.Sign(b.Context(), pre)
	if err != nil {
		b.Fatal(err)
	}
	verify := func() error {
		_, err := didwebvh.Verify(log, nil, present)
		return err
	}
	floor := func() error {
		for range n {
			if err := entryFloor([]byte(line), proof, key, pre, sig); err != nil {
				return err
			}
		}
		return nil
	}
	got, bare := benchtest.Work(b, 9, verify, floor)
	benchtest.Latency(b, "did:webvh: verify, one of 1,000 entries", got.Each(n), bare.Each(n), "verify + 3 JCS + 3 SHA-256", benchtest.Target{Ratio: 1.4})
}

func entryFloor(line, proof []byte, key did.PublicKey, p envelope.Preimage, sig did.Signature) error {
	for _, b := range [][]byte{line, line, proof} {
		c, err := jcs.Transform(b)
		if err != nil {
			return err
		}
		sha256.Sum256(c)
	}
	return key.Verify(p.Bytes(), sig)
}
