package mediation

import (
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Terms is what a charter fixes for a case before it is filed. The node makes it of
// the charter that governs the case.
type Terms struct {
	Charter CharterRef
	Members []Member
	Groups  map[did.DID]int // affiliates; an organization that is absent stands alone
	Ladder  []string        // rungs in order
	Neutral []did.DID       // the neutral mediator, then its alternates
	Pool    []did.DID       // of draws and panels; empty: every active member
	// Parties names, by permission, the organizations of lender and borrower, as verified
	// events say; nobody else may file over it. A permission that is absent is not checked.
	Parties map[envelope.ID][2]did.DID
	Respond, Evidence, Ack, Decide,
	Appeal, Enforce time.Duration
}

// Member is one organization that was active in the charter that governs a case.
type Member struct {
	Org    did.DID
	Active bool // still, at the head in force now
}

// sameGroup says whether two organizations count as one.
func (t Terms) sameGroup(a, b did.DID) bool {
	if a == b {
		return true
	}
	ga, oka := t.Groups[a]
	gb, okb := t.Groups[b]
	return oka && okb && ga == gb
}

func (t Terms) active(o did.DID) bool {
	return slices.Contains(t.Members, Member{Org: o, Active: true})
}

// outside says whether o is an active member that belongs to neither party.
func (t Terms) outside(o, a, b did.DID) bool { return t.active(o) && t.Neither(o, a, b) }

// Neither says whether o is a member, then or now, that belongs to neither party: its
// cosignature gives a step its time. Who left later does not take back what it saw.
func (t Terms) Neither(o, a, b did.DID) bool {
	return t.member(o) && !t.sameGroup(o, a) && !t.sameGroup(o, b)
}

func (t Terms) member(o did.DID) bool {
	return slices.ContainsFunc(t.Members, func(m Member) bool { return m.Org == o })
}

// pool lists who could be drawn at all.
func (t Terms) pool() []did.DID {
	if len(t.Pool) > 0 {
		return t.Pool
	}
	var all []did.DID
	for _, m := range t.Members {
		all = append(all, m.Org)
	}
	return all
}

// candidates keeps those of a list who may sit between a pair, in the list's order.
func (t Terms) candidates(list []did.DID, a, b did.DID) []did.DID {
	var out []did.DID
	for _, o := range list {
		if t.outside(o, a, b) && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// MayFile says whether a may file against b under these terms: both members, and not
// one house. It gives the reason a filing is refused for, or "".
func (t Terms) MayFile(a, b did.DID) string {
	switch {
	case t.sameGroup(a, b):
		return "one_house"
	case !t.member(a), !t.member(b):
		return "not_a_member"
	}
	return ""
}

// admits says whether the terms let a file this dispute: it names the charter they were
// made of, and the two are the organizations of every permission it is about.
func (t Terms) admits(d Dispute, a did.DID) bool {
	for _, c := range d.Claims {
		p, known := t.Parties[c.Perm]
		if known && p != [2]did.DID{a, d.Against} && p != [2]did.DID{d.Against, a} {
			return false
		}
	}
	return d.Charter == t.Charter && t.MayFile(a, d.Against) == ""
}
