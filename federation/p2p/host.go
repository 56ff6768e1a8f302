package p2p

import (
	"crypto/ed25519"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	libp2pquic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/libp2p/go-libp2p/x/rate"
	ma "github.com/multiformats/go-multiaddr"

	"trustnode/federation"
)

// newHost builds a host that listens nowhere yet. Nothing in it talks to anybody
// of its own accord: no discovery, no relay, no port mapping, no probing.
func newHost(seed []byte, g *gate, cidrs []netip.Prefix) (host.Host, error) {
	key, err := crypto.UnmarshalEd25519PrivateKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		return nil, err
	}
	rm, err := newResources(cidrs)
	if err != nil {
		return nil, err
	}
	return libp2p.New(
		libp2p.Identity(key),
		libp2p.NoListenAddrs,
		libp2p.Transport(tcp.NewTCPTransport, tcp.DisableReuseport()), // a port that another process has is an error
		libp2p.Transport(libp2pquic.NewTransport),
		libp2p.Security(noise.ID, noise.New),
		libp2p.Muxer(yamux.ID, yamux.DefaultTransport),
		libp2p.ConnectionGater(g),
		libp2p.ConnectionManager(connmgr.NullConnMgr{}),
		libp2p.ResourceManager(rm),
		libp2p.UserAgent("trustnode"),
		libp2p.Ping(false),
		libp2p.DisableRelay(),
		libp2p.DisableMetrics(),
		libp2p.DisableIdentifyAddressDiscovery(),
		libp2p.ForceReachabilityPrivate(), // no probing by others
	)
}

// CheckListen says what is wrong with an address to listen on: it is no multiaddr of a
// transport this build has.
func CheckListen(addr string) error {
	m, err := ma.NewMultiaddr(addr)
	if err != nil {
		return fmt.Errorf("listen address %q: %v", addr, err)
	}
	if _, err := m.ValueForProtocol(ma.P_TCP); err == nil {
		return nil
	}
	if _, err := m.ValueForProtocol(ma.P_QUIC_V1); err == nil {
		return nil
	}
	return fmt.Errorf("listen address %q is neither TCP nor QUIC", addr)
}

// listen binds every address or none: a node that silently misses one of its
// ports is found out by its partners.
func listen(h host.Host, addrs []string) error {
	for _, a := range addrs {
		m, err := ma.NewMultiaddr(a)
		if err != nil {
			return fmt.Errorf("listen address %q: %v", a, err)
		}
		if err := h.Network().Listen(m); err != nil {
			return fmt.Errorf("listen on %s: %v", a, err)
		}
	}
	return nil
}

// unlimited are the networks whose connections are not counted: this machine's
// own, and those of members as configured.
func unlimited(cidrs []netip.Prefix) []netip.Prefix {
	return append([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, cidrs...)
}

// newResources bounds memory, streams and connections. By default 8 connections
// from one address are the end; members may share one.
func newResources(cidrs []netip.Prefix) (network.ResourceManager, error) {
	limits := rcmgr.DefaultLimits
	libp2p.SetDefaultServiceLimits(&limits)
	streams := rcmgr.BaseLimit{StreamsInbound: 512, StreamsOutbound: 512, Streams: 1024, Memory: 64 << 20}
	limits.PeerBaseLimit.StreamsInbound, limits.PeerBaseLimit.StreamsOutbound = 512, 512
	limits.PeerBaseLimit.Streams = 1024
	for _, p := range federation.Protocols() {
		limits.AddProtocolPeerLimit(protocolID(p), streams, rcmgr.BaseLimitIncrease{})
	}
	var v4, v6 []rcmgr.NetworkPrefixLimit
	rates := &rate.Limiter{SubnetRateLimiter: rate.SubnetLimiter{
		IPv4SubnetLimits: []rate.SubnetLimit{{PrefixLength: 32, Limit: rate.Limit{RPS: perSecond, Burst: burst}}},
		IPv6SubnetLimits: []rate.SubnetLimit{{PrefixLength: 56, Limit: rate.Limit{RPS: perSecond, Burst: burst}}},
		GracePeriod:      time.Minute,
	}}
	for _, c := range unlimited(cidrs) {
		l := rcmgr.NetworkPrefixLimit{Network: c, ConnCount: math.MaxInt}
		if c.Addr().Is4() {
			v4 = append(v4, l)
		} else {
			v6 = append(v6, l)
		}
		rates.NetworkPrefixLimits = append(rates.NetworkPrefixLimits, rate.PrefixLimit{Prefix: c})
	}
	return rcmgr.NewResourceManager(rcmgr.NewFixedLimiter(limits.AutoScale()),
		rcmgr.WithMetricsDisabled(),
		rcmgr.WithLimitPerSubnet(
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 32, ConnCount: perSubnet}},
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 56, ConnCount: perSubnet}}),
		rcmgr.WithNetworkPrefixLimit(v4, v6),
		rcmgr.WithConnRateLimiters(rates),
	)
}

func parsePrefixes(texts []string) ([]netip.Prefix, error) {
	var ps []netip.Prefix
	for _, t := range texts {
		p, err := netip.ParsePrefix(t)
		if err != nil {
			return nil, fmt.Errorf("cidr %q: %v", t, err)
		}
		ps = append(ps, p.Masked())
	}
	return ps, nil
}

func toPeerID(p peer.ID) (federation.PeerID, error) { return federation.ParsePeerID(p.String()) }

func fromPeerID(p federation.PeerID) (peer.ID, error) { return peer.Decode(p.String()) }

// dialable turns the addresses of a binding into multiaddrs. One this build does
// not know is left out: the others may do.
func dialable(addrs []string) (ms []ma.Multiaddr) {
	for _, a := range addrs {
		if m, err := ma.NewMultiaddr(a); err == nil {
			ms = append(ms, m)
		}
	}
	return ms
}
