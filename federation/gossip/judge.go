package gossip

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
	"trustnode/federation/charter"
)

// judging is what verdicts are made from, besides the interfaces.
type judging struct {
	parked *parkedStore

	mu        sync.Mutex
	ahead     map[did.DID]*ahead // guarded by mu
	newest    map[did.DID]uint64 // guarded by mu; n of the newest beacon judged
	signed    rates              // guarded by mu; a second, of each signer
	charters  rates              // guarded by mu; a second, of each organization that passed them on
	newcomers rates              // guarded by mu; an hour, of each organization that was asked for their DID logs
	chased    chased             // guarded by mu
}

// ahead is the edge of a log with what was accepted and waits in the queue.
type ahead struct {
	edge attlog.Range
	jobs int
}

// rates counts what comes from each organization in the current span of time.
type rates map[did.DID]*rate

type rate struct {
	span int64 // begin, seconds since 1970 UTC
	n    int
}

// within counts one thing more of d in the span that holds at, and reports whether
// it is not above most.
func (rs rates) within(d did.DID, at time.Time, span time.Duration, most int) bool {
	r, ok := rs[d]
	if !ok {
		r = &rate{}
		rs[d] = r
	}
	if s := at.Truncate(span).Unix(); r.span != s {
		*r = rate{span: s}
	}
	r.n++
	return r.n <= most
}

func newJudging() judging {
	return judging{parked: newParkedStore(), ahead: map[did.DID]*ahead{}, newest: map[did.DID]uint64{},
		signed: rates{}, charters: rates{}, newcomers: rates{}, chased: newChased()}
}

// mayMeet counts a DID log of a newcomer that an organization is asked for, and
// reports whether it is not one too many.
func (j *judging) mayMeet(by did.DID, at time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.newcomers.within(by, at, time.Hour, newcomersPerHour)
}

// settle says that one package of a log left the queue. What was accepted on top
// of one that was not kept does not count.
func (j *judging) settle(d did.DID, kept bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a, ok := j.ahead[d]
	if !ok {
		return
	}
	if a.jobs--; a.jobs <= 0 || !kept {
		delete(j.ahead, d)
	}
}

// unheard lets a beacon be judged once more.
func (j *judging) unheard(e envelope.Envelope) {
	b, err := envelope.Decode[federation.Beacon](e)
	if err != nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.newest[b.Org] == b.N {
		delete(j.newest, b.Org)
	}
}

// Judge implements federation.Handler. It reads memory alone.
func (n *Node) Judge(ctx context.Context, from federation.PeerID, t federation.Topic, msg []byte) federation.Verdict {
	v := n.judge(ctx, from, t, msg)
	switch v {
	case federation.Accept:
		n.stats.accepted.Add(1)
	case federation.Reject:
		n.stats.rejected.Add(1)
	default:
		n.stats.ignored.Add(1)
	}
	return v
}

func (n *Node) judge(ctx context.Context, from federation.PeerID, t federation.Topic, msg []byte) federation.Verdict {
	if len(msg) > federation.MaxMessage {
		return federation.Reject
	}
	head, ok := n.cfg.Members.Head()
	if !ok {
		return federation.Ignore
	}
	switch t {
	case federation.TopicEvents:
		return n.judgePackage(from, head, msg)
	case federation.TopicBeacons, federation.TopicFederation:
		return n.judgeSigned(ctx, from, t, head, msg)
	}
	return federation.Ignore
}

// parks ignores a message until what it needs is known, and pulls that.
func (n *Node) parks(from federation.PeerID, t federation.Topic, msg []byte) federation.Verdict {
	n.park(from, t, msg)
	n.kick(from)
	return federation.Ignore
}

func (n *Node) judgePackage(from federation.PeerID, head Head, msg []byte) federation.Verdict {
	p, err := attestation.ParsePackage(msg, attestation.MaxPackage)
	if err != nil || p.Federation != head.Federation {
		return federation.Reject
	}
	note, err := attlog.ParseNote(p.Note)
	end := p.From + uint64(len(p.Entries))
	if err != nil || note.Org != p.Did || end > note.Head.Size {
		return federation.Reject
	}
	rest, err := attlog.ParseRange(end, note.Head.Size, p.Rest)
	if err != nil {
		return federation.Reject
	}
	switch status := n.cfg.Members.Status(p.Did); {
	case status == "":
		return n.parks(from, federation.TopicEvents, msg)
	case status != "active":
		return federation.Ignore
	}
	switch note.Under(n.cfg.Edges.HeadKeys(p.Did)) {
	case attlog.LineUnknown:
		return n.parks(from, federation.TopicEvents, msg)
	case attlog.LineFalse:
		return federation.Reject
	}
	return n.judgeEntries(job{from: from, topic: federation.TopicEvents, msg: slices.Clone(msg), pack: &p}, note, rest)
}

// judgeEntries compares a package under a true note with what is held.
func (n *Node) judgeEntries(j job, note attlog.Note, rest attlog.Range) federation.Verdict {
	g := &n.judging
	g.mu.Lock()
	defer g.mu.Unlock()
	p, size := j.pack, note.Head.Size
	if !g.signed.within(p.Did, n.cfg.Now(), time.Second, perSecond) {
		n.lag(p.Did, size, j.from) // its head is true: what is over the limit is pulled
		return federation.Ignore
	}
	edge := n.cfg.Edges.Edge(p.Did)
	if a, ok := g.ahead[p.Did]; ok && a.edge.End() > edge.End() {
		edge = a.edge.Clone()
	}
	held, end := edge.End(), p.From+uint64(len(p.Entries))
	switch {
	case size <= held:
		if news(note, edge) {
			j.note = true
			n.enqueue(n.events, j)
		}
		return federation.Ignore
	case p.From > held || end <= held:
		n.lag(p.Did, size, j.from)
		return federation.Ignore
	}
	for _, e := range p.Entries[held-p.From:] {
		if edge.Append(e.Hash()) != nil {
			return federation.Ignore
		}
	}
	whole := edge.Clone()
	if whole.Join(rest) != nil {
		return federation.Reject
	}
	if root, err := whole.Root(); err != nil || root != note.Head.Root {
		n.lag(p.Did, size, j.from) // the sender lies, or the log has two branches: sync tells
		return federation.Reject
	}
	if end < size {
		n.lag(p.Did, size, j.from)
	}
	if n.enqueue(n.events, j) {
		g.queued(p.Did, edge)
	} else {
		n.lag(p.Did, size, j.from)
	}
	return federation.Accept
}

// queued notes the edge a log has once the queue is worked off.
func (j *judging) queued(d did.DID, edge attlog.Range) {
	a, ok := j.ahead[d]
	if !ok {
		a = &ahead{}
		j.ahead[d] = a
	}
	a.edge, a.jobs = edge, a.jobs+1
}

func (n *Node) enqueue(q *queue, j job) bool {
	if q.push(j) {
		return true
	}
	n.stats.dropped.Add(1)
	return false
}

// news reports whether a note of a held size can add anything: it is not the head
// held, so that it has to be compared at its own size, however old, or it brings a
// cosignature. A log that shows two heads is found out by whoever sees both.
func news(n attlog.Note, edge attlog.Range) bool {
	if root, err := edge.Root(); err != nil || root != n.Head.Root {
		return true
	}
	return slices.ContainsFunc(n.Lines, func(l attlog.Line) bool { _, ok := l.Witness(); return ok })
}

func (n *Node) judgeSigned(ctx context.Context, from federation.PeerID, t federation.Topic, head Head, msg []byte) federation.Verdict {
	e, err := envelope.ParseDSSE(msg, federation.MaxMessage)
	if err != nil {
		return federation.Reject
	}
	j := job{from: from, topic: t, msg: slices.Clone(msg), env: e}
	switch {
	case t == federation.TopicBeacons && e.Type == federation.BeaconType:
		return n.judgeBeacon(ctx, j, head)
	case t == federation.TopicBeacons:
		return federation.Reject
	case e.Type == federation.BindingType:
		return n.judgeBinding(ctx, j, head)
	case e.Type == charter.Type:
		return n.judgeCharter(j, head)
	}
	return federation.Ignore // of a version that knows more
}

func (n *Node) judgeBeacon(ctx context.Context, j job, head Head) federation.Verdict {
	b, err := envelope.Decode[federation.Beacon](j.env)
	if err != nil || b.Federation != head.Federation {
		return federation.Reject
	}
	if v := n.judgeSender(j, b.Org); v != 0 {
		return v
	}
	n.judging.mu.Lock()
	stale := b.N <= n.judging.newest[b.Org]
	n.judging.mu.Unlock()
	if stale {
		return federation.Ignore
	}
	if _, err := envelope.Open[federation.Beacon](ctx, j.env, n.cfg.Keys); err != nil {
		return n.keyVerdict(j, err)
	}
	n.judging.mu.Lock()
	defer n.judging.mu.Unlock()
	if b.N <= n.judging.newest[b.Org] || !n.judging.signed.within(b.Org, n.cfg.Now(), time.Second, perSecond) {
		return federation.Ignore
	}
	n.judging.newest[b.Org] = b.N
	if b.Charter.Seq > head.Charter.Seq {
		n.kick(j.from)
	}
	for _, h := range b.Heads {
		if h.DID == b.Org && h.Size > n.cfg.Edges.Edge(b.Org).End() {
			n.lag(b.Org, h.Size, j.from)
		}
	}
	if n.strange(ctx, b) {
		n.kickOrg(b.Org, j.from)
	}
	n.enqueue(n.signed, j)
	return federation.Accept
}

func (n *Node) judgeBinding(ctx context.Context, j job, head Head) federation.Verdict {
	b, err := envelope.Decode[federation.Binding](j.env)
	if err != nil || b.Federation != head.Federation {
		return federation.Reject
	}
	if v := n.judgeSender(j, b.Org); v != 0 {
		return v
	}
	if _, err := federation.OpenBinding(ctx, j.env, n.cfg.Keys); err != nil {
		return n.keyVerdict(j, err)
	}
	n.judging.mu.Lock()
	defer n.judging.mu.Unlock()
	if !n.judging.signed.within(b.Org, n.cfg.Now(), time.Second, perSecond) {
		return federation.Ignore
	}
	n.enqueue(n.signed, j)
	return federation.Accept
}

// judgeCharter lets the node judge a charter: its signatures are many, and what
// they rest on is not in memory. It is passed on once it is accepted. Anybody can
// put signatures on a charter that cost much to check and count for nothing, so
// those that one organization passes on are limited: the queue is that of the
// beacons, whose delay makes a node stale.
func (n *Node) judgeCharter(j job, head Head) federation.Verdict {
	b, err := envelope.Decode[charter.Body](j.env)
	if err != nil || b.Seq > 0 && b.Federation != head.Federation {
		return federation.Reject
	}
	if b.Seq <= head.Charter.Seq {
		return federation.Ignore
	}
	org, _ := n.orgOf(j.from) // those bound by nobody share one limit
	n.judging.mu.Lock()
	defer n.judging.mu.Unlock()
	if n.judging.charters.within(org, n.cfg.Now(), time.Second, chartersPerSecond) {
		n.enqueue(n.signed, j)
	} else {
		n.kick(j.from)
	}
	return federation.Ignore
}

// judgeSender ignores what is not of an active member; zero goes on.
func (n *Node) judgeSender(j job, org did.DID) federation.Verdict {
	switch status := n.cfg.Members.Status(org); {
	case status == "":
		return n.parks(j.from, j.topic, j.msg)
	case status != "active":
		return federation.Ignore
	case org == n.cfg.Me: // it may show a number of ours that is not held
		n.enqueue(n.signed, j)
		return federation.Ignore
	}
	return 0
}

// keyVerdict is the verdict on what does not verify.
func (n *Node) keyVerdict(j job, err error) federation.Verdict {
	switch {
	case errors.Is(err, envelope.ErrRetired):
		return federation.Ignore
	case errors.Is(err, envelope.ErrUnknownKey), errors.Is(err, envelope.ErrPending):
		return n.parks(j.from, j.topic, j.msg)
	}
	return federation.Reject
}
