package mediation

import (
	"cmp"
	"slices"
	"time"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// Fold gives the case that facts make of one dispute, as of a moment. Facts of other
// cases are ignored; order and repeats do not matter. It is total: it never fails or
// panics. Without a valid filing the case has no state.
func Fold(t Terms, facts []attestation.Fact, asOf time.Time) Case {
	c := Case{terms: t, Replies: map[uint64]string{}, Facts: map[uint64]attestation.Facts{},
		ready: map[did.DID]int{}, spent: map[did.DID]bool{}, passed: map[State]time.Time{}}
	facts = once(facts)
	open, ok := c.filing(facts, asOf)
	if !ok {
		return c
	}
	moves := c.moves(facts, open, asOf)
	for len(moves) > 0 {
		// Events of one moment are tried again, in order, until none of them is taken.
		n := sameMoment(moves)
		c.silence(moves[0].at)
		c.moment(moves[:n])
		moves = moves[n:]
	}
	c.silence(asOf)
	return c
}

// move is a fact with the time that counts.
type move struct {
	attestation.Fact
	at   time.Time
	word bool // the time is its signer's own word: nobody could have witnessed it
}

func (m move) event() attestation.Event { return m.Event.Body() }

// once orders by organization and index and drops repeats: of one event, that at its
// lowest index, with its body where any copy has it.
func once(in []attestation.Fact) []attestation.Fact {
	sorted := slices.Clone(in)
	slices.SortStableFunc(sorted, func(a, b attestation.Fact) int {
		held := func(f attestation.Fact) int { return min(len(f.Body), 1) }
		return cmp.Or(cmp.Compare(a.Event.Body().Org.String(), b.Event.Body().Org.String()), cmp.Compare(a.Index, b.Index),
			cmp.Compare(held(b), held(a)), compareSeen(a.Witnessed, b.Witnessed))
	})
	seen := map[envelope.ID]bool{}
	return slices.DeleteFunc(sorted, func(f attestation.Fact) bool {
		was := seen[f.Event.ID()]
		seen[f.Event.ID()] = true
		return was
	})
}

// compareSeen puts the copy first that was seen earlier, so that repeats do not matter.
func compareSeen(a, b []attestation.Seen) int {
	return slices.CompareFunc(a, b, func(x, y attestation.Seen) int {
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Org.String(), y.Org.String()))
	})
}

// filing finds the dispute and opens the case: of repeated filings the least (t, id).
func (c *Case) filing(facts []attestation.Fact, asOf time.Time) (move, bool) {
	var best move
	found := false
	for _, f := range facts {
		e := f.Event.Body()
		if e.Type != "dispute.filed" || e.Subject != e.Body.String() {
			continue
		}
		d, err := ParseDispute(f.Body)
		if err != nil || envelope.IDOf(f.Body) != e.Body || !c.terms.admits(d, e.Org) {
			continue
		}
		m, ok := c.when(f, e.Org, d.Against)
		if !ok || m.at.After(asOf) {
			continue
		}
		if !found || m.at.Before(best.at) || m.at.Equal(best.at) && f.Event.ID().String() < best.Event.ID().String() {
			best, found = m, true
			c.ID, c.Dispute, c.Claimant, c.Respondent = e.Body, d, e.Org, d.Against
		}
	}
	if found {
		c.filed = best.at
		c.enter(Filed, best.at, c.terms.Respond)
		c.took(best)
	}
	return best, found
}

// when is T-1: the first cosignature by an organization other than the event's own and
// outside both houses. Where no such member exists the event's at counts, and the case
// says that it is unwitnessed; where one exists and has not cosigned, the event has no
// time yet.
func (c *Case) when(f attestation.Fact, a, b did.DID) (move, bool) {
	own := f.Event.Body().Org
	counts := func(o did.DID) bool { return !c.terms.sameGroup(o, own) && c.terms.Neither(o, a, b) }
	if at, ok := f.SeenOutside(counts); ok {
		return move{Fact: f, at: at.Time()}, true
	}
	if slices.ContainsFunc(c.terms.Members, func(m Member) bool { return m.Active && counts(m.Org) }) {
		return move{}, false
	}
	return move{f, f.Event.Body().At.Time(), true}, true
}

// moves gives every other fact of the case that has a time, in the order it is taken.
func (c *Case) moves(facts []attestation.Fact, open move, asOf time.Time) []move {
	var out []move
	count := map[did.DID]int{}
	for _, f := range facts {
		e := f.Event.Body()
		if e.Subject != c.ID.String() || f.Event.ID() == open.Event.ID() {
			continue
		}
		if count[e.Org]++; count[e.Org] > MaxEvents {
			c.ignore(f, "too_many")
			continue
		}
		if m, ok := c.when(f, c.Claimant, c.Respondent); ok && !m.at.After(asOf) {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b move) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.event().Org.String(), b.event().Org.String()), cmp.Compare(a.Index, b.Index))
	})
	return out
}

func sameMoment(ms []move) int {
	n := 1
	for n < len(ms) && ms[n].at.Equal(ms[0].at) {
		n++
	}
	return n
}

// moment takes the events of one time until none of them is taken any more.
func (c *Case) moment(ms []move) {
	left := slices.Clone(ms)
	for {
		var rest []move
		for _, m := range left {
			if !c.take(m) {
				rest = append(rest, m)
			}
		}
		if len(rest) == len(left) || len(rest) == 0 {
			left = rest
			break
		}
		left = rest
	}
	for _, m := range left {
		c.ignore(m.Fact, c.refusal(m))
	}
}

func (c *Case) refusal(m move) string {
	if err := c.May(m.event().Org, m.event().Type); err != nil {
		return err.Error()
	}
	return "not valid"
}

func (c *Case) ignore(f attestation.Fact, why string) {
	e := f.Event.Body()
	c.Ignored = append(c.Ignored, Ignored{f.Event.ID(), e.Type, e.Org, why})
}

func (c *Case) took(m move) {
	e := m.event()
	c.Unwitnessed = c.Unwitnessed || m.word
	c.Events = append(c.Events, Taken{m.Event.ID(), e.Type, e.Org, m.Index, m.at})
}

// enter opens a state with a deadline; a zero duration means none.
func (c *Case) enter(s State, at time.Time, within time.Duration) {
	c.State, c.Since, c.Deadline = s, at, time.Time{}
	if within > 0 {
		c.Deadline = at.Add(within)
	}
}

// silence applies everything that waiting until now leads to. What comes right at a
// deadline with its grace is in time, so silence has its effect after it.
func (c *Case) silence(now time.Time) {
	for !c.Deadline.IsZero() {
		at := c.Deadline.Add(Grace)
		if !now.After(at) {
			return
		}
		c.passed[c.State] = c.Deadline
		c.silent(at)
	}
}

// silent is what silence leads to in the state of the case.
func (c *Case) silent(at time.Time) {
	switch c.State {
	case Filed:
		c.Defaulted = true
		c.nextRung(at)
	case Evidence:
		c.nextRung(at)
	case Drawing:
		if !c.Mediator.IsZero() { // who sits and was struck by nobody goes on
			c.enter(Deliberation, at, c.terms.Decide)
			return
		}
		c.skip(at)
	case Deliberation:
		c.skip(at)
	case Ruled:
		c.enter(Final, at, c.terms.Enforce)
	case Final:
		c.enter(Enforced, at, 0)
	}
}

// nextRung goes to the first rung after the current one that somebody could sit on. One
// that this version cannot fill is stayed at and named.
func (c *Case) nextRung(at time.Time) {
	i := slices.Index(c.terms.Ladder, c.Rung) + 1
	c.Candidate, c.Mediator, c.skips, c.Place = did.DID{}, did.DID{}, 0, 0
	for _, rung := range c.terms.Ladder[i:] {
		c.Rung = rung
		switch {
		case rung == "neutral":
			if c.offer(at) {
				return
			}
		case rung == "rotating" && c.free() < 1, rung == "panel" && c.free() < panelSeats:
			// Nobody left: next rung, never an empty seat.
		default:
			c.Beyond = "rung " + rung
			c.enter(Drawing, at, 0)
			return
		}
	}
	c.enter(Unresolved, at, 0)
}

// free counts who could be drawn.
func (c *Case) free() int {
	n := 0
	for _, o := range c.terms.candidates(c.terms.pool(), c.Claimant, c.Respondent) {
		if !c.spent[o] {
			n++
		}
	}
	return n
}

// offer offers the seat to the next candidate of the rung neutral, or says that the rung
// is over.
func (c *Case) offer(at time.Time) bool {
	if c.skips >= maxSkips {
		return false
	}
	for i, o := range c.terms.candidates(c.terms.Neutral, c.Claimant, c.Respondent) {
		if !c.spent[o] {
			c.Candidate, c.Mediator, c.Place = o, did.DID{}, uint64(i)
			c.enter(Drawing, at, c.terms.Ack)
			return true
		}
	}
	return false
}

// pass gives the seat to the next candidate.
func (c *Case) pass(at time.Time) {
	c.spent[c.Candidate] = true
	if !c.offer(at) {
		c.nextRung(at)
	}
}

// skip is pass after silence or two rulings; three of them end a rung.
func (c *Case) skip(at time.Time) {
	c.skips++
	c.pass(at)
}
