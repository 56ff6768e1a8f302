package p2p

import (
	"net/netip"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	manet "github.com/multiformats/go-multiaddr/net"

	"trustnode/federation"
)

// serve gives the Handler the streams of p that may be served.
func (r *run) serve(p federation.Protocol) network.StreamHandler {
	return func(s network.Stream) {
		release, from, ok := r.admitStream(s, p)
		if !ok {
			_ = s.Reset()
			return
		}
		defer r.wg.Done()
		defer release()
		r.h.Serve(r.ctx, from, p, s)
		_ = s.Close()
	}
}

// admitStream takes a slot for s and a place in r.wg.
func (r *run) admitStream(s network.Stream, p federation.Protocol) (release func(), from federation.PeerID, ok bool) {
	remote := s.Conn().RemotePeer()
	from, err := toPeerID(remote)
	if err != nil {
		return nil, from, false
	}
	if !r.t.gate.admitted(remote) {
		if !p.Open() || p == federation.ProtocolLobby && !r.t.visits.allow(remoteIP(s), time.Now()) {
			return nil, from, false
		}
	}
	if release, ok = r.t.slots.Take(from, p); !ok {
		return nil, from, false
	}
	if !r.begin() {
		release()
		return nil, from, false
	}
	return release, from, true
}

func remoteIP(s network.Stream) netip.Addr {
	ip, err := manet.ToIP(s.Conn().RemoteMultiaddr())
	if err != nil {
		return netip.Addr{}
	}
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}

// visits counts lobby streams per /24 and /56 in the current minute. The zero
// value is ready.
type visits struct {
	mu     sync.Mutex
	minute time.Time            // guarded by mu
	count  map[netip.Prefix]int // guarded by mu
}

// allow counts a visit from a. Loopback is not counted: it is this machine.
func (v *visits) allow(a netip.Addr, now time.Time) bool {
	if a.IsLoopback() {
		return true
	}
	bits := 24
	if a.Is6() {
		bits = 56
	}
	net, _ := a.Prefix(bits) // the zero prefix for an address that is none
	v.mu.Lock()
	defer v.mu.Unlock()
	if now.Sub(v.minute) >= time.Minute || v.count == nil {
		v.minute, v.count = now, map[netip.Prefix]int{}
	}
	if v.count[net] >= federation.LobbyPerMinute {
		return false
	}
	v.count[net]++
	return true
}
