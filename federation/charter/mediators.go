package charter

import "trustnode/did"

// Rungs of the mediation ladder.
const (
	RungJury     = "jury"
	RungNeutral  = "neutral"
	RungRotating = "rotating"
	RungContract = "contract"
	RungPanel    = "panel"
)

// panelSeats is how many a panel needs.
const panelSeats = 3

// Rung is one rung of the ladder and who could sit on it for one pair of parties,
// by what the charter alone says: members that are active and in neither party's
// group. Load, dealings, strikes and recusals come on top at the filing.
type Rung struct {
	Name       string
	Candidates []did.DID // in the order named; rotating and panel: not yet drawn
	Contract   string    // address, on the rung contract alone
}

// Empty tells whether nobody could sit.
func (r Rung) Empty() bool { return len(r.Candidates) == 0 && r.Contract == "" }

// Mediators lists the rungs of the ladder but jury, in order, with who could sit
// between the two parties. A panel with fewer than three is empty.
func Mediators(b Body, x, y did.DID) []Rung {
	s := seatsOf(b)
	var rungs []Rung
	for _, name := range b.Mediation.Ladder {
		if name == RungJury {
			continue
		}
		rungs = append(rungs, s.rung(b.Mediation, name, x, y))
	}
	return rungs
}

// CanMediate tells whether some rung but jury has a candidate between the two; a
// loan between them is refused where it has not.
func CanMediate(b Body, x, y did.DID) bool {
	for _, r := range Mediators(b, x, y) {
		if !r.Empty() {
			return true
		}
	}
	return false
}

// Groups numbers the affiliates: organizations with one number count as one, and
// those that are absent stand alone. Numbers rise with the lowest DID of a group.
func Groups(b Body) map[did.DID]int {
	s := seatsOf(b)
	var tied []did.DID
	for _, t := range b.Mediation.Rotating.Ties {
		tied = append(tied, t.A, t.B)
	}
	number := map[did.DID]int{}
	groups := map[did.DID]int{}
	for _, d := range sortedOnce(tied) {
		top := s.of(d)
		if _, ok := number[top]; !ok {
			number[top] = len(number) + 1
		}
		groups[d] = number[top]
	}
	return groups
}

// seats is who could sit at all, and who belongs together.
type seats struct {
	active map[did.DID]bool
	group  map[did.DID]did.DID // each tied organization to one that stands for its group
	pool   []did.DID           // active members in the draw
	inPool map[did.DID]int     // how many of the pool each group has
}

func seatsOf(b Body) seats {
	s := seats{active: map[did.DID]bool{}, group: map[did.DID]did.DID{}, inPool: map[did.DID]int{}}
	var all []did.DID
	for _, m := range b.ActiveMembers() {
		s.active[m.DID] = true
		all = append(all, m.DID)
	}
	for _, t := range b.Mediation.Rotating.Ties {
		s.group[s.of(t.A)] = s.of(t.B)
	}
	s.pool = all
	if len(b.Mediation.Rotating.Pool) > 0 {
		s.pool = s.only(b.Mediation.Rotating.Pool)
	}
	for _, d := range s.pool {
		s.inPool[s.of(d)]++
	}
	return s
}

// of gives the one that stands for the group of d.
func (s seats) of(d did.DID) did.DID {
	for {
		up, ok := s.group[d]
		if !ok || up == d {
			return d
		}
		d = up
	}
}

func (s seats) only(list []did.DID) []did.DID {
	var active []did.DID
	for _, d := range list {
		if s.active[d] {
			active = append(active, d)
		}
	}
	return active
}

// outside keeps those of the list that are active and in neither party's group.
func (s seats) outside(list []did.DID, x, y did.DID) []did.DID {
	gx, gy := s.of(x), s.of(y)
	var free []did.DID
	for _, d := range s.only(list) {
		if g := s.of(d); g != gx && g != gy {
			free = append(free, d)
		}
	}
	return free
}

func (s seats) rung(m Mediation, name string, x, y did.DID) Rung {
	r := Rung{Name: name}
	switch name {
	case RungNeutral:
		r.Candidates = s.outside(append([]did.DID{m.Neutral.DID}, m.Neutral.Alternates...), x, y)
	case RungContract:
		r.Contract = m.Contract.Address
	case RungRotating:
		r.Candidates = s.outside(s.pool, x, y)
	case RungPanel:
		if c := s.outside(s.pool, x, y); len(c) >= panelSeats {
			r.Candidates = c
		}
	}
	return r
}

// drawn counts the pool outside the groups of both parties, without listing it.
func (s seats) drawn(x, y did.DID) int {
	gx, gy := s.of(x), s.of(y)
	n := len(s.pool) - s.inPool[gx]
	if gx != gy {
		n -= s.inPool[gy]
	}
	return n
}

// pairWithout gives the first pair of active members that no rung but jury serves.
func (s seats) pairWithout(b Body) (x, y did.DID, found bool) {
	need, neutral := 0, false
	for _, name := range b.Mediation.Ladder {
		switch name {
		case RungContract:
			return x, y, false
		case RungRotating:
			need = 1
		case RungPanel:
			if need == 0 {
				need = panelSeats
			}
		case RungNeutral:
			neutral = true
		}
	}
	members := b.ActiveMembers()
	for i, a := range members {
		for _, c := range members[i+1:] {
			served := need > 0 && s.drawn(a.DID, c.DID) >= need ||
				neutral && !s.rung(b.Mediation, RungNeutral, a.DID, c.DID).Empty()
			if !served {
				return a.DID, c.DID, true
			}
		}
	}
	return x, y, false
}
