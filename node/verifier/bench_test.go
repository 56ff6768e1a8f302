package verifier_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/verifier"
	"trustnode/scripts/benchtest"
)

// BenchmarkFigureVerifyEvent verifies the proof file of one event with its witnesses, the
// charters and DID logs it rests on; the floor is five verifications.
func BenchmarkFigureVerifyEvent(b *testing.B) {
	file, err := os.ReadFile(filepath.Join("..", "casefile", "testdata", "proof.tnb"))
	if err != nil {
		b.Fatal(err)
	}
	verify := func() error {
		if r := judgeProof(file); r.Outcome != verifier.Verifies {
			return fmt.Errorf("%s: %s", r.Outcome, r.Why)
		}
		return nil
	}
	signer, pre := key(i1), envelope.DataIntegrity([64]byte{1})
	sig, err := signer.Sign(b.Context(), pre)
	if err != nil {
		b.Fatal(err)
	}
	five := func() error {
		var last error
		for range 5 {
			last = did.PublicKey.Verify(signer.Public(), pre.Bytes(), sig)
		}
		return last
	}
	got, floor := benchtest.Turns(b, 200, 1, verify, five)
	benchtest.Latency(b, "verify: the whole file of one event, in process", got, floor, "five Ed25519 verifies", benchtest.Target{})
}
