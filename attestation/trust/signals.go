package trust

import (
	"math"
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// Bounds of the events, in seconds.
const (
	surfacedWithin = 900        // from seen_at to t
	clockLead      = 300        // how far a seen_at may lie after t
	takenAfter     = 604_800    // 7 days from loan.ended until loan.taken stands in for a missing end
	narrowLoan     = 2_592_000  // 30 days
	longLoan       = 31_536_000 // 365 days
	looseReads     = 1_000_000
)

// wide are the hygiene codes that keep a loan from counting as narrow.
var wide = []string{"H1", "H2", "H3", "H4", "H5", "H6", "H10"}

// Signals turns the facts of agents and loans into signals. A fact that nobody but its
// own organization has cosigned says nothing yet. ruled names the permissions on which
// a final ruling found a violation: such a loan was not honored.
func Signals(facts []attestation.Fact, ruled map[envelope.ID]bool) []Signal {
	l := loans{orgs: Orgs(facts), own: map[claim]bool{}, by: map[envelope.ID]*loan{}, ruled: ruled}
	for _, f := range facts {
		l.read(f)
	}
	var out []Signal
	for _, x := range l.by {
		out = append(out, l.signals(x)...)
	}
	return out
}

// Orgs says whose each agent is: the organization whose agent.issued for it was seen
// first by another one; of those that nobody saw yet, the one of the lowest id. A later
// claim on the same agent changes nothing.
func Orgs(facts []attestation.Fact) map[did.DID]did.DID {
	best := map[did.DID]seen{}
	for _, f := range facts {
		e := f.Event.Body()
		var d attestation.AgentIssued
		if e.Type != "agent.issued" || e.Decode(&d) != nil {
			continue
		}
		at, ok := When(f)
		if !ok {
			at = math.MaxInt64
		}
		best[d.Agent] = first(best[d.Agent], seen{id: f.Event.ID(), at: at, org: e.Org})
	}
	out := make(map[did.DID]did.DID, len(best))
	for agent, s := range best {
		out[agent] = s.org
	}
	return out
}

// claim is an organization that says an agent is its own.
type claim struct{ org, agent did.DID }

// seen is an event with the time that counts.
type seen struct {
	id   envelope.ID
	at   int64
	made int64 // what its signer says, but never later than at
	org  did.DID
}

func (s seen) ok() bool { return !s.id.IsZero() }

// loan gathers what the logs say of one permission.
type loan struct {
	issues              []issue // anybody may claim to have issued it; only the lender's own counts
	revokes, end, taken []seen
	ends                []endSeen
}

type issue struct {
	seen
	attestation.LoanIssued
}

// settled is a loan with only what its two sides said.
type settled struct {
	issue
	lender, borrower did.DID // their organizations
	revoked, ended   seen
	taken            seen
	saw              endSeen
}

type endSeen struct {
	seen
	attestation.LoanEndSeen
}

type loans struct {
	orgs  map[did.DID]did.DID
	own   map[claim]bool
	by    map[envelope.ID]*loan
	ruled map[envelope.ID]bool
}

// When is the time of a fact: the first cosignature by another organization, in seconds
// since 1970 UTC. No such cosignature: false.
func When(f attestation.Fact) (int64, bool) {
	var at int64
	found := false
	for _, s := range f.Witnessed {
		if s.Org == f.Event.Body().Org {
			continue
		}
		if t := s.At.Time().Unix(); !found || t < at {
			at, found = t, true
		}
	}
	return at, found
}

func (l *loans) read(f attestation.Fact) {
	at, ok := When(f)
	if !ok {
		return
	}
	e := f.Event.Body()
	s := seen{id: f.Event.ID(), at: at, made: min(at, e.At.Unix()), org: e.Org}
	switch e.Type {
	case "agent.issued":
		var d attestation.AgentIssued
		if e.Decode(&d) == nil {
			l.own[claim{e.Org, d.Agent}] = true
		}
	case "loan.issued":
		var d attestation.LoanIssued
		if e.Decode(&d) == nil {
			x := l.of(d.Permission)
			x.issues = append(x.issues, issue{s, d})
		}
	case "loan.revoked", "loan.ended":
		l.readEnd(e, s)
	case "loan.taken":
		var d attestation.LoanTaken
		if e.Decode(&d) == nil {
			x := l.of(d.Permission)
			x.taken = append(x.taken, s)
		}
	case "loan.end_seen":
		var d attestation.LoanEndSeen
		if e.Decode(&d) == nil {
			x := l.of(d.Permission)
			x.ends = append(x.ends, endSeen{s, d})
		}
	}
}

func (l *loans) readEnd(e attestation.Event, s seen) {
	var d attestation.LoanEnded
	if e.Decode(&d) != nil || d.TargetKind != "permission" {
		return
	}
	id, err := envelope.ParseID(d.Target)
	if err != nil {
		return
	}
	x := l.of(id)
	if e.Type == "loan.revoked" {
		x.revokes = append(x.revokes, s)
	} else {
		x.end = append(x.end, s)
	}
}

func (l *loans) of(perm envelope.ID) *loan {
	if l.by[perm] == nil {
		l.by[perm] = &loan{}
	}
	return l.by[perm]
}

// first keeps the earlier of two events that say the same; of equal times the lower id.
func first(a, b seen) seen {
	if !a.ok() || b.at < a.at || b.at == a.at && b.id.String() < a.id.String() {
		return b
	}
	return a
}

// settle keeps what the loan's own two organizations said: only the lender's can issue
// and end it, only the borrower's can say it saw the end.
func (l *loans) settle(x *loan) (settled, bool) {
	var out settled
	for _, i := range x.issues {
		if l.own[claim{i.org, i.Lender}] && !l.orgs[i.Borrower].IsZero() && first(out.seen, i.seen) == i.seen {
			out.issue = i
		}
	}
	if !out.seen.ok() {
		return settled{}, false
	}
	out.lender, out.borrower = out.org, l.orgs[out.Borrower]
	out.revoked, out.ended = firstBy(x.revokes, out.lender), firstBy(x.end, out.lender)
	out.taken = firstBy(x.taken, out.borrower)
	for _, e := range x.ends {
		if e.Verified && e.org == out.borrower && first(out.saw.seen, e.seen) == e.seen {
			out.saw = e
		}
	}
	return out, true
}

func firstBy(all []seen, org did.DID) seen {
	var out seen
	for _, s := range all {
		if s.org == org {
			out = first(out, s)
		}
	}
	return out
}

// signals says what one loan earned and cost.
func (l *loans) signals(x *loan) []Signal {
	s, ok := l.settle(x)
	if !ok {
		return nil
	}
	out := []Signal{s.toLender(s.seen, Issued)}
	if s.loose() {
		out = append(out, s.toLender(s.seen, "loose"))
	}
	if s.revoked.ok() {
		out = append(out, s.toLender(s.revoked, Revoked))
	}
	if s.ended.ok() {
		out = append(out, s.toBorrower(s.ended, Ended), s.toLender(s.ended, EndedLent))
	}
	out = append(out, s.lenderEarns()...)
	return append(out, l.borrowerEarns(s)...)
}

// lenderEarns is what the lender earns once the borrower, too, has shown that the loan was
// one: by its verified word that it saw the end, or, since silence must cost the lender
// nothing, 7 days after the end by its word that it used the loan.
func (s settled) lenderEarns() (out []Signal) {
	if s.revoked.ok() && s.sawEnd() {
		out = append(out, s.toLender(later(s.saw.seen, s.revoked), "enforced"))
	} else if s.revoked.ok() && s.silent() {
		out = append(out, s.toLender(s.standIn(), "enforced"))
	}
	if !s.ended.ok() || !s.narrow() {
		return out
	}
	if s.saw.ok() {
		return append(out, s.toLender(later(s.saw.seen, s.ended), "lent_narrow"))
	}
	if s.silent() {
		out = append(out, s.toLender(s.standIn(), "lent_narrow"))
	}
	return out
}

// borrowerEarns is what the borrower earns by saying that it saw the end.
func (l *loans) borrowerEarns(s settled) (out []Signal) {
	if !s.saw.ok() {
		return nil
	}
	late := s.saw.at - s.saw.SeenAt.Unix()
	if s.revoked.ok() && s.sawEnd() && late <= surfacedWithin && late >= -clockLead {
		out = append(out, s.toBorrower(later(s.saw.seen, s.revoked), "surfaced"))
	}
	if s.ended.ok() && !l.ruled[s.Permission] {
		out = append(out, s.toBorrower(later(s.saw.seen, s.ended), "honored"))
	}
	return out
}

// sawEnd says whether what the borrower saw lies after the revocation: nobody sees an end
// before there is one.
func (s settled) sawEnd() bool {
	return s.saw.ok() && s.saw.SeenAt.Unix() >= s.revoked.made-clockLead
}

// silent says whether the borrower used the loan and never said that it saw its end.
func (s settled) silent() bool { return s.ended.ok() && s.taken.ok() && !s.saw.ok() }

// standIn is the borrower's loan.taken at the time from which it counts as the end.
func (s settled) standIn() seen {
	return seen{id: s.taken.id, at: max(s.taken.at, s.ended.at+takenAfter), org: s.taken.org}
}

func (s settled) toLender(e seen, c Code) Signal {
	return Signal{ID: e.id, At: e.at, Subject: s.Lender, Org: s.lender, Other: s.borrower, Code: c}
}

func (s settled) toBorrower(e seen, c Code) Signal {
	return Signal{ID: e.id, At: e.at, Subject: s.Borrower, Org: s.borrower, Other: s.lender, Code: c}
}

// later is the event that completed a pair: its time is when both are known.
func later(a, b seen) seen { return seen{id: a.id, at: max(a.at, b.at), org: a.org} }

func (s settled) loose() bool {
	return slices.Contains(s.Hygiene, "H1") && slices.Contains(s.Hygiene, "H2") || s.MaxReads > looseReads || s.lasts() > longLoan
}

func (s settled) narrow() bool {
	return !slices.ContainsFunc(s.Hygiene, func(h string) bool { return slices.Contains(wide, h) }) && s.lasts() <= narrowLoan
}

// lasts is the length of a loan in seconds, from the event that issued it.
func (s settled) lasts() int64 { return s.ExpiresAt.Unix() - s.made }
