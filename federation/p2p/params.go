package p2p

import (
	"math/bits"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
)

// degrees are the mesh degrees of gossipsub.
type degrees struct{ d, lo, hi, out int }

// degreesFor returns the degrees for a federation of n member nodes. Up to 12
// nodes all peers are direct and the mesh is a reserve. gossipsub refuses an
// outbound degree that is not below lo and below half of d.
func degreesFor(n int) degrees {
	if n <= allDirect {
		return degrees{d: 4, lo: 2, hi: 8, out: 1}
	}
	d := bits.Len(uint(n-1)) + 2 // the logarithm to base 2, rounded up, plus 2
	return degrees{d: d, lo: d - 2, hi: 2 * d, out: d/2 - 1}
}

func (g degrees) params() pubsub.GossipSubParams {
	p := pubsub.DefaultGossipSubParams()
	p.D, p.Dlo, p.Dhi, p.Dout, p.Dscore = g.d, g.lo, g.hi, g.out, g.lo
	p.DirectConnectTicks = 1 << 40 // the dialer of this package does that
	return p
}
