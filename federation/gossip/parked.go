package gossip

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"trustnode/federation"
)

// parkedMessage waits for something that is not known here yet.
type parkedMessage struct {
	from  federation.PeerID
	topic federation.Topic
	msg   []byte
	sum   [32]byte
	at    time.Time
}

// parkedStore holds messages within bounds; where one is met, the oldest of the
// same peer goes.
type parkedStore struct {
	mu    sync.Mutex
	list  []parkedMessage // guarded by mu; oldest first
	bytes int             // guarded by mu
}

func newParkedStore() *parkedStore { return &parkedStore{} }

func (s *parkedStore) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.list)
}

func (s *parkedStore) put(m parkedMessage) {
	m.sum = sha256.Sum256(m.msg)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(m.at)
	if slices.ContainsFunc(s.list, func(o parkedMessage) bool { return o.sum == m.sum }) {
		return
	}
	for s.of(m.from)+len(m.msg) > parkedPeer || s.bytes+len(m.msg) > parkedBytes {
		i := slices.IndexFunc(s.list, func(o parkedMessage) bool { return o.from == m.from })
		if i < 0 {
			return
		}
		s.remove(i)
	}
	s.list = append(s.list, m)
	s.bytes += len(m.msg)
}

func (s *parkedStore) of(from federation.PeerID) (bytes int) {
	for _, m := range s.list {
		if m.from == from {
			bytes += len(m.msg)
		}
	}
	return bytes
}

func (s *parkedStore) expire(at time.Time) {
	for len(s.list) > 0 && at.Sub(s.list[0].at) > parkedFor {
		s.remove(0)
	}
}

func (s *parkedStore) remove(i int) {
	s.bytes -= len(s.list[i].msg)
	s.list = slices.Delete(s.list, i, i+1)
}

// drain takes everything out.
func (s *parkedStore) drain(at time.Time) []parkedMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(at)
	list := s.list
	s.list, s.bytes = nil, 0
	return list
}

func (n *Node) park(from federation.PeerID, t federation.Topic, msg []byte) {
	n.judging.parked.put(parkedMessage{from: from, topic: t, msg: slices.Clone(msg), at: n.cfg.Now()})
}

// rejudge judges again what waited. The transport does not pass on what was
// ignored once, so this node publishes it.
func (n *Node) rejudge(ctx context.Context) {
	for _, m := range n.judging.parked.drain(n.cfg.Now()) {
		if n.Judge(ctx, m.from, m.topic, m.msg) == federation.Accept {
			n.publish(ctx, m.topic, m.msg)
		}
	}
}
