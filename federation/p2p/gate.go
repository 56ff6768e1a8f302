package p2p

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"trustnode/federation"
)

// gate is the one table of who may be linked. libp2p asks it about connections,
// gossipsub about peers, and this package about streams.
type gate struct {
	mu    sync.RWMutex
	open  bool                        // guarded by mu; false: nobody
	peers map[peer.ID]federation.Peer // guarded by mu; admitted
	lobby map[peer.ID]time.Time       // guarded by mu; since when
	now   func() time.Time
}

var _ connmgr.ConnectionGater = (*gate)(nil)

func newGate(now func() time.Time) *gate {
	return &gate{peers: map[peer.ID]federation.Peer{}, lobby: map[peer.ID]time.Time{}, now: now}
}

// set replaces the admitted set and returns the one before.
func (g *gate) set(peers map[peer.ID]federation.Peer) map[peer.ID]federation.Peer {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.peers
	g.peers = peers
	return was
}

func (g *gate) turn(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = open
}

func (g *gate) admitted(p peer.ID) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	_, ok := g.peers[p]
	return ok
}

// id returns the id of an admitted peer, without parsing it again.
func (g *gate) id(p peer.ID) (federation.PeerID, bool) {
	f, ok := g.find(p)
	return f.ID, ok
}

func (g *gate) find(p peer.ID) (federation.Peer, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	f, ok := g.peers[p]
	return f, ok
}

func (g *gate) list() []peer.ID {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Collect(maps.Keys(g.peers))
}

// may reports whether p may have a link now, in a lobby slot if need be.
func (g *gate) may(p peer.ID) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	_, ok := g.peers[p]
	_, waits := g.lobby[p]
	return g.open && (ok || waits)
}

// enter gives p a lobby slot if there is one. A slot is kept for LobbyLink.
func (g *gate) enter(p peer.ID) bool {
	if _, err := toPeerID(p); err != nil {
		return false // not an Ed25519 key: no binding can name it
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.lobby[p]; ok {
		return true
	}
	now := g.now()
	maps.DeleteFunc(g.lobby, func(_ peer.ID, since time.Time) bool { return now.Sub(since) >= federation.LobbyLink })
	if len(g.lobby) >= federation.LobbySlots {
		return false
	}
	g.lobby[p] = now
	return true
}

// leave gives the slot of p back.
func (g *gate) leave(p peer.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.lobby, p)
}

// overstayed lists who is in the lobby for too long.
func (g *gate) overstayed() (ps []peer.ID) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for p, since := range g.lobby {
		if g.now().Sub(since) >= federation.LobbyLink {
			ps = append(ps, p)
		}
	}
	return ps
}

// InterceptPeerDial lets admitted peers be dialled.
func (g *gate) InterceptPeerDial(p peer.ID) bool { return g.isOpen() && g.admitted(p) }

// InterceptAddrDial refuses no address.
func (g *gate) InterceptAddrDial(peer.ID, ma.Multiaddr) bool { return true }

// InterceptAccept refuses everybody while the transport does not run.
func (g *gate) InterceptAccept(network.ConnMultiaddrs) bool { return g.isOpen() }

// InterceptSecured lets admitted peers in, and others into a lobby slot.
func (g *gate) InterceptSecured(dir network.Direction, p peer.ID, _ network.ConnMultiaddrs) bool {
	if !g.isOpen() {
		return false
	}
	return g.admitted(p) || dir == network.DirInbound && g.enter(p)
}

// InterceptUpgraded asks again: the table may have changed meanwhile.
func (g *gate) InterceptUpgraded(c network.Conn) (bool, control.DisconnectReason) {
	return g.may(c.RemotePeer()), 0
}

func (g *gate) isOpen() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.open
}
