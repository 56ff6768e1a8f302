package gossip

import (
	"slices"
	"sync/atomic"
)

// Stats counts since the Node was made.
type Stats struct {
	Accepted, Ignored, Rejected uint64 // verdicts on gossip
	Dropped                     uint64 // messages that did not fit the queue
	Parked                      uint64 // messages that wait for something missing, now
	Blamed                      uint64 // streams cut for what no honest member sends
	Refused                     uint64 // streams of peers that were not greeted
	Published                   uint64
	Syncs, SyncsFailed          uint64             // asked for from here
	Rounds                      uint64             // of cosigning
	Lines                       map[Outcome]uint64 // what was offered by sync, by what became of it; 0: this node failed
	Witnessed                   map[int]uint64     // witness requests of peers, by the status answered; 0: this node failed
}

type counters struct {
	lines                                                                                        [Forked + 1]atomic.Uint64
	witnessed                                                                                    [len(statuses) + 1]atomic.Uint64 // in the order of statuses, then any other
	accepted, ignored, rejected, dropped, blamed, refused, published, syncs, syncsFailed, rounds atomic.Uint64
}

// statuses are those of a C2SP tlog-witness, and 0.
var statuses = [...]int{0, 200, 400, 403, 404, 409, 422}

// answered counts an answer to a witness request; status 0 is none.
func (c *counters) answered(status int) {
	i := slices.Index(statuses[:], status)
	if i < 0 {
		i = len(statuses)
	}
	c.witnessed[i].Add(1)
}

// Stats returns what was counted.
func (n *Node) Stats() Stats {
	c := &n.stats
	lines, witnessed := map[Outcome]uint64{}, map[int]uint64{}
	for o := range c.lines {
		lines[Outcome(o)] = c.lines[o].Load()
	}
	for i, status := range statuses {
		witnessed[status] = c.witnessed[i].Load()
	}
	witnessed[0] += c.witnessed[len(statuses)].Load()
	return Stats{
		Lines: lines, Witnessed: witnessed,
		Accepted: c.accepted.Load(), Ignored: c.ignored.Load(), Rejected: c.rejected.Load(), Dropped: c.dropped.Load(),
		Parked: uint64(n.judging.parked.len()), Blamed: c.blamed.Load(), Refused: c.refused.Load(), Published: c.published.Load(),
		Syncs: c.syncs.Load(), SyncsFailed: c.syncsFailed.Load(), Rounds: c.rounds.Load(),
	}
}
