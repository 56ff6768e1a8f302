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
	Respond, Evidence, Ack, Decide,
	Appeal, Enforce time.Duration
}

// Member is one organization of the charter that governs a case.
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
func (t Terms) outside(o, a, b did.DID) bool {
	return t.active(o) && !t.sameGroup(o, a) && !t.sameGroup(o, b)
}

// candidates lists who may sit on a rung for a pair, in order. Only neutral has an order
// that needs no draw.
func (t Terms) candidates(rung string, a, b did.DID) []did.DID {
	if rung != "neutral" {
		return nil
	}
	var out []did.DID
	for _, o := range t.Neutral {
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
	case !slices.ContainsFunc(t.Members, func(m Member) bool { return m.Org == a }):
		return "not_a_member"
	case !slices.ContainsFunc(t.Members, func(m Member) bool { return m.Org == b }):
		return "not_a_member"
	}
	return ""
}

// governs says whether a dispute names the charter these terms were made of.
func (t Terms) governs(d Dispute) bool { return d.Charter == t.Charter }

var zeroID envelope.ID
