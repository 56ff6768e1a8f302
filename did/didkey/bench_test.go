package didkey

import (
	"testing"
	"time"

	"trustnode/did"
	"trustnode/scripts/benchtest"
)

// BenchmarkFigureResolve resolves an Ed25519 did:key; its floor is the decoding of the key.
func BenchmarkFigureResolve(b *testing.B) {
	d := did.MustParse("did:key:z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S")
	figure := func() error {
		_, err := resolve(d)
		return err
	}
	floor := func() error {
		_, err := did.DecodeKey(d.ID())
		return err
	}
	got, bare := benchtest.Turns(b, 2000, 10, figure, floor)
	benchtest.Latency(b, "did:key resolve", got, bare, "DecodeKey", benchtest.Target{Ratio: 2, P50: 30 * time.Microsecond})
}
