package federation

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"trustnode/did"
)

// Topic is a subject of gossip.
type Topic string

// The topics. Each node of a federation is subscribed to all of them.
const (
	TopicEvents     Topic = "/trustnode/events/1"     // packages of events and heads of logs
	TopicBeacons    Topic = "/trustnode/beacons/1"    // beacons
	TopicFederation Topic = "/trustnode/federation/1" // charter, ballot, abandon, forkproof, binding
)

// Topics returns all topics.
func Topics() []Topic { return []Topic{TopicEvents, TopicBeacons, TopicFederation} }

// Protocol is the name of what is spoken on a stream.
type Protocol string

// The protocols. Hello and lobby are open to peers that are not admitted.
const (
	ProtocolHello   Protocol = "/trustnode/hello/1"
	ProtocolLobby   Protocol = "/trustnode/lobby/1"
	ProtocolSync    Protocol = "/trustnode/sync/1"
	ProtocolWitness Protocol = "/trustnode/witness/1"
	ProtocolLend    Protocol = "/trustnode/lend/1"
)

// Protocols returns all protocols.
func Protocols() []Protocol {
	return []Protocol{ProtocolHello, ProtocolLobby, ProtocolSync, ProtocolWitness, ProtocolLend}
}

// Open reports whether a peer that is not admitted may speak p.
func (p Protocol) Open() bool { return p == ProtocolHello || p == ProtocolLobby }

// Known reports whether p is one of the protocols.
func (p Protocol) Known() bool { return slices.Contains(Protocols(), p) }

var (
	// ErrTooLarge: a message, frame or stream is over its cap.
	ErrTooLarge = did.ErrTooLarge
	// ErrUnreachable: no link to the peer can be had now, or it is not admitted here.
	ErrUnreachable = errors.New("peer unreachable")
	// ErrStopped: the transport does not run, or runs no more.
	ErrStopped = errors.New("transport is not running")
)

// Peer is one node that may be linked: bound to its organization by a binding
// that holds.
type Peer struct {
	ID    PeerID
	Addrs []string // multiaddrs without a /p2p part; empty: it can only dial us
	Org   did.DID
}

// Stream is one conversation with one peer, in both directions. It is safe for
// one reader and one writer at once. Close ends both directions in an orderly
// way, Reset gives up, CloseWrite says that nothing more will come.
type Stream interface {
	io.ReadWriteCloser
	CloseWrite() error
	Reset() error
	SetDeadline(time.Time) error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
}

// Transport carries messages and streams between the nodes of a federation. It
// is safe for concurrent use.
type Transport interface {
	// Publish hands msg to every admitted peer that is linked, and through them
	// to the others. Nil means handed over, never delivered: what is lost is
	// brought by sync. It returns ErrTooLarge over MaxMessage, ErrStopped
	// unless Run runs. The own Handler does not judge what is published here.
	Publish(ctx context.Context, t Topic, msg []byte) error
	// Open opens a stream to an admitted peer, dialling it if needed. To a peer
	// that is not admitted only ProtocolHello and ProtocolLobby can be opened,
	// and only over a link that is up. It returns ErrUnreachable where no link
	// can be had. That the other side refuses shows at the first Read.
	Open(ctx context.Context, to PeerID, p Protocol) (Stream, error)
	// Admit sets the whole set of admitted peers. On return every link to
	// another peer is closed, with its streams. A peer whose addresses changed
	// is dialled anew only if it has no link.
	Admit(ctx context.Context, peers []Peer) error
	// Run links admitted peers and serves h until ctx ends. It owns every
	// goroutine and returns when the last call into h has returned: nil after
	// ctx ended, else what made it stop. It runs at most once.
	Run(ctx context.Context, h Handler) error
}

// Handler is the node above a transport. All methods may be called concurrently.
type Handler interface {
	// Judge says what to do with a message that came from a linked peer, which
	// need not be its author. It never blocks: no disk, no network. An accepted
	// message is passed on to other members.
	Judge(ctx context.Context, from PeerID, t Topic, msg []byte) Verdict
	// Serve answers a stream the peer opened, and may block. The transport
	// closes s after it; ctx ends when Run ends. from is admitted unless
	// p.Open().
	Serve(ctx context.Context, from PeerID, p Protocol, s Stream)
	// Linked says that a link to the admitted peer p came up. It may block: it
	// has a goroutine of its own, and ctx ends when the link goes down. There is
	// one call per link at a time and peer.
	Linked(ctx context.Context, p PeerID)
	// Unlinked says that the link to p is gone. It is called once per Linked,
	// after that returned, and before the next.
	Unlinked(ctx context.Context, p PeerID)
}

// Verdict is what a Handler decides about a message.
type Verdict uint8

// The verdicts. The zero value is invalid and acts as Ignore.
const (
	_      Verdict = iota
	Accept         // pass it on
	Ignore         // keep it from spreading, blame nobody; it is not judged again for a while
	Reject         // keep it from spreading: no honest member could have sent it
)

// String returns the verdict in one lower-case word.
func (v Verdict) String() string {
	switch v {
	case Accept:
		return "accept"
	case Ignore:
		return "ignore"
	case Reject:
		return "reject"
	}
	return "invalid"
}
