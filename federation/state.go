package federation

import (
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// State is the one word for what a node may do, the gravest that holds.
type State uint8

// The states, gravest first. Never reorder. The zero value is invalid.
const (
	_ State = iota
	Alone
	Recovering
	Expelled
	Left
	Replaced
	Suspended
	UpgradeRequired
	Forked
	Expired
	Unconfirmed
	Stale
	Fresh
)

var stateNames = [...]string{"invalid", "alone", "recovering", "expelled", "left", "replaced", "suspended",
	"upgrade_required", "forked", "expired", "unconfirmed", "stale", "fresh"}

// String returns the word shown to people, such as upgrade_required.
func (s State) String() string {
	if int(s) >= len(stateNames) {
		return stateNames[0]
	}
	return stateNames[s]
}

// Signing is which charters a node may sign. Each value allows what the smaller
// ones allow, but SignGenesis and SignResolution exclude each other.
type Signing uint8

// The zero value allows nothing, so that a forgotten field refuses.
const (
	SignNothing    Signing = iota
	SignGenesis            // a genesis, or the own admission
	SignResolution         // a resolution of a fork, or a recovery
	SignAny
)

// Allowed is what a node may do. The zero value is nothing. Verifying what is
// old, and work inside the organization, is always allowed and not named.
type Allowed struct {
	LiveReads bool // reads of loans between organizations
	NewLoans  bool // new loans between organizations
	OwnLoans  bool // loans and reads between two agents of this organization
	Sign      Signing
	OwnLog    bool // appending to and signing the own log
	Beacon    bool
}

var everything = Allowed{LiveReads: true, NewLoans: true, OwnLoans: true, Sign: SignAny, OwnLog: true, Beacon: true}

// Reason is one row of the table of states that holds, and why.
type Reason struct {
	State State
	Why   string        // stable: see the Why constants
	Have  int           // Stale, Unconfirmed: organizations heard
	Need  int           // Stale, Unconfirmed: organizations needed
	Left  time.Duration // Stale: how long live reads go on; 0: they ended
}

// Stable reasons, tested; they never change.
const (
	WhyNoCharter     = "no_charter"
	WhyNotListed     = "not_listed" // the head does not know this organization
	WhyStatus        = "status"     // the head says so
	WhyForkProof     = "forkproof"  // a proof names this organization
	WhyEnded         = "ended"      // it deactivated its DID
	WhySpec          = "spec"
	WhySibling       = "sibling"
	WhyLateSignature = "late_signature"
	WhyCharter       = "charter" // the head is past its end
	WhyBeacons       = "beacons"
)

// Cause is why a node is recovering.
type Cause string

// The causes. Start is the harmless one: every start with other active members.
const (
	CauseStart    Cause = "start"    // no peer has yet confirmed what this node holds
	CauseBehind   Cause = "behind"   // data lie below the pins
	CauseOutbox   Cause = "outbox"   // outbox and its mark do not meet
	CauseRestored Cause = "restored" // a backup was put back
	CauseShown    Cause = "shown"    // a peer showed a number of ours above what is held
)

// View is what a node knows when it asks for its state. It is data: nothing in
// it is computed from a clock here, and ages come from a monotonic one.
type View struct {
	Head       *Head // nil: no charter
	Recovering []Cause
	Accused    bool   // a forkproof names this organization, and no charter has decided
	Ended      bool   // the own DID is deactivated: for good
	Upgrade    bool   // the head names something critical this node does not know, or needs a newer version
	Fork       string // WhySibling or WhyLateSignature; empty: none
	// Confirmed: since this data directory took its charter from a file, a quorum
	// was heard once, or the operator said it need not be. Kept across restarts.
	Confirmed bool
	Beacons   []Heard
	// SinceQuorum is how long ago a quorum was last held in this run; meaningless
	// unless QuorumHeld says that one ever was.
	SinceQuorum time.Duration
	QuorumHeld  bool
}

// Head is what the state needs of the charter in force and of the own place in it.
type Head struct {
	ID          envelope.ID
	Seq         uint64
	ExpiresAt   time.Time
	Me          did.DID
	Status      string // active suspended expelled left replaced; empty: not listed
	Votes       bool   // this organization is a voter
	FreshQuorum int
	FreshWithin time.Duration
	Grace       time.Duration // policy.offline_grace_s
	Skew        time.Duration
}

// Heard is the newest beacon of one organization whose n was new when it came.
type Heard struct {
	Org     did.DID
	Voter   bool        // at the head
	Charter envelope.ID // the head it names
	Age     time.Duration
	Delta   time.Duration // its at minus the clock here, at first sight
	Ahead   bool          // it names an own commit above the head
	Synced  bool          // a sync with its sender has ended since
}

// counts says which beacons show that the others are heard: of another voter, with
// my head, in time by both clocks, and nothing hidden above my head.
func (b Heard) counts(h *Head) bool {
	return b.Voter && b.Org != h.Me && b.Charter == h.ID && b.Age >= 0 && b.Age < h.FreshWithin &&
		b.Delta.Abs() <= h.Skew && (!b.Ahead || b.Synced)
}

// Quorum counts the organizations whose beacons count and says how many are
// needed: the quorum of the policy, one more for a node without a vote.
func Quorum(v View) (have, need int) {
	if v.Head == nil {
		return 0, 0
	}
	var orgs []did.DID
	for _, b := range v.Beacons {
		if b.counts(v.Head) && !slices.Contains(orgs, b.Org) {
			orgs = append(orgs, b.Org)
		}
	}
	need = v.Head.FreshQuorum
	if !v.Head.Votes {
		need++
	}
	return len(orgs), need
}

// StateOf returns the state of a node with view v at the time at, and every
// reason that holds, gravest first. Fresh has one reason with no Why. It is pure.
func StateOf(v View, at time.Time) (State, []Reason) {
	rs := slices.Concat(alone(v), recovering(v), status(v), upgrade(v), forked(v), expired(v, at), beacons(v))
	if len(rs) == 0 {
		rs = []Reason{{State: Fresh}}
	}
	return rs[0].State, rs
}

func alone(v View) []Reason {
	if v.Head == nil {
		return []Reason{{State: Alone, Why: WhyNoCharter}}
	}
	return nil
}

// recovering puts the harmless cause last, so that Allow sees the others.
func recovering(v View) (rs []Reason) {
	for _, c := range v.Recovering {
		if c != CauseStart {
			rs = append(rs, Reason{State: Recovering, Why: string(c)})
		}
	}
	if slices.Contains(v.Recovering, CauseStart) {
		rs = append(rs, Reason{State: Recovering, Why: string(CauseStart)})
	}
	return rs
}

func status(v View) (rs []Reason) {
	if v.Head != nil {
		switch v.Head.Status {
		case "active":
		case "expelled":
			rs = append(rs, Reason{State: Expelled, Why: WhyStatus})
		case "left":
			rs = append(rs, Reason{State: Left, Why: WhyStatus})
		case "replaced":
			rs = append(rs, Reason{State: Replaced, Why: WhyStatus})
		case "suspended":
			rs = append(rs, Reason{State: Suspended, Why: WhyStatus})
		default: // never a member by this charter: nothing a member may do
			rs = append(rs, Reason{State: Expelled, Why: WhyNotListed})
		}
	}
	if v.Accused {
		rs = append(rs, Reason{State: Suspended, Why: WhyForkProof})
	}
	if v.Ended {
		rs = append(rs, Reason{State: Left, Why: WhyEnded})
	}
	return rs
}

func upgrade(v View) []Reason {
	if v.Upgrade {
		return []Reason{{State: UpgradeRequired, Why: WhySpec}}
	}
	return nil
}

func forked(v View) []Reason {
	if v.Fork != "" {
		return []Reason{{State: Forked, Why: v.Fork}}
	}
	return nil
}

func expired(v View, at time.Time) []Reason {
	if v.Head != nil && !at.Before(v.Head.ExpiresAt) {
		return []Reason{{State: Expired, Why: WhyCharter}}
	}
	return nil
}

func beacons(v View) (rs []Reason) {
	if v.Head == nil {
		return nil
	}
	have, need := Quorum(v)
	if have >= need {
		return nil
	}
	r := Reason{State: Stale, Why: WhyBeacons, Have: have, Need: need}
	if v.QuorumHeld && v.SinceQuorum >= 0 {
		r.Left = max(0, v.Head.Grace-v.SinceQuorum)
	}
	if !v.Confirmed {
		rs = append(rs, Reason{State: Unconfirmed, Why: WhyBeacons, Have: have, Need: need})
	}
	return append(rs, r)
}

// Allow returns what may be done where all of rs hold: what each of them allows.
// No reason at all allows nothing.
func Allow(rs []Reason) Allowed {
	if len(rs) == 0 {
		return Allowed{}
	}
	all := everything
	for _, r := range rs {
		all = all.and(r.allows())
	}
	return all
}

func (r Reason) allows() Allowed {
	switch r.State {
	case Alone:
		return Allowed{OwnLoans: true, Sign: SignGenesis, OwnLog: true}
	case Recovering:
		return Allowed{OwnLoans: r.Why == string(CauseStart)}
	case Expelled, Left, Replaced, Suspended:
		if r.Why == WhyEnded {
			return Allowed{}
		}
		return Allowed{OwnLoans: true, OwnLog: true}
	case UpgradeRequired:
		return Allowed{OwnLoans: true, OwnLog: true, Beacon: true}
	case Forked:
		return Allowed{OwnLoans: true, LiveReads: true, Sign: SignResolution, OwnLog: true, Beacon: true}
	case Expired:
		return Allowed{OwnLoans: true, Sign: SignAny, OwnLog: true, Beacon: true}
	case Unconfirmed:
		return Allowed{OwnLoans: true, OwnLog: true, Beacon: true}
	case Stale:
		return Allowed{OwnLoans: true, LiveReads: r.Left > 0, Sign: SignAny, OwnLog: true, Beacon: true}
	case Fresh:
		return everything
	}
	return Allowed{}
}

func (a Allowed) and(b Allowed) Allowed {
	return Allowed{
		LiveReads: a.LiveReads && b.LiveReads,
		NewLoans:  a.NewLoans && b.NewLoans,
		OwnLoans:  a.OwnLoans && b.OwnLoans,
		Sign:      a.Sign.and(b.Sign),
		OwnLog:    a.OwnLog && b.OwnLog,
		Beacon:    a.Beacon && b.Beacon,
	}
}

func (s Signing) and(t Signing) Signing {
	low, high := min(s, t), max(s, t)
	if low == high || high == SignAny {
		return low
	}
	return SignNothing
}
