package did

import (
	"bytes"
	"crypto/rand"
	"testing"

	"filippo.io/edwards25519"
)

// TestReducedIsWhatEncodingAnewTells compares the check of y with encoding the point, for
// each y around p and around 0, with both signs, and for points at random.
func TestReducedIsWhatEncodingAnewTells(t *testing.T) {
	var all [][]byte
	for low := range 256 {
		for _, fill := range []byte{0x00, 0xff} {
			for _, top := range []byte{0x00, 0x7f, 0x80, 0xff} {
				raw := bytes.Repeat([]byte{fill}, 32)
				raw[0], raw[31] = byte(low), top
				all = append(all, raw)
			}
		}
	}
	for range 2000 {
		raw := make([]byte, 32)
		rand.Read(raw)
		all = append(all, raw)
	}
	points, other := 0, 0
	for _, raw := range all {
		var p edwards25519.Point
		if _, err := p.SetBytes(raw); err != nil {
			continue
		}
		points++
		own := bytes.Equal(p.Bytes(), raw)
		small := new(edwards25519.Point).MultByCofactor(&p).Equal(edwards25519.NewIdentityPoint()) == 1
		if !own {
			other++
		}
		// Refused must be the same set: what is not its own encoding or of small order.
		if want := own && !small; want != (reduced(raw) && !small) {
			t.Errorf("%x: encoding %x, reduced %v, small order %v", raw, p.Bytes(), reduced(raw), small)
		}
	}
	if points < 1000 || other < 20 {
		t.Errorf("only %d points, %d of them in another encoding, were compared", points, other)
	}
}
