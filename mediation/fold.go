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
	c := Case{terms: t, Replies: map[uint64]string{}, Facts: map[uint64]attestation.Facts{}, ready: map[did.DID]int{}, spent: map[did.DID]bool{}}
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
	at time.Time
}

func (m move) event() attestation.Event { return m.Event.Body() }

// once drops repeats and orders by organization and index.
func once(in []attestation.Fact) []attestation.Fact {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b attestation.Fact) int {
		return cmp.Or(cmp.Compare(a.Event.Body().Org.String(), b.Event.Body().Org.String()), cmp.Compare(a.Index, b.Index))
	})
	return slices.CompactFunc(out, func(a, b attestation.Fact) bool { return a.Event.ID() == b.Event.ID() })
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
		if err != nil || envelope.IDOf(f.Body) != e.Body || !c.terms.governs(d) || c.terms.MayFile(e.Org, d.Against) != "" {
			continue
		}
		at, ok := c.when(f, e.Org, d.Against)
		if !ok || at.After(asOf) {
			continue
		}
		m := move{f, at}
		if !found || at.Before(best.at) || at.Equal(best.at) && e.Body.String() < best.event().Body.String() {
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
func (c *Case) when(f attestation.Fact, a, b did.DID) (time.Time, bool) {
	own := f.Event.Body().Org
	counts := func(o did.DID) bool { return !c.terms.sameGroup(o, own) && c.terms.outside(o, a, b) }
	if at, ok := f.SeenOutside(counts); ok {
		return at.Time(), true
	}
	if slices.ContainsFunc(c.terms.Members, func(m Member) bool { return counts(m.Org) }) {
		return time.Time{}, false
	}
	c.Unwitnessed = true
	return f.Event.Body().At.Time(), true
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
		at, ok := c.when(f, c.Claimant, c.Respondent)
		if !ok || at.After(asOf) {
			continue
		}
		out = append(out, move{f, at})
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
	c.Events = append(c.Events, Taken{m.Event.ID(), e.Type, e.Org, m.Index, m.at})
}

// enter opens a state with a deadline; a zero duration means none.
func (c *Case) enter(s State, at time.Time, within time.Duration) {
	c.State, c.Since, c.Deadline = s, at, time.Time{}
	if within > 0 {
		c.Deadline = at.Add(within)
	}
}

// silence applies everything that waiting until `now` leads to.
func (c *Case) silence(now time.Time) {
	for {
		to, at := c.Next()
		if to == "" || now.Before(at) {
			return
		}
		switch c.State {
		case Filed:
			c.Defaulted = true
			c.nextRung(at)
		case Evidence:
			c.nextRung(at)
		case Drawing, Deliberation:
			c.skip(at, true)
		case Ruled:
			c.enter(Final, at, c.terms.Enforce)
		case Final:
			c.enter(Enforced, at, 0)
		}
	}
}

// nextRung goes to the first rung after the current one. A rung that this version cannot
// fill is stayed at and named.
func (c *Case) nextRung(at time.Time) {
	i := slices.Index(c.terms.Ladder, c.Rung) + 1
	c.Candidate, c.Mediator, c.skips, c.Place = did.DID{}, did.DID{}, 0, 0
	if i >= len(c.terms.Ladder) {
		c.enter(Unresolved, at, 0)
		return
	}
	c.Rung = c.terms.Ladder[i]
	if c.Rung != "neutral" {
		c.Beyond = "rung " + c.Rung
		c.enter(Drawing, at, 0)
		return
	}
	c.seatNext(at)
}

// seatNext offers the seat to the next candidate of the rung, or goes on to the next rung.
func (c *Case) seatNext(at time.Time) {
	for i, o := range c.terms.candidates(c.Rung, c.Claimant, c.Respondent) {
		if !c.spent[o] && c.skips < maxSkips {
			c.Candidate, c.Mediator, c.Place = o, did.DID{}, uint64(i)
			c.enter(Drawing, at, c.terms.Ack)
			return
		}
	}
	c.nextRung(at)
}

// skip passes a seat on: after silence, a recusal or a missed ruling.
func (c *Case) skip(at time.Time, counts bool) {
	if c.Beyond != "" {
		return
	}
	c.spent[c.Candidate] = true
	if counts {
		c.skips++
	}
	c.seatNext(at)
}
