package member

import (
	"slices"
	"time"

	"trustnode/did"
)

// Stated returns how long ago it was last said how far the log of an organization goes, and
// false while nobody has said it in this run: by the organization itself, or by a quorum of
// the other active members, in their beacons. Of the own log this node knows at once.
func (m *Member) Stated(of did.DID) (time.Duration, bool) {
	if of == m.n.Org {
		return 0, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.chain.IsZero() {
		return 0, false
	}
	head := m.chain.Head()
	var others []time.Duration
	for org, h := range m.beacons {
		if r, ok := head.Member(org); !h.live || !ok || !r.Active() || h.body.Federation != m.chain.Federation() {
			continue
		}
		age := m.cfg.Mono() - h.first
		if org == of {
			others = append(others, slices.Repeat([]time.Duration{age}, int(head.Policy.FreshQuorum))...)
			continue
		}
		for _, s := range h.body.Heads {
			if s.DID == of && org != m.n.Org {
				others = append(others, age)
			}
		}
	}
	need := int(head.Policy.FreshQuorum)
	if need == 0 || len(others) < need {
		return 0, false
	}
	slices.Sort(others)
	return others[need-1], true
}

// Silent returns how long nothing was heard of an organization, and false while it was not
// heard in this run.
func (m *Member) Silent(org did.DID) (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, ok := m.beacons[org]
	return m.cfg.Mono() - h.first, ok && h.live
}
