package casefile

import (
	"time"

	"trustnode/did"
	"trustnode/federation/charter"
	"trustnode/mediation"
)

// TermsOf gives what charter seq of a chain fixes for the cases it governs: members and
// mediators are its own, and the head of the chain says which of them still are active.
// The zero Terms, under which nothing can be filed, where the chain has no such charter.
// Terms.Parties is left to whoever knows the loans.
func TermsOf(c charter.Chain, seq uint64) mediation.Terms {
	g, ok := c.At(seq)
	if !ok {
		return mediation.Terms{}
	}
	return termsOf(g, c.Head().Body)
}

func termsOf(g charter.Head, head charter.Body) mediation.Terms {
	m := g.Mediation
	t := mediation.Terms{
		Charter: mediation.CharterRef{ID: g.ID, Seq: g.Seq},
		Members: membersOf(g.Body, head), Groups: groupsOf(m.Rotating.Ties),
		Ladder: m.Ladder, Pool: m.Rotating.Pool,
		Respond: seconds(m.RespondWithinS), Evidence: seconds(m.EvidenceWithinS), Ack: seconds(m.AckWithinS),
		Decide: seconds(m.DecideWithinS), Appeal: seconds(m.AppealWithinS), Enforce: seconds(m.EnforceWithinS),
	}
	if m.Neutral != nil {
		t.Neutral = append([]did.DID{m.Neutral.DID}, m.Neutral.Alternates...)
	}
	return t
}

func seconds(n uint64) time.Duration { return time.Duration(n) * time.Second }

func membersOf(governing, head charter.Body) []mediation.Member {
	active := map[did.DID]bool{}
	for _, m := range head.ActiveMembers() {
		active[m.DID] = true
	}
	var out []mediation.Member
	for _, m := range governing.ActiveMembers() {
		out = append(out, mediation.Member{Org: m.DID, Active: active[m.DID]})
	}
	return out
}

// groupsOf numbers the groups of affiliates; ties are symmetric and transitive.
func groupsOf(ties []charter.Tie) map[did.DID]int {
	out := map[did.DID]int{}
	for n, t := range ties {
		a, oka := out[t.A]
		b, okb := out[t.B]
		switch {
		case oka && okb:
			for d, g := range out {
				if g == b {
					out[d] = a
				}
			}
		case oka:
			out[t.B] = a
		case okb:
			out[t.A] = b
		default:
			out[t.A], out[t.B] = n, n
		}
	}
	return out
}
