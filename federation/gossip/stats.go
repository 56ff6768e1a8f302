package gossip

import "sync/atomic"

// Stats counts since the Node was made.
type Stats struct {
	Accepted, Ignored, Rejected uint64 // verdicts on gossip
	Dropped                     uint64 // messages that did not fit the queue
	Parked                      uint64 // messages that wait for something missing, now
	Blamed                      uint64 // streams cut for what no honest member sends
	Refused                     uint64 // streams of peers that were not greeted
	Published                   uint64
	Syncs, SyncsFailed          uint64 // asked for from here
	Rounds                      uint64 // of cosigning
}

type counters struct {
	accepted, ignored, rejected, dropped, blamed, refused, published, syncs, syncsFailed, rounds atomic.Uint64
}

// Stats returns what was counted.
func (n *Node) Stats() Stats {
	c := &n.stats
	return Stats{
		Accepted: c.accepted.Load(), Ignored: c.ignored.Load(), Rejected: c.rejected.Load(), Dropped: c.dropped.Load(),
		Parked: uint64(n.judging.parked.len()), Blamed: c.blamed.Load(), Refused: c.refused.Load(), Published: c.published.Load(),
		Syncs: c.syncs.Load(), SyncsFailed: c.syncsFailed.Load(), Rounds: c.rounds.Load(),
	}
}
