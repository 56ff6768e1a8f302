package charter

import (
	"time"

	"trustnode/did"
)

// Authorities under which a charter is made.
const (
	AuthorityGovernance = "governance"
	AuthorityRecovery   = "recovery"
	AuthorityResolution = "resolution"
)

// Statuses of a member. Append-only.
const (
	StatusActive    = "active"
	StatusSuspended = "suspended"
	StatusExpelled  = "expelled"
	StatusLeft      = "left"
	StatusReplaced  = "replaced"
)

// Voter tells whether the member is active and votes.
func (m Member) Voter() bool { return m.Status == StatusActive && m.Votes }

// Active tells whether the member is active.
func (m Member) Active() bool { return m.Status == StatusActive }

// Member gives the record of an organization, whatever its status.
func (b Body) Member(d did.DID) (Member, bool) {
	for _, m := range b.Members {
		if m.DID == d {
			return m, true
		}
	}
	return Member{}, false
}

// ByKey gives the member whose charter key is k, compared as raw bytes.
func (b Body) ByKey(k did.PublicKey) (Member, bool) {
	for _, m := range b.Members {
		if m.Key.Pub == k {
			return m, true
		}
	}
	return Member{}, false
}

// ActiveMembers lists the active members, sorted by DID.
func (b Body) ActiveMembers() []Member { return b.where(Member.Active) }

// Voters lists the active members that vote, sorted by DID.
func (b Body) Voters() []Member { return b.where(Member.Voter) }

func (b Body) where(keep func(Member) bool) []Member {
	var list []Member
	for _, m := range b.Members {
		if keep(m) {
			list = append(list, m)
		}
	}
	return list
}

// Expired tells whether the charter's time is over; that stops business, never repair.
func (b Body) Expired(at time.Time) bool { return !at.Before(b.ExpiresAt.Time()) }

// NeedsUpgrade lists what a node with these rules does not know: critical names,
// or the version asked for. Empty: it may act on the charter.
func (b Body) NeedsUpgrade() []string {
	unknown := append([]string(nil), b.Spec.Critical...)
	if b.Spec.Min > SpecVersion {
		unknown = append(unknown, "spec")
	}
	return unknown
}
