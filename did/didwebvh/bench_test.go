package didwebvh_test

import (
	"crypto/sha256"
	"runtime"
	"testing"

	"github.com/gowebpki/jcs"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/strictjson"
	"trustnode/scripts/benchtest"
)

// floorWords is what the floor of one entry consists of.
const floorWords = "verify + 3 JCS + 3 SHA-256"

// entryFloor is the work no verifier of the last entry of h can leave out: one
// signature, the entry canonical twice and the proof once, and three hashes.
func entryFloor(b *testing.B, h didwebvh.History) func() error {
	b.Helper()
	doc, err := strictjson.Parse(h.Head().Line, 32)
	if err != nil {
		b.Fatal(err)
	}
	proofs, _ := doc.Get("proof")
	parts := [][]byte{h.Head().Line, h.Head().Line, proofs.Elements()[0].Raw()}
	pre := envelope.DataIntegrity([64]byte{1})
	sig, err := u2.Sign(b.Context(), pre)
	if err != nil {
		b.Fatal(err)
	}
	return func() error { return floorOf(parts, u2.Public(), pre, sig) }
}

func floorOf(parts [][]byte, key did.PublicKey, p envelope.Preimage, sig did.Signature) error {
	for _, b := range parts {
		c, err := jcs.Transform(b)
		if err != nil {
			return err
		}
		sha256.Sum256(c)
	}
	return key.Verify(p.Bytes(), sig)
}

// thousand is a log of 1,000 entries, its verification, and the floor of as many.
func thousand(b *testing.B) (verify, floor func() error) {
	b.Helper()
	h := longLog(b, 999)
	log, one := h.Log(), entryFloor(b, h)
	verify = func() error {
		_, err := didwebvh.Verify(log, nil, present)
		return err
	}
	floor = func() error {
		for range 1000 {
			if err := one(); err != nil {
				return err
			}
		}
		return nil
	}
	return verify, floor
}

// BenchmarkFigureVerify verifies a log of 1,000 entries on one core.
func BenchmarkFigureVerify(b *testing.B) {
	verify, floor := thousand(b)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	got, bare := benchtest.Work(b, 9, verify, floor)
	benchtest.Latency(b, "did:webvh: verify, one of 1,000 entries", got.Each(1000), bare.Each(1000), floorWords, benchtest.Target{Ratio: 1.4})
}

// BenchmarkFigureVerifyTwoCores is the same on two cores; the floor takes one.
func BenchmarkFigureVerifyTwoCores(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("there is one core")
	}
	verify, floor := thousand(b)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	got, bare := benchtest.Turns(b, 9, 1, verify, floor)
	benchtest.Latency(b, "did:webvh: verify, one of 1,000 entries, two cores", got.Each(1000), bare.Each(1000), floorWords+", one core", benchtest.Target{Ratio: 0.8})
}

// more is the verification of one entry after n.
func more(b *testing.B, n int) (verify func() error, h didwebvh.History) {
	b.Helper()
	h = longLog(b, n)
	before, line := h.Prefix(n), h.Head().Line
	return func() error {
		_, err := before.Extend(line, nil, present)
		return err
	}, h
}

// BenchmarkFigureOneEntryMore verifies the entry after 1,000.
func BenchmarkFigureOneEntryMore(b *testing.B) {
	verify, h := more(b, 1000)
	got, bare := benchtest.Turns(b, 200, 5, verify, entryFloor(b, h))
	benchtest.Latency(b, "did:webvh: verify one entry more, after 1,000", got, bare, floorWords, benchtest.Target{Ratio: 2})
}

// BenchmarkFigureOneEntryMoreOfALongLog compares that with the entry after 10.
func BenchmarkFigureOneEntryMoreOfALongLog(b *testing.B) {
	long, _ := more(b, 1000)
	short, _ := more(b, 10)
	got, bare := benchtest.Turns(b, 400, 5, long, short)
	benchtest.Latency(b, "did:webvh: one entry more, after 1,000 and after 10", got, bare, "the same after 10", benchtest.Target{Ratio: 1.1})
}
