package federation

import "time"

// Caps of what a peer may make this node read, hold or wait for.
const (
	// MaxMessage is the size of one gossip message in bytes. More is fetched by
	// sync: the sender announces heads alone. Far below the receive limit of the
	// transport (MaxReceive), so that an honest sender never meets that.
	MaxMessage = 256 << 10
	// MaxReceive is the size in bytes of one wire unit of gossip, which may hold
	// several messages. It is the same everywhere, so that only the bound of the
	// sender ever varies.
	MaxReceive = 1 << 20
	// MaxPeers is how many peers can be admitted at once: 64 active members with
	// 8 bindings each.
	MaxPeers = 512
	// MaxAddrs is how many addresses one binding may name.
	MaxAddrs = 8
	// MaxAddr is the length of one address in bytes: a name of 253 bytes and the
	// protocols around it.
	MaxAddr = 300
	// MaxDID is the length in bytes of the DID of a member.
	MaxDID = 128
	// MaxVersion is the length in bytes of a version of a DID log: a number, a
	// dash and a hash, or an object id.
	MaxVersion = 80
	// MaxKid is the length in bytes of a key's fragment.
	MaxKid = 128
	// MaxSoftware is the length in bytes of the software name in a beacon.
	MaxSoftware = 64
	// MaxReason is the length in bytes of the reason in a hello.
	MaxReason = 64
	// MaxHeads is how many members a beacon can speak of: every record of a charter.
	MaxHeads = 128
	// MaxRound is the greatest round of a charter slot.
	MaxRound = 7
	// LobbySlots is how many unadmitted peers may be linked at once.
	LobbySlots = 8
	// LobbyPerMinute is how many lobby streams one /24 (IPv4) or /56 (IPv6) may
	// open in a minute.
	LobbyPerMinute = 4
	// LobbyLink is how long the link of an unadmitted peer is kept.
	LobbyLink = 30 * time.Second

	maxBinding = 4 << 10
	maxBeacon  = 24 << 10
	// maxForkProof holds two charters' signatures of all members; a body in the log is
	// capped no lower.
	maxForkProof = 32 << 10
	// maxBindingLife bounds how long a lost node key can speak for its organization.
	maxBindingLife = 90 * 24 * time.Hour
	// slowest is the rate in bytes a second under which a frame is given up.
	slowest = 64 << 10
	// chunk is how much is allocated ahead of the bytes of a frame that came.
	chunk = 32 << 10
)

// Limits bounds the streams of one protocol.
type Limits struct {
	Frame   int           // greatest frame in bytes
	Total   int           // greatest sum of frames read from one stream in bytes; 0: no bound
	Idle    time.Duration // longest wait for a frame to begin, or to be taken
	Life    time.Duration // longest life of a stream; 0: no bound
	Streams int           // streams one peer may have open to this node at once
}

// LimitsOf returns the bounds of p, and whether p is a protocol of this
// federation at all.
func LimitsOf(p Protocol) (Limits, bool) {
	l, ok := limits[p]
	return l, ok
}

// limits is read only.
var limits = map[Protocol]Limits{
	ProtocolHello:   {Frame: 4 << 10, Total: 16 << 10, Idle: 10 * time.Second, Life: 15 * time.Second, Streams: 2},
	ProtocolLobby:   {Frame: 512 << 10, Total: 512 << 10, Idle: 10 * time.Second, Life: 15 * time.Second, Streams: 1},
	ProtocolSync:    {Frame: 2 << 20, Idle: 10 * time.Second, Streams: 4},
	ProtocolWitness: {Frame: 64 << 10, Total: 64 << 10, Idle: 10 * time.Second, Life: 30 * time.Second, Streams: 8},
	// One exchange per stream: as many as a borrower has callers at a time.
	ProtocolLend: {Frame: 1 << 20, Total: 1 << 20, Idle: 30 * time.Second, Life: 60 * time.Second, Streams: 128},
}
