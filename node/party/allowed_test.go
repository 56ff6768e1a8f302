package party

import (
	"errors"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/mediation"
	"trustnode/node/fault"
)

var (
	harbor = did.MustParse("did:web:harbor.example")
	line   = did.MustParse("did:web:line.example")
	north  = did.MustParse("did:web:north.example")
	pilot  = did.MustParse("did:web:pilot.example")
)

func TestWhoMayFileAgainstWhom(t *testing.T) {
	members := func(active ...did.DID) (out []mediation.Member) {
		for _, d := range []did.DID{harbor, line, north} {
			m := mediation.Member{Org: d}
			for _, a := range active {
				m.Active = m.Active || a == d
			}
			out = append(out, m)
		}
		return out
	}
	neutral := mediation.Terms{Charter: mediation.CharterRef{Seq: 6}, Members: members(harbor, line, north), Ladder: []string{"neutral"}, Neutral: []did.DID{north}}
	with := func(change func(*mediation.Terms)) mediation.Terms {
		out := neutral
		change(&out)
		return out
	}
	noOne := "charter 6 has no candidate for did:web:harbor.example and did:web:line.example; name one: trustnode fed propose --add MEDIATOR.join --no-vote"
	for _, tt := range []struct {
		name         string
		terms        mediation.Terms
		reason, hint string // "" where it may
	}{
		{"a neutral member that is active can sit", neutral, "", ""},
		{"a mediator that left cannot", with(func(t *mediation.Terms) { t.Members = members(harbor, line) }), "no_mediator", noOne},
		{"a mediator of the claimant's house cannot", with(func(t *mediation.Terms) { t.Groups = map[did.DID]int{harbor: 1, north: 1} }), "no_mediator", noOne},
		{"a mediator that never was a member cannot", with(func(t *mediation.Terms) { t.Neutral = []did.DID{pilot} }), "no_mediator", noOne},
		{"a draw finds the third", with(func(t *mediation.Terms) { t.Ladder, t.Neutral = []string{"rotating"}, nil }), "", ""},
		{"a jury alone is nobody to go to", with(func(t *mediation.Terms) { t.Ladder, t.Neutral = []string{"jury"}, nil }), "no_mediator", noOne},
		{"two of one house do not file", with(func(t *mediation.Terms) { t.Groups = map[did.DID]int{harbor: 1, line: 1} }), "one_house", ""},
		{"who was no member does not file", with(func(t *mediation.Terms) { t.Members = t.Members[1:] }), "not_a_member", ""},
	} {
		err := draft{terms: tt.terms, respondent: line}.allowed(harbor)
		var d *fault.Denied
		if tt.reason == "" {
			if err != nil {
				t.Errorf("%s: got %v", tt.name, err)
			}
			continue
		}
		if !errors.As(err, &d) || d.Code != fault.Refused || d.Reason != tt.reason || !strings.Contains(d.Hint, tt.hint) {
			t.Errorf("%s: got %v, hint %q", tt.name, err, d.Hint)
		}
	}
}
