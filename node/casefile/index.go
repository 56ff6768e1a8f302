package casefile

import (
	"cmp"
	"slices"
	"strings"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// index finds entries of a Set without a look at each.
type index struct {
	rotated []Entry                 // each key.rotated
	anchors map[anchor][]int        // entries by type and the first id they rest on
	cited   map[envelope.ID]did.DID // whose log first rests on an id
	issuers map[did.DID][]did.DID   // organizations that issued an agent, in the order of the entries
	agents  map[string][]int        // agent.* entries by subject
}

type anchor struct {
	typ attestation.Type
	id  envelope.ID
}

// newIndex looks at entries once, in their order.
func newIndex(entries []Entry) index {
	x := index{anchors: map[anchor][]int{}, cited: map[envelope.ID]did.DID{}, issuers: map[did.DID][]did.DID{}, agents: map[string][]int{}}
	for i, e := range entries {
		ev := e.event()
		for n, id := range ev.Refs {
			if n == 0 {
				x.anchors[anchor{ev.Type, id}] = append(x.anchors[anchor{ev.Type, id}], i)
			}
			if _, ok := x.cited[id]; !ok {
				x.cited[id] = ev.Org
			}
		}
		if strings.HasPrefix(string(ev.Type), "agent.") {
			x.agents[ev.Subject] = append(x.agents[ev.Subject], i)
		}
		var d attestation.AgentIssued
		switch {
		case ev.Type == "key.rotated":
			x.rotated = append(x.rotated, e)
		case ev.Type == "agent.issued" && ev.Decode(&d) == nil && !slices.Contains(x.issuers[d.Agent], ev.Org):
			x.issuers[d.Agent] = append(x.issuers[d.Agent], ev.Org)
		}
	}
	return x
}

// at gives the entry at an index of a log.
func (s Set) at(org did.DID, index uint64) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(s.Entries, index, func(e Entry, index uint64) int {
		return cmp.Or(cmp.Compare(e.event().Org.String(), org.String()), cmp.Compare(e.Index, index))
	})
	if !ok {
		return Entry{}, false
	}
	return s.Entries[i], true
}
