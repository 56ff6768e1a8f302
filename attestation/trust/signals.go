package trust

import (
	"slices"

	"trustnode/attestation"
	"trustnode/did"
	"trustnode/did/envelope"
)

// Bounds of the events, in seconds.
const (
	surfacedWithin = 900        // from seen_at to t
	clockLead      = 300        // how far a seen_at may lie after t
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
	l := loans{orgs: map[did.DID]did.DID{}, by: map[envelope.ID]*loan{}, ruled: ruled}
	for _, f := range facts {
		l.read(f)
	}
	var out []Signal
	for _, x := range l.by {
		out = append(out, l.signals(x)...)
	}
	return out
}

// seen is an event with the time that counts.
type seen struct {
	id  envelope.ID
	at  int64
	org did.DID
}

func (s seen) ok() bool { return !s.id.IsZero() }

// loan gathers what the logs say of one permission.
type loan struct {
	perm         envelope.ID
	issues       []issue // anybody may claim to have issued it; only the lender's own counts
	revokes, end []seen
	ends         []endSeen
}

type issue struct {
	seen
	attestation.LoanIssued
	made int64 // at of the event, seconds since 1970 UTC
}

// settled is a loan with only what its two sides said.
type settled struct {
	issue
	lender, borrower did.DID // their organizations
	revoked, ended   seen
	saw              endSeen
}

type endSeen struct {
	seen
	attestation.LoanEndSeen
}

type loans struct {
	orgs  map[did.DID]did.DID
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
	s := seen{f.Event.ID(), at, e.Org}
	switch e.Type {
	case "agent.issued":
		var d attestation.AgentIssued
		if e.Decode(&d) == nil {
			l.orgs[d.Agent] = e.Org
		}
	case "loan.issued":
		var d attestation.LoanIssued
		if e.Decode(&d) == nil {
			x := l.of(d.Permission)
			x.issues = append(x.issues, issue{s, d, e.At.Time().Unix()})
		}
	case "loan.revoked", "loan.ended":
		l.readEnd(e, s)
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
		l.by[perm] = &loan{perm: perm}
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
		if l.orgs[i.Lender] == i.org && !l.orgs[i.Borrower].IsZero() && first(out.seen, i.seen) == i.seen {
			out.issue = i
		}
	}
	if !out.seen.ok() {
		return settled{}, false
	}
	out.lender, out.borrower = out.org, l.orgs[out.Borrower]
	out.revoked, out.ended = firstBy(x.revokes, out.lender), firstBy(x.end, out.lender)
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
	if s.saw.ok() {
		out = append(out, l.afterEnd(s)...)
	}
	return out
}

// afterEnd is what both sides earn once the borrower has said, verified, that it saw the end.
func (l *loans) afterEnd(s settled) (out []Signal) {
	if s.revoked.ok() {
		both := later(s.saw.seen, s.revoked)
		out = append(out, s.toLender(both, "enforced"))
		if late := s.saw.at - s.saw.SeenAt.Time().Unix(); late <= surfacedWithin && late >= -clockLead {
			out = append(out, s.toBorrower(both, "surfaced"))
		}
	}
	if !s.ended.ok() {
		return out
	}
	pair := later(s.saw.seen, s.ended)
	if !l.ruled[s.Permission] {
		out = append(out, s.toBorrower(pair, "honored"))
	}
	if s.narrow() {
		out = append(out, s.toLender(pair, "lent_narrow"))
	}
	return out
}

func (s settled) toLender(e seen, c Code) Signal {
	return Signal{ID: e.id, At: e.at, Subject: s.Lender, Org: s.lender, Other: s.borrower, Code: c}
}

func (s settled) toBorrower(e seen, c Code) Signal {
	return Signal{ID: e.id, At: e.at, Subject: s.Borrower, Org: s.borrower, Other: s.lender, Code: c}
}

// later is the event that completed a pair: its time is when both are known.
func later(a, b seen) seen { return seen{a.id, max(a.at, b.at), a.org} }

func (s settled) loose() bool {
	return slices.Contains(s.Hygiene, "H1") && slices.Contains(s.Hygiene, "H2") || s.MaxReads > looseReads || s.lasts() > longLoan
}

func (s settled) narrow() bool {
	return !slices.ContainsFunc(s.Hygiene, func(h string) bool { return slices.Contains(wide, h) }) && s.lasts() <= narrowLoan
}

// lasts is the length of a loan in seconds, from the event that issued it.
func (s settled) lasts() int64 { return s.ExpiresAt.Time().Unix() - s.made }
