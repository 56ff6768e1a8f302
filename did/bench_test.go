package did

import (
	"testing"

	"filippo.io/edwards25519"
	"github.com/mr-tron/base58"

	"trustnode/scripts/benchtest"
)

// BenchmarkFigureDecodeKey reads an Ed25519 multikey; its floor is the base58 decoding
// and one decompression of the point.
func BenchmarkFigureDecodeKey(b *testing.B) {
	const text = "z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"
	decode := func() error {
		_, err := DecodeKey(text)
		return err
	}
	floor := func() error {
		raw, err := base58.Decode(text[1:])
		if err == nil {
			_, err = new(edwards25519.Point).SetBytes(raw[2:])
		}
		return err
	}
	got, bare := benchtest.Turns(b, 2000, 10, decode, floor)
	benchtest.Latency(b, "did: DecodeKey", got, bare, "base58 + decompression", benchtest.Target{Ratio: 1.5})
}

// BenchmarkFigureDecodeKeyAllocations is what it allocates.
func BenchmarkFigureDecodeKeyAllocations(b *testing.B) {
	n := testing.AllocsPerRun(100, func() {
		if _, err := DecodeKey("z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"); err != nil {
			b.Fatal(err)
		}
	})
	benchtest.Count(b, "did: DecodeKey, allocations", n, 2)
}
