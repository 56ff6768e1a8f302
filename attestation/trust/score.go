package trust

import (
	"slices"
	"time"

	"trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
)

// week is how long a tier outlives its cut, in seconds.
const week = 604_800

// slack is how far below its cut a tier that stood a week ago may be, in composite points.
const slack = 10

// maxMilli is the top of every dimension.
const maxMilli = 100_000

// Score folds the signals up to asOf into the answer about who. It is pure: equal
// arguments give equal answers, in any order of signals and with repeats.
func Score(p Policy, signals []Signal, w World, who did.DID, v View, asOf time.Time) Answer {
	at, sec := asOfTime(asOf)
	f := newFolder(p, signals, w, v, sec)
	org := w.Orgs[who]
	a := Answer{AsOf: at, Of: org, Perspective: v.String(), Policy: p.id, StaleLogs: []string{}, Subject: who}
	var milli map[Dimension]int64
	a.Dimensions, milli = f.dimensions(who, org)
	a.Composite = p.composite(milli)
	mine := f.mine(who, org)
	a.Root = root(mine)
	about := own(mine, who, org)
	a.ConfidenceBP = f.confidence(about)
	a.Disputes, a.Lending = count(about)
	a.Tier, a.Gates = f.tier(who, org, a.Composite, about)
	return a
}

// dimensions folds who and turns its pools into shown values.
func (f *folder) dimensions(who, org did.DID) (Twelve, map[Dimension]int64) {
	base := f.base(who, org)
	st := f.fold(who, did.DID{})
	var out Twelve
	milli := map[Dimension]int64{}
	for i, d := range Dimensions {
		p, u := st[i], f.p.doc.UnitsPerMilli
		value := base[d]*u + p.bonus - p.penalty
		milli[d] = min(max(value, 0), maxMilli*u) / u
		*out.at(d) = Dim{Bonus: p.bonus / u, Events: p.events, Milli: milli[d], Penalty: p.penalty / u}
	}
	return out, milli
}

// base is where a party starts: the policy's base, and for an agent never above its
// organization as it stands without this agent.
func (f *folder) base(who, org did.DID) map[Dimension]int64 {
	base := map[Dimension]int64{}
	for _, d := range Dimensions {
		base[d] = f.p.doc.Base
	}
	if who == org || org.IsZero() {
		return base
	}
	st := f.fold(org, who)
	for i, d := range Dimensions {
		u := f.p.doc.UnitsPerMilli
		value := min(max(f.p.doc.Base*u+st[i].bonus-st[i].penalty, 0), maxMilli*u) / u
		base[d] = min(base[d], value)
	}
	return base
}

func (p Policy) composite(milli map[Dimension]int64) int64 {
	var sum int64
	for _, d := range Dimensions {
		sum += p.doc.Weights.of(d) * milli[d]
	}
	return sum / 1_000_000
}

// mine are the signals that the answer about who rests on: its own and its organization's.
func (f *folder) mine(who, org did.DID) []Signal {
	var out []Signal
	for _, s := range f.all {
		if s.Subject == who || s.Org == org && !org.IsZero() {
			out = append(out, s)
		}
	}
	return out
}

// own narrows to what is counted for who: an organization counts its agents' too.
func own(mine []Signal, who, org did.DID) []Signal {
	return slices.DeleteFunc(slices.Clone(mine), func(s Signal) bool { return s.Subject != who && who != org })
}

// confidence grows with the number of different events of a year that gave a signal.
func (f *folder) confidence(mine []Signal) int64 {
	seen := map[envelope.ID]bool{}
	for _, s := range mine {
		if _, scored := f.p.codes[s.Code]; scored && s.At > f.asOf-year && !f.inHouse(&s) {
			seen[s.ID] = true
		}
	}
	e := int64(len(seen))
	return 10_000 * e / (e + 20)
}

// root commits to the events used.
func root(mine []Signal) envelope.ID {
	ids := make([]envelope.ID, 0, len(mine))
	for _, s := range mine {
		ids = append(ids, s.ID)
	}
	slices.SortFunc(ids, compareIDs)
	return log.RootOf(log.IDLeaves(slices.Compact(ids)))
}

// count fills the counters of an answer.
func count(mine []Signal) (d Disputes, l Lending) {
	for _, s := range mine {
		switch s.Code {
		case Opened:
			d.Open++
		case Won:
			d.Won++
		case Lost:
			d.Lost++
		case Undecided:
			d.Undecided++
		case Defaulted:
			d.Defaulted++
		case Issued:
			l.AsLender.Issued++
		case Revoked:
			l.AsLender.Revoked++
		case "enforced":
			l.AsLender.Enforced++
		case "lent_narrow":
			l.AsLender.Narrow++
		case "L1":
			l.AsLender.Leaks += s.Acts
		case Ended:
			l.AsBorrower.Ended++
		case "honored":
			l.AsBorrower.Clean++
		case "surfaced":
			l.AsBorrower.Surfaced++
		case "R1":
			l.AsBorrower.ReadAfterEnd += s.Acts
		case "S1", "S2":
			l.AsBorrower.OutsideScope += s.Acts
		case "P1":
			l.AsBorrower.WrongPurpose += s.Acts
		case "T2":
			l.AsBorrower.Sublent += s.Acts
		}
	}
	// A case that ended is no longer open.
	d.Open -= d.Won + d.Lost + d.Undecided + d.Defaulted
	return d, l
}

// tier finds the highest tier whose cut and gates hold, or that stood a week ago and is
// at most ten below its cut.
func (f *folder) tier(who, org did.DID, composite int64, mine []Signal) (string, Gates) {
	before := newFolder(f.p, f.all, f.w, View{}, f.asOf-week)
	before.full = f.full
	_, milli := before.dimensions(who, org)
	then := f.p.composite(milli)
	have := f.have(mine)
	tier, g := "unrated", Gates{Have: have}
	for _, t := range f.p.doc.Gates {
		cut := composite >= t.Score || composite >= t.Score-slack && then >= t.Score
		if !cut || !f.holds(t, have, mine) {
			g.Next, g.Need = t.Tier, Need{Days: t.Days, Ended: t.Ended, Orgs: t.Orgs}
			break
		}
		tier = t.Tier
	}
	return tier, g
}

func (f *folder) have(mine []Signal) Have {
	h := Have{}
	orgs := map[did.DID]bool{}
	for _, s := range mine {
		if f.endedLoan(s) {
			h.Ended++
			orgs[s.Other] = true
		}
	}
	h.Orgs = int64(len(orgs))
	for _, s := range mine {
		if _, scored := f.p.codes[s.Code]; scored {
			h.Days = (f.asOf - s.At) / 86_400 // signals are sorted: the first one
			break
		}
	}
	return h
}

// holds checks the gates of a tier. From the second on no organization counts for more
// than half of the loans; from the third on no severe violation lies in the last quarter;
// the last needs an escrow, which no pact of this version can hold.
func (f *folder) holds(t gate, have Have, mine []Signal) bool {
	ended := have.Ended
	if t.Orgs >= 2 {
		ended = f.balanced(mine)
	}
	if ended < t.Ended || have.Orgs < t.Orgs || have.Days < t.Days {
		return false
	}
	if t.Orgs >= 3 && f.severe(mine) {
		return false
	}
	return !t.needsEscrow()
}

// balanced counts ended loans with the largest partner cut to what all others have together.
func (f *folder) balanced(mine []Signal) int64 {
	by := map[did.DID]int64{}
	var sum, most int64
	for _, s := range mine {
		if f.endedLoan(s) {
			by[s.Other]++
			sum++
			most = max(most, by[s.Other])
		}
	}
	return sum - most + min(most, sum-most)
}

// endedLoan says whether a signal closes a loan between two houses, in either role.
func (f *folder) endedLoan(s Signal) bool {
	return (s.Code == Ended || s.Code == EndedLent) && !f.inHouse(&s)
}

func (f *folder) severe(mine []Signal) bool {
	for _, s := range mine {
		if e := f.p.codes[s.Code]; e != nil && e.kind == kindGraded && s.Severity >= 50_000 && s.At > f.asOf-quarter {
			return true
		}
	}
	return false
}
