package p2p

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"slices"
	"sync"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"

	"trustnode/federation"
)

var errUnbound = errors.New("peer is not bound")

// gossip is one gossipsub with its topics, made for one set of degrees.
type gossip struct {
	g      *gate
	deg    degrees
	ps     *pubsub.PubSub
	topics map[federation.Topic]*pubsub.Topic
	cancel context.CancelFunc

	mu     sync.Mutex
	direct map[peer.ID]bool // guarded by mu
}

// newGossip joins all topics. Messages are relayed, not subscribed to: a message
// has reached this node when the Handler judged it.
func newGossip(ctx context.Context, h host.Host, g *gate, deg degrees, receive int, judge pubsub.ValidatorEx) (*gossip, error) {
	ctx, cancel := context.WithCancel(ctx)
	ps, err := pubsub.NewGossipSub(ctx, h,
		pubsub.WithGossipSubParams(deg.params()),
		pubsub.WithMessageSignaturePolicy(pubsub.StrictSign),
		pubsub.WithMessageIdFn(messageID),
		pubsub.WithFloodPublish(true),
		pubsub.WithPeerExchange(false),
		pubsub.WithPeerOutboundQueueSize(queues),
		pubsub.WithValidateQueueSize(queues),
		pubsub.WithMaxMessageSize(receive),
		pubsub.WithBlacklist(strangers{h.ID(), g}),
		pubsub.WithPeerFilter(func(p peer.ID, _ string) bool { return g.admitted(p) }),
		pubsub.WithSubscriptionFilter(subscriptions{g}),
		pubsub.WithAppSpecificRpcInspector(func(p peer.ID, _ *pubsub.RPC) error {
			if !g.admitted(p) {
				return errUnbound
			}
			return nil
		}),
		pubsub.WithLogger(slog.New(slog.DiscardHandler)),
	)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &gossip{g: g, deg: deg, ps: ps, cancel: cancel, topics: map[federation.Topic]*pubsub.Topic{}, direct: map[peer.ID]bool{}}
	for _, t := range federation.Topics() {
		if err := s.join(t, judge); err != nil {
			cancel()
			return nil, err
		}
	}
	return s, nil
}

func (s *gossip) join(t federation.Topic, judge pubsub.ValidatorEx) error {
	// Inline: Judge does not wait for anything, and the throttle of the other
	// way drops what comes in bursts.
	if err := s.ps.RegisterTopicValidator(string(t), judge, pubsub.WithValidatorInline(true)); err != nil {
		return err
	}
	topic, err := s.ps.Join(string(t))
	if err != nil {
		return err
	}
	if _, err := topic.Relay(); err != nil {
		return err
	}
	s.topics[t] = topic
	return nil
}

func messageID(m *pb.Message) string {
	sum := sha256.Sum256(m.GetData())
	return string(sum[:])
}

// setDirect makes peers direct peers where the federation is small enough.
func (s *gossip) setDirect(peers []peer.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := map[peer.ID]bool{}
	if len(peers)+1 <= allDirect {
		for _, p := range peers {
			want[p] = true
		}
	}
	for p := range s.direct {
		if want[p] {
			continue
		}
		if err := s.ps.RemoveDirectPeer(p); err != nil {
			return err
		}
		delete(s.direct, p)
	}
	for p := range want {
		if s.direct[p] {
			continue
		}
		if err := s.ps.AddDirectPeer(peer.AddrInfo{ID: p}); err != nil {
			return err
		}
		s.direct[p] = true
	}
	return nil
}

// missing lists those of peers that are absent from some topic.
func (s *gossip) missing(peers []peer.ID) []peer.ID {
	count := map[peer.ID]int{}
	for _, t := range s.topics {
		for _, p := range t.ListPeers() {
			count[p]++
		}
	}
	return slices.DeleteFunc(slices.Clone(peers), func(p peer.ID) bool { return count[p] == len(s.topics) })
}

// strangers is the blacklist of gossipsub: everybody who is not admitted, as
// sender and as author.
type strangers struct {
	self peer.ID
	g    *gate
}

func (s strangers) Add(peer.ID) bool        { return false }
func (s strangers) Contains(p peer.ID) bool { return p != s.self && !s.g.admitted(p) }

// subscriptions lets admitted peers subscribe to the topics of the federation.
type subscriptions struct{ g *gate }

func (subscriptions) CanSubscribe(topic string) bool {
	return slices.Contains(federation.Topics(), federation.Topic(topic))
}

func (s subscriptions) FilterIncomingSubscriptions(p peer.ID, subs []*pb.RPC_SubOpts) ([]*pb.RPC_SubOpts, error) {
	if !s.g.admitted(p) || len(subs) > maxSubs {
		return nil, pubsub.ErrTooManySubscriptions
	}
	return pubsub.FilterSubscriptions(subs, s.CanSubscribe), nil
}
