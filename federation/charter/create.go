package charter

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Options is what New needs beside the defaults.
type Options struct {
	Name      string
	Members   []Member   // as Join.Member(0) makes them, in any order
	Mediators []did.DID  // the first is asked first, the rest are its alternates; the ladder is then neutral, rotating
	Mediation *Mediation // the whole object instead of Mediators; nil and no Mediators: jury, rotating, panel
	Threshold uint64     // 0: DefaultThreshold of the voters

	Recovery          []Key         // keys on no node; needed while two or fewer vote
	RecoveryThreshold uint64        // 0: 1 if there are keys
	RecoveryDelay     time.Duration // 0: 3 days
	Policy            *Policy       // nil: DefaultPolicy
	Life              time.Duration // 0: 180 days
}

// DefaultThreshold is n for n ≤ 2, else the lower of ⌊2n/3⌋+1 and n-1.
func DefaultThreshold(n int) uint64 {
	if n <= 2 {
		return uint64(n)
	}
	return uint64(min(2*n/3+1, n-1))
}

// DefaultPolicy is the policy where nothing else is said, for n voters and
// threshold t.
func DefaultPolicy(n int, t uint64) Policy {
	quorum, _ := freshBounds(uint64(n), t)
	return Policy{BeaconEveryS: 300, ClockSkewS: 120, FreshQuorum: quorum, FreshWithinS: 900,
		MaxLoanTTLS: 30 * day, MaxReadsPerLoan: 1_000_000, OfflineGraceS: day}
}

// DefaultMediation is the ladder jury, rotating, panel, or, with mediators named,
// neutral, rotating.
func DefaultMediation(mediators ...did.DID) Mediation {
	m := Mediation{AckWithinS: day, AppealWithinS: 7 * day, DecideWithinS: 10 * day, EnforceWithinS: 7 * day,
		EvidenceWithinS: 7 * day, RespondWithinS: 7 * day, VoteWithinS: 7 * day,
		Rotating: Rotating{Pool: []did.DID{}, Ties: []Tie{}}}
	if len(mediators) == 0 {
		m.Ladder = []string{RungJury, RungRotating, RungPanel}
		m.Jury = &Jury{Mode: "rules", Size: 5}
		return m
	}
	m.Ladder = []string{RungNeutral, RungRotating}
	m.Neutral = &Neutral{DID: mediators[0], Alternates: append([]did.DID{}, mediators[1:]...)}
	return m
}

// New makes the body of a genesis, issued and in force at at. A *Refused says which
// rule of form or structure it would break.
func New(o Options, at time.Time) (Body, error) {
	nonce := make([]byte, nonceBytes)
	if _, err := rand.Read(nonce); err != nil {
		return Body{}, err
	}
	b := Body{Authority: AuthorityGovernance, Ext: envelope.Raw("{}"), Members: slices.Clone(o.Members), Name: o.Name,
		Nonce: base64.RawURLEncoding.EncodeToString(nonce), Released: []envelope.ID{},
		Spec: Spec{Critical: []string{}, Max: SpecVersion, Min: SpecVersion}}
	sortMembers(b.Members)
	b.during(at, o.Life)
	n := len(b.Voters())
	b.Governance.Threshold = or(o.Threshold, DefaultThreshold(n))
	b.Recovery = o.recovery()
	b.Policy = DefaultPolicy(n, b.Governance.Threshold)
	if o.Policy != nil {
		b.Policy = *o.Policy
	}
	b.Mediation = DefaultMediation(o.Mediators...)
	if o.Mediation != nil {
		b.Mediation = *o.Mediation
	}
	if err := b.Sound(); err != nil {
		return Body{}, err
	}
	return b, nil
}

func (o Options) recovery() Recovery {
	r := Recovery{DelayS: 3 * day, Keys: append([]Key{}, o.Recovery...), Threshold: o.RecoveryThreshold}
	if o.RecoveryDelay > 0 {
		r.DelayS = uint64(o.RecoveryDelay / time.Second)
	}
	if len(r.Keys) > 0 {
		r.Threshold = or(r.Threshold, 1)
	}
	return r
}

// Amend gives the body of a child of h that changes nothing but its place and its
// times, for a caller to change further: issued and in force at at, for life (0: 180
// days). It shares no memory with h.
func Amend(h Head, federation envelope.ID, at time.Time, life time.Duration) (Body, error) {
	raw, err := envelope.Marshal(h.Body)
	if err != nil {
		return Body{}, err
	}
	var b Body
	if err := envelope.Unmarshal(raw, &b); err != nil {
		return Body{}, err
	}
	b.Authority, b.Resolves, b.Nonce = AuthorityGovernance, envelope.ID{}, ""
	b.Round, b.Released = 0, []envelope.ID{}
	b.Seq, b.Prev, b.Federation = h.Seq+1, h.ID, federation
	b.during(at, life)
	return b, nil
}

// Add puts the record of a newcomer into b, in its place.
func (b *Body) Add(m Member) {
	b.Members = append(slices.Clip(b.Members), m)
	sortMembers(b.Members)
}

// Sound tests form and structure (A1, A8) with neither parent nor keys; it returns
// a *Refused.
func (b Body) Sound() error {
	if err := b.Check(); err != nil {
		return refuse(StepForm, "%v", err)
	}
	if f := structure(b); f != nil {
		return refuse(f.Step, "%s", f.What)
	}
	return nil
}

func (b *Body) during(at time.Time, life time.Duration) {
	if life == 0 {
		life = defaultLife
	}
	b.IssuedAt = envelope.TimeOf(at)
	b.NotBefore = b.IssuedAt
	b.ExpiresAt = b.IssuedAt.Add(life)
}

func sortMembers(list []Member) {
	slices.SortFunc(list, func(a, b Member) int { return strings.Compare(a.DID.String(), b.DID.String()) })
}

func or(v, otherwise uint64) uint64 {
	if v == 0 {
		return otherwise
	}
	return v
}
