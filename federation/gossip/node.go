package gossip

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation"
)

// Config is what a Node is made of. Every field is required, but those that say
// otherwise.
type Config struct {
	Me         did.DID
	Transport  federation.Transport
	Members    Members
	Greeter    Greeter
	Charters   Charters
	Identities Identities
	Bindings   Bindings
	Beacons    Beacons
	Logs       Logs
	Intake     Intake
	Edges      Edges
	Witnessing Witnessing
	Objects    Objects
	Lender     Lender
	// Keys answers the keys in force now, from memory: an unknown one is
	// envelope.ErrUnknownKey, one no longer in force envelope.ErrRetired.
	Keys      envelope.KeySource
	SyncEvery time.Duration // how often each peer is synced with, ±20 %; 0: DefaultSyncEvery
	Now       func() time.Time
	Log       *slog.Logger // optional
}

// Node keeps this organization's node and those of the others alike. It is safe
// for concurrent use.
type Node struct {
	cfg   Config
	stats counters

	events *queue // packages and notes
	signed *queue // beacons, bindings, charters

	publishes, cosigns, wants, lags, beats signal

	mu     sync.Mutex
	bound  map[federation.PeerID]did.DID // guarded by mu; who may be linked
	peers  map[federation.PeerID]*peer   // guarded by mu; who was ever met or is bound
	own    NewHead                       // guarded by mu; newest own head
	prompt bool                          // guarded by mu; a round is due at once
	gaps   map[did.DID]*gap              // guarded by mu
	asked  map[askedOf]time.Time         // guarded by mu
	sets   noteSets                      // guarded by mu
	parted partings                      // guarded by mu
	showed map[branchAt]attestation.Head // guarded by mu; behind which head its branch was asked for last
	beacon time.Time                     // guarded by mu; when the newest own beacon was made
	busy   map[did.DID]bool              // guarded by mu; witnesses that are being asked
	pulls  map[turn]chan struct{}        // guarded by mu; logs that are being pulled

	beaconing sync.Mutex // held while a beacon is made

	judging judging
}

var _ federation.Handler = (*Node)(nil)

// signal wakes one loop; a wake while it works makes it work once more.
type signal chan struct{}

func (s signal) give() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// New checks cfg. Nothing happens before Run.
func New(cfg Config) (*Node, error) {
	switch {
	case cfg.Me.IsZero(), cfg.Transport == nil, cfg.Members == nil, cfg.Greeter == nil, cfg.Charters == nil,
		cfg.Identities == nil, cfg.Bindings == nil, cfg.Beacons == nil, cfg.Logs == nil, cfg.Intake == nil,
		cfg.Edges == nil, cfg.Witnessing == nil, cfg.Objects == nil, cfg.Lender == nil, cfg.Keys == nil, cfg.Now == nil:
		return nil, errors.New("gossip: a required part is missing")
	case cfg.SyncEvery < 0:
		return nil, fmt.Errorf("gossip: sync every %v", cfg.SyncEvery)
	}
	if cfg.SyncEvery == 0 {
		cfg.SyncEvery = DefaultSyncEvery
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	n := &Node{
		cfg: cfg, events: newQueue(), signed: newQueue(),
		publishes: make(signal, 1), cosigns: make(signal, 1), wants: make(signal, 1), lags: make(signal, 1), beats: make(signal, 1),
		bound: map[federation.PeerID]did.DID{}, peers: map[federation.PeerID]*peer{},
		asked: map[askedOf]time.Time{}, busy: map[did.DID]bool{}, pulls: map[turn]chan struct{}{},
		sets: newNoteSets(), parted: partings{}, showed: map[branchAt]attestation.Head{}, judging: newJudging(), gaps: map[did.DID]*gap{},
	}
	return n, nil
}

// Run admits the bound peers, runs the transport and owns every goroutine of
// both until ctx ends. It returns what Transport.Run returns. It runs at most once.
func (n *Node) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	changed := n.cfg.Members.Changed()
	if err := n.admit(ctx); err != nil {
		return err
	}
	published := n.ownSize(ctx)
	wg.Go(func() { n.admitLoop(ctx, changed) })
	wg.Go(func() { n.takeLoop(ctx, n.events) })
	wg.Go(func() { n.takeLoop(ctx, n.signed) })
	wg.Go(func() { n.publishLoop(ctx, published) })
	wg.Go(func() { n.cosignLoop(ctx) })
	wg.Go(func() { n.wantsLoop(ctx) })
	wg.Go(func() { n.lagLoop(ctx) })
	wg.Go(func() { n.beaconLoop(ctx) })
	return n.cfg.Transport.Run(ctx, n)
}

// admit brings the transport in line with the bindings.
func (n *Node) admit(ctx context.Context) error {
	peers := n.cfg.Members.Peers()
	bound := make(map[federation.PeerID]did.DID, len(peers))
	n.mu.Lock()
	for _, p := range peers {
		bound[p.ID] = p.Org
		n.peerLocked(p.ID).org = p.Org
	}
	for id, p := range n.peers {
		if _, ok := bound[id]; !ok {
			p.forget()
			if !p.linked {
				delete(n.peers, id)
			}
		}
	}
	n.bound = bound
	n.mu.Unlock()
	return n.cfg.Transport.Admit(ctx, peers)
}

// admitLoop follows the charter and the bindings.
func (n *Node) admitLoop(ctx context.Context, changed <-chan struct{}) {
	head, _ := n.cfg.Members.Head()
	bound := n.ownBinding(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		changed = n.cfg.Members.Changed()
		if err := n.admit(ctx); err != nil {
			n.cfg.Log.WarnContext(ctx, "admitting peers", "err", err)
		}
		next, _ := n.cfg.Members.Head()
		mine := n.ownBinding(ctx)
		if next.Charter != head.Charter {
			n.announce(ctx, head.Charter.Seq)
			n.beats.give()
			n.kickAll()
		}
		if len(mine) > 0 && (next.Charter != head.Charter || !bytes.Equal(mine, bound)) {
			n.publish(ctx, federation.TopicFederation, mine)
		}
		head, bound = next, mine
		n.rejudge(ctx)
	}
}

// announce gossips new charters. Who does not hear of them finds them in the
// next sync.
func (n *Node) announce(ctx context.Context, after uint64) {
	list, err := n.cfg.Charters.After(ctx, after)
	if err != nil {
		n.cfg.Log.WarnContext(ctx, "charters not announced", "err", err)
		return
	}
	for _, e := range list {
		n.publish(ctx, federation.TopicFederation, e.DSSE())
	}
}

// ownBinding is the newest own binding as it travels; nil where there is none.
func (n *Node) ownBinding(ctx context.Context) (newest []byte) {
	all, err := n.cfg.Bindings.All(ctx)
	if err != nil {
		return nil
	}
	serial := uint64(0)
	for _, e := range all {
		if b, err := envelope.Decode[federation.Binding](e); err == nil && b.Org == n.cfg.Me && b.Serial > serial {
			serial, newest = b.Serial, e.DSSE()
		}
	}
	return newest
}

// publish hands a message to the transport; one that is too large or meets a
// stopped transport is left to sync.
func (n *Node) publish(ctx context.Context, t federation.Topic, msg []byte) {
	if err := n.cfg.Transport.Publish(ctx, t, msg); err != nil {
		n.cfg.Log.DebugContext(ctx, "not published", "topic", string(t), "err", err)
		return
	}
	n.stats.published.Add(1)
}

// NewHead says that the newest note of a log changed: its size, or its
// cosignatures.
type NewHead struct {
	Org    did.DID
	Size   uint64
	Note   []byte
	Prompt bool // something new in it is to be spread and cosigned at once
}

// NewHead is told of every new head of every log, by whoever keeps the logs. It
// never blocks.
func (n *Node) NewHead(h NewHead) {
	n.mu.Lock()
	n.sets.drop(h.Org)
	mine := h.Org == n.cfg.Me && h.Size > n.own.Size
	if mine {
		n.own = h
		n.prompt = n.prompt || h.Prompt
	}
	n.mu.Unlock()
	if mine {
		n.publishes.give()
		n.cosigns.give()
	}
	n.wants.give()
}

// ownSize is the size of the newest signed own head.
func (n *Node) ownSize(ctx context.Context) uint64 {
	_, note, err := n.head(ctx, n.cfg.Me)
	if err != nil {
		return 0
	}
	return noteSize(note)
}

// head returns the size held of a log and its newest note; zero where nothing
// of it is held.
func (n *Node) head(ctx context.Context, d did.DID) (held uint64, note []byte, err error) {
	l, err := n.cfg.Logs.Log(ctx, d)
	if errors.Is(err, attestation.ErrNotFound) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	h, note := l.Head()
	return h.Size, note, nil
}

// jitter spreads d by a fifth both ways.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// sleep waits for d and reports false where ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(max(0, d))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
