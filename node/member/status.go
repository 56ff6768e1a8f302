package member

import (
	"context"
	"fmt"
	"strings"
	"time"

	"trustnode/federation"
	"trustnode/federation/charter"
	"trustnode/node/fault"
	"trustnode/node/self"
)

// Status tells of the node's place in its federation.
func (m *Member) Status(_ context.Context, at time.Time) (Status, error) {
	state, reasons, may := m.State(at)
	s := Status{State: state, Allowed: may, Reasons: m.Words(reasons), Peers: []PeerStatus{}}
	chain, ok := m.Charter()
	if !ok {
		return s, nil
	}
	h := chain.Head()
	s.Federation = &FedStatus{ID: chain.Federation(), Name: h.Name, Seq: h.Seq, Charter: h.ID, Fingerprint: charter.Fingerprint(chain.Federation()), ExpiresAt: h.ExpiresAt}
	if h.Mediation.Neutral != nil {
		s.Federation.Mediator = h.Mediation.Neutral.DID
	}
	for _, r := range m.others() {
		s.Peers = append(s.Peers, m.peer(r, at))
	}
	return s, nil
}

func (m *Member) peer(r charter.Member, at time.Time) PeerStatus {
	p := PeerStatus{Org: r.DID, Name: r.Name, Held: m.cfg.Size(r.DID)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if b, ok := m.bindings[r.DID]; ok {
		p.Bound = m.holds(b, r) && b.body.Valid(at, seconds(m.chain.Head().Policy.ClockSkewS))
	}
	if h, ok := m.beacons[r.DID]; ok && h.body.Federation == m.chain.Federation() {
		p.BeaconN, p.HeardAt, p.Live = h.body.N, h.body.At, h.live
		if h.live {
			p.Age = m.cfg.Mono() - h.first
		}
	}
	return p
}

// Words says reasons to people: the fact, and what to do. A fresh node has none.
func (m *Member) Words(reasons []federation.Reason) []string {
	out := []string{}
	for _, r := range reasons {
		if w := m.word(r); w != "" {
			out = append(out, w)
		}
	}
	return out
}

func (m *Member) word(r federation.Reason) string {
	c, _ := m.Charter()
	h := c.Head()
	switch r.State {
	case federation.Alone:
		return "in no federation yet: trustnode fed create makes one, trustnode fed join-request asks for a place in one"
	case federation.Recovering:
		return m.recoveringWord(federation.Cause(r.Why))
	case federation.Expelled, federation.Left, federation.Replaced, federation.Suspended:
		if r.Why == federation.WhyNotListed {
			return fmt.Sprintf("charter %d does not list this organization", h.Seq)
		}
		if r.Why == federation.WhyEnded {
			return "this organization has deactivated its DID: nothing is signed any more, its past still verifies"
		}
		if r.Why == federation.WhyForkProof {
			return m.forkWord()
		}
		return fmt.Sprintf("this organization is %s at charter %d", r.State, h.Seq)
	case federation.UpgradeRequired:
		return fmt.Sprintf("charter %d asks for %s: upgrade trustnode", h.Seq, strings.Join(h.NeedsUpgrade(), ", "))
	case federation.Forked:
		return fmt.Sprintf("two charters of one place are signed, this node follows %s: the voters who signed one of them settle it", h.ID)
	case federation.Expired:
		return fmt.Sprintf("charter %d expired at %s: %d of %d voters sign a newer one", h.Seq, h.ExpiresAt, h.Governance.Threshold, len(h.Voters()))
	case federation.Unconfirmed:
		return "no quorum was heard since the charter was taken from a file"
	case federation.Stale:
		return m.staleWord(r)
	}
	return ""
}

// forkWord says that the own DID is frozen.
func (m *Member) forkWord() string {
	if list, err := m.n.Rec.Forks(context.Background(), m.n.Org); err == nil && len(list) > 0 {
		a, b := list[0].A.Head, list[0].B.Head
		return fmt.Sprintf("two heads of our log are signed that exclude each other, of sizes %d and %d: two copies of this node ran, or the log went on after entries were lost; "+
			"nothing is lent to us or by us, and running loans rest, until a charter names the branch that stands", a.Size, b.Size)
	}
	const rest = "nobody takes anything new under our keys until that is decided: trustnode did show lists both"
	f, err := m.n.Ring.Forked(context.Background(), m.n.Org)
	if err != nil || f == nil {
		return "our DID log has two branches; " + rest
	}
	return fmt.Sprintf("two entries %d of our DID log are signed, %s and %s, so a next update key is in other hands or was used twice; %s", f.Number, f.Held, f.Offered, rest)
}

func (m *Member) recoveringWord(c federation.Cause) string {
	switch c {
	case federation.CauseStart:
		return "waiting for 1 more peer to confirm our last head; nothing is signed until then"
	case federation.CauseShown:
		return "a peer holds a number of ours above what is here; nothing is signed until that is synced back"
	}
	if behind := self.Behind(context.Background(), m.n.Ring, m.n.Org); behind != nil {
		return fault.From(behind).Detail + ": peers bring the rest while the node runs; or restore a newer backup"
	}
	return "the data are older than what this node has signed: peers bring the missing part, or restore a newer backup"
}

// staleWord counts the beacons and names the voters that were not heard.
func (m *Member) staleWord(r federation.Reason) string {
	s := fmt.Sprintf("heard %d of %d", r.Have, r.Need)
	m.mu.Lock()
	defer m.mu.Unlock()
	within := seconds(m.chain.Head().Policy.FreshWithinS)
	for _, v := range m.chain.Head().Voters() {
		h, ok := m.beacons[v.DID]
		switch age := m.cfg.Mono() - h.first; {
		case v.DID == m.n.Org || h.live && age < within:
		case !ok:
			s += "; " + place(v.DID) + " was never heard"
		case !h.live:
			s += "; " + place(v.DID) + " was not heard since the start"
		default:
			s += fmt.Sprintf("; %s last seen %d min ago", place(v.DID), int(age/time.Minute))
		}
	}
	if r.Left > 0 {
		s += fmt.Sprintf("; running loans are read for %s more", r.Left.Round(time.Minute))
	}
	return s
}
