package gossip

import (
	"context"
	"sync"

	"trustnode/attestation"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/charter"
)

// job is one judged message that waits to be made durable.
type job struct {
	from  federation.PeerID
	topic federation.Topic
	msg   []byte // as it came

	pack *attestation.Package // or a note to merge, where it adds no entries
	note bool
	env  envelope.Envelope // on the other topics
}

// queue holds jobs in order, within bounds. It has one reader.
type queue struct {
	wake signal

	mu    sync.Mutex
	jobs  []job // guarded by mu
	bytes int   // guarded by mu
}

func newQueue() *queue { return &queue{wake: make(signal, 1)} }

// push adds a job, or reports false where it does not fit.
func (q *queue) push(j job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) >= queueLength || q.bytes+len(j.msg) > queueBytes {
		return false
	}
	q.jobs = append(q.jobs, j)
	q.bytes += len(j.msg)
	q.wake.give()
	return true
}

func (q *queue) pop() (job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.jobs) == 0 {
		return job{}, false
	}
	j := q.jobs[0]
	q.jobs[0] = job{}
	q.jobs = q.jobs[1:]
	q.bytes -= len(j.msg)
	return j, true
}

// takeLoop makes durable what was judged, in order.
func (n *Node) takeLoop(ctx context.Context, q *queue) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		}
		for ctx.Err() == nil {
			j, ok := q.pop()
			if !ok {
				break
			}
			n.take(ctx, j)
		}
	}
}

// take hands one job to the node.
func (n *Node) take(ctx context.Context, j job) {
	var o Outcome
	var err error
	switch {
	case j.note:
		o, err = n.cfg.Intake.Merge(ctx, j.pack.Did, j.pack.Note)
	case j.pack != nil:
		o, err = n.cfg.Intake.Ingest(ctx, *j.pack)
		n.judging.settle(j.pack.Did, o == Taken || o == Held)
	default:
		o, err = n.takeSigned(ctx, j)
	}
	if err != nil && o != False && o != Forked && ctx.Err() == nil {
		n.cfg.Log.WarnContext(ctx, "not kept", "topic", string(j.topic), "err", err)
	}
	n.taken(ctx, j, o)
}

// taken does what follows from an outcome.
func (n *Node) taken(ctx context.Context, j job, o Outcome) {
	switch o {
	case Taken:
		if j.pack != nil {
			n.dropNoteSet(j.pack.Did)
			n.wants.give()
			return
		}
		if j.env.Type == charter.Type { // it was not passed on before it was accepted
			n.publish(ctx, j.topic, j.msg)
			n.rejudge(ctx)
		}
	case Behind:
		if j.pack != nil {
			n.lag(j.pack.Did, noteSize(j.pack.Note), j.from)
		}
	case Parked:
		n.judging.unheard(j.env)
		n.park(j.from, j.topic, j.msg)
	case False, Forked:
		if o == Forked && j.pack != nil && !n.hasParted(j.pack.Did) {
			n.kick(j.from) // where the two logs part is asked of who showed it
		}
		n.stats.blamed.Add(1)
		n.cfg.Log.WarnContext(ctx, "gossip kept out", "topic", string(j.topic), "peer", j.from.String())
	}
}

func (n *Node) takeSigned(ctx context.Context, j job) (Outcome, error) {
	switch j.env.Type {
	case federation.BeaconType:
		return n.cfg.Beacons.Take(ctx, j.env)
	case federation.BindingType:
		return n.cfg.Bindings.Offer(ctx, j.env)
	}
	return n.cfg.Charters.Offer(ctx, j.env)
}
