package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/pins"
	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/recorder"
)

// quorum remembers when the beacons of a quorum last counted, by the monotonic clock.
type quorum struct {
	ever  bool
	until time.Duration
}

// State implements self.Standing. It is recomputed from data each time.
func (m *Member) State(at time.Time) (federation.State, []federation.Reason, federation.Allowed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state, reasons := federation.StateOf(m.view(), at)
	return state, reasons, federation.Allow(reasons)
}

// view gathers what the state is computed from. The caller holds mu.
func (m *Member) view() federation.View {
	own := m.ownDID()
	v := federation.View{Recovering: m.causes(), Confirmed: m.confirmed, Accused: own == did.Frozen || m.n.Rec.Forked(m.n.Org), Ended: own == did.Deactivated}
	if m.chain.IsZero() {
		return v
	}
	head := m.chain.Head()
	v.Head, v.Upgrade = headOf(head, m.n.Org), len(head.NeedsUpgrade()) > 0
	if m.sibling {
		v.Fork = federation.WhySibling
	}
	v.Beacons = m.heardBeacons(head)
	m.observe(v)
	v.QuorumHeld, v.SinceQuorum = m.quorum.ever, m.cfg.Mono()-m.quorum.until
	return v
}

// ownDID is the state of the own DID, zero where it is not known. A claim of another that
// it has forked is not enough: only the lines, verified here, freeze it.
func (m *Member) ownDID() did.State {
	v, err := m.n.Ring.Head(context.Background(), m.n.Org)
	if err != nil {
		return 0
	}
	return v.State
}

func headOf(h charter.Head, me did.DID) *federation.Head {
	r, _ := h.Member(me)
	return &federation.Head{ID: h.ID, Seq: h.Seq, ExpiresAt: h.ExpiresAt.Time(), Me: me, Status: r.Status, Votes: r.Voter(),
		FreshQuorum: int(h.Policy.FreshQuorum), FreshWithin: seconds(h.Policy.FreshWithinS),
		Grace: seconds(h.Policy.OfflineGraceS), Skew: seconds(h.Policy.ClockSkewS)}
}

func seconds(n uint64) time.Duration { return time.Duration(n) * time.Second }

// heardBeacons lists the beacons of this run. The caller holds mu.
func (m *Member) heardBeacons(head charter.Head) []federation.Heard {
	now := m.cfg.Mono()
	var out []federation.Heard
	for org, h := range m.beacons {
		r, ok := head.Member(org)
		if !h.live || !ok || h.body.Generation != r.Generation {
			continue
		}
		out = append(out, federation.Heard{Org: org, Voter: r.Voter(), Charter: h.body.Charter.ID, Age: now - h.first, Delta: h.delta,
			Ahead: h.body.Committed != nil && h.body.Committed.Seq > head.Seq, Synced: h.synced})
	}
	return out
}

// observe keeps the moment up to which a quorum held: now, or when the beacon that
// made it one grew too old between two looks. The caller holds mu.
func (m *Member) observe(v federation.View) {
	now := m.cfg.Mono()
	have, need := federation.Quorum(v)
	if have >= need {
		m.quorum = quorum{ever: true, until: now}
		return
	}
	var ends []time.Duration
	for _, b := range v.Beacons {
		end := now - b.Age + v.Head.FreshWithin
		b.Age = 0
		if n, _ := federation.Quorum(federation.View{Head: v.Head, Beacons: []federation.Heard{b}}); n == 1 {
			ends = append(ends, end)
		}
	}
	if len(ends) < need {
		return
	}
	slices.SortFunc(ends, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	if end := min(ends[need-1], now); !m.quorum.ever || end > m.quorum.until {
		m.quorum = quorum{ever: true, until: end}
	}
}

// recovery is why the node signs nothing that carries a number of its own.
type recovery struct {
	start     bool                            // no peer has confirmed since the start
	shown     map[did.DID]federation.AboutYou // members that showed a number above ours
	clear     map[did.DID]bool                // members that showed none since the last cause
	elsewhere bool                            // a number of ours came from outside
	behind    bool                            // the own log was found behind its pins
	grows     uint64                          // counts the causes that came, to see one that comes between
}

func newRecovery() recovery {
	return recovery{shown: map[did.DID]federation.AboutYou{}, clear: map[did.DID]bool{}}
}

// open tells whether a cause is left; one that came since may have been dealt with since too.
func (r *recovery) open() bool {
	return r.start || len(r.shown) > 0 || r.elsewhere || r.behind
}

// grow notes that a cause came: whoever confirmed before knew less.
func (r *recovery) grow() {
	r.grows++
	clear(r.clear)
}

const (
	pauseStart = "no peer has confirmed our last head since the start"
	pauseShown = "a peer showed a number of ours above what is held"
)

// causes lists why the node is recovering. The caller holds mu.
func (m *Member) causes() []federation.Cause {
	var out []federation.Cause
	if m.recovery.start {
		out = append(out, federation.CauseStart)
	}
	state, why := m.n.Rec.State()
	// Whoever showed it may have taken it back; the log waits until it is resumed.
	if len(m.recovery.shown) > 0 || m.recovery.elsewhere || state == recorder.Recovering && why == pauseShown {
		out = append(out, federation.CauseShown)
	}
	ours := why == pauseStart || why == pauseShown
	if m.recovery.behind || m.lacking() != nil || state == recorder.Corrupt || state == recorder.Recovering && !ours {
		out = append(out, federation.CauseBehind)
	}
	return out
}

// above says which number of ours a member holds that is above what is held here, "" for
// none.
func (m *Member) above(a federation.AboutYou) string {
	c, _ := m.Charter()
	fed := c.Federation().String()
	if held := m.cfg.Size(m.n.Org); a.LogSize > held {
		return fmt.Sprintf("our log at %d, it has %d here", a.LogSize, held)
	}
	if n := m.entryOf(m.n.Org); a.DIDN > n {
		return fmt.Sprintf("our DID log at entry %d, the last here is %d", a.DIDN, n)
	}
	if n := m.pinned(pins.KindBeacon, fed); a.BeaconN > n {
		return fmt.Sprintf("our beacon %d, the last here is %d", a.BeaconN, n)
	}
	if s := a.Commit; s != nil {
		if n := m.pinned(pins.KindSlot, fed); s.Seq*8+s.Round > n {
			return fmt.Sprintf("our signature on charter %d, the last place here is %d", s.Seq, n/8)
		}
	}
	return ""
}

// entryOf is the version number of the newest entry of a DID log that is held or, of the own one, that was written
// here and is on its way; 0 for none and for methods without entries.
func (m *Member) entryOf(d did.DID) uint64 {
	h, err := m.n.Ring.History(context.Background(), d)
	if err != nil {
		return 0
	}
	n := uint64(h.Len())
	if d == m.n.Org {
		n = max(n, m.pinned(pins.KindEntry, h.SCID()))
	}
	return n
}

// pinned is the greatest number pinned of a kind; 0 for none.
func (m *Member) pinned(k pins.Kind, key string) uint64 {
	s, _, _ := m.cfg.Pins.Highest(k, key)
	return s.N
}

// Shown takes what a member's node said it holds of this organization, which its secured
// channel proves and nothing else does. A number above ours makes the node recovering
// until what is missing is here; none above ours confirms what is here.
func (m *Member) Shown(ctx context.Context, from did.DID, a federation.AboutYou) error {
	if from == m.n.Org || !m.IsMember(from) {
		return nil
	}
	what := m.above(a)
	if what == "" {
		return m.Confirmed(ctx, from)
	}
	m.mu.Lock()
	if _, again := m.recovery.shown[from]; !again {
		m.n.Log.WarnContext(ctx, "a number of ours is above what is held", "peer", from.String(), "what", what)
	}
	m.recovery.shown[from] = a
	m.cause()
	m.mu.Unlock()
	m.cfg.Again()
	return nil
}

// cause pauses the own log for a cause that has just been noted. The caller holds mu: a pause
// that came after the resume for that cause would have no end.
func (m *Member) cause() {
	m.recovery.grow()
	m.changed()
	m.n.Rec.Pause(pauseShown)
}

// Confirmed says that a member has shown no number of ours above ours. When enough have,
// and all that was ever shown is here, the node leaves recovering.
func (m *Member) Confirmed(ctx context.Context, from did.DID) error {
	if from == m.n.Org || !m.IsMember(from) {
		return nil
	}
	m.mu.Lock()
	delete(m.recovery.shown, from)
	if len(m.recovery.clear) < maxVoices {
		m.recovery.clear[from] = true
	}
	m.mu.Unlock()
	return m.leave(ctx)
}

// leave leaves recovering if nothing stands against it.
func (m *Member) leave(ctx context.Context) error {
	m.mu.Lock()
	maps.DeleteFunc(m.recovery.shown, func(d did.DID, _ federation.AboutYou) bool {
		r, _ := m.chain.Head().Member(d)
		return !r.Active() // its word no longer counts
	})
	causes, shown, seen := m.causes(), maps.Clone(m.recovery.shown), m.recovery.grows
	voices, quorum, lacking := len(m.recovery.clear), int(m.chain.Head().Policy.FreshQuorum), m.lacking() != nil
	m.mu.Unlock()
	if len(causes) == 0 || voices == 0 || lacking {
		return nil
	}
	missed, err := m.unannounced(ctx)
	need := 1
	if !slices.Equal(causes, []federation.Cause{federation.CauseStart}) {
		need = quorum
	}
	if len(missed) > 0 { // the log may lack what only one of them has
		need = min(len(m.others()), maxVoices)
	}
	if err != nil || voices < need {
		return err
	}
	for _, a := range shown {
		if m.above(a) != "" {
			return nil
		}
	}
	if err = m.resume(ctx, seen); errors.Is(err, recorder.ErrUnconfirmed) {
		m.n.Log.WarnContext(ctx, "the own log does not go on", "error", err)
		return nil
	}
	return err
}

// resume lets the own log go on and forgets the causes, unless one came since they were
// looked at. recorder.ErrUnconfirmed while the log is known to be incomplete.
func (m *Member) resume(ctx context.Context, seen uint64) error {
	// What the own log says of own agents is known before anything is lent again: a state put
	// back from a copy may hold one live that was revoked since.
	if err := m.n.Rec.Recheck(ctx, m.n.Org); err != nil {
		return err
	}
	if err := m.projectOwn(ctx); err != nil {
		return err
	}
	if err := m.cfg.Resuming(ctx); err != nil {
		return err
	}
	if m.n.Rec.SignedBeyondPins() {
		if err := m.noteAged(ctx); err != nil {
			return err
		}
	}
	err := m.n.Rec.Resume(ctx)
	if err == nil {
		err = m.abstain(ctx)
	}
	if err == nil {
		if why := m.announceMissed(ctx); why != nil {
			m.n.Log.WarnContext(ctx, "nothing is signed", "error", why)
		}
	}
	m.mu.Lock()
	again := err == nil && m.recovery.grows != seen && m.recovery.open()
	if m.recovery.behind = errors.Is(err, recorder.ErrUnconfirmed); err == nil && !again {
		grows := m.recovery.grows
		m.recovery = newRecovery()
		m.recovery.grows = grows // two that leave at once do not take a later cause for this one
	}
	if again {
		m.n.Rec.Pause(pauseShown)
	}
	m.changed()
	m.mu.Unlock()
	if err == nil && !again {
		m.rebind(ctx)
		m.cfg.Resumed()
	}
	return err
}
