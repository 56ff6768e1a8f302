package federation

import "sync"

// Slots counts the streams each peer has open to this node, so that one peer
// cannot take more than its protocol allows. Transports share it. The zero value
// is ready; it is safe for concurrent use.
type Slots struct {
	mu   sync.Mutex
	used map[slot]int // guarded by mu
}

type slot struct {
	peer  PeerID
	proto Protocol
}

// Take takes a slot of from for p and returns how to give it back. It reports
// false where all are taken or p is unknown. Giving back twice is one.
func (s *Slots) Take(from PeerID, p Protocol) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := slot{from, p}
	if lim, _ := LimitsOf(p); s.used[key] >= lim.Streams {
		return nil, false
	}
	if s.used == nil {
		s.used = map[slot]int{}
	}
	s.used[key]++
	return sync.OnceFunc(func() { s.give(key) }), true
}

func (s *Slots) give(key slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[key]--; s.used[key] == 0 {
		delete(s.used, key)
	}
}
