package trust

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Windows of the fold, in seconds.
const (
	quarter = 7_862_400  // 91 days: repeated violations, reciprocal praise
	year    = 31_536_000 // 365 days: confidence, partners of a perspective
)

// pools are one party's standing in one dimension, in units.
type pools struct {
	bonus, penalty int64
	at             int64 // last leak
	events         int64
}

// leak lets both pools run towards zero until t. It is exact in any split of the time.
func (p *pools) leak(t, perSecond int64) {
	if t <= p.at {
		return
	}
	n := (t - p.at) * perSecond
	p.bonus = max(0, p.bonus-n)
	p.penalty = max(0, p.penalty-n)
	p.at = t
}

// standing is the fold of one party, in the order of Dimensions.
type standing [dimensions]pools

// scored is a signal with what its code does.
type scored struct {
	*Signal
	eff *effect
}

// folder holds what one fold needs; it lives for one call.
type folder struct {
	p        Policy
	w        World
	full     map[did.DID]bool // organizations whose bonuses count full; nil: all
	all      []Signal         // sorted, each once, none after asOf
	scored   []scored         // those of all that bear points
	asOf     int64
	earnings map[[2]did.DID][]int64 // {who earned, from whom}: times, rising
	guilty   map[did.DID][]int64    // subject: times of graded violations, rising
}

func newFolder(p Policy, signals []Signal, w World, v View, asOf int64) *folder {
	f := &folder{p: p, w: w, asOf: asOf, earnings: map[[2]did.DID][]int64{}, guilty: map[did.DID][]int64{}}
	f.all = sorted(signals, asOf)
	f.scored = make([]scored, 0, len(f.all))
	for i := range f.all {
		s := &f.all[i]
		e, known := p.codes[s.Code]
		if !known || f.inHouse(s) {
			continue
		}
		f.scored = append(f.scored, scored{s, e})
		switch e.kind {
		case kindBonus:
			k := [2]did.DID{s.Org, s.Other}
			f.earnings[k] = append(f.earnings[k], s.At)
		case kindGraded:
			f.guilty[s.Subject] = append(f.guilty[s.Subject], s.At)
		}
	}
	if !v.Org.IsZero() {
		f.full = f.partners(v.Org)
	}
	return f
}

// sorted drops what lies after asOf and repeats, and orders by (time, event, code, subject, part).
func sorted(in []Signal, asOf int64) []Signal {
	type place struct{ at, i int64 }
	order := make([]place, 0, len(in))
	for i := range in {
		if in[i].At <= asOf {
			order = append(order, place{in[i].At, int64(i)})
		}
	}
	slices.SortFunc(order, func(a, b place) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		return compare(&in[a.i], &in[b.i])
	})
	out := make([]Signal, 0, len(order))
	for _, p := range order {
		if s := &in[p.i]; len(out) == 0 || !sameSignal(s, &out[len(out)-1]) {
			out = append(out, *s)
		}
	}
	return out
}

// compare orders signals; each member after the first decides rarely.
func compare(a, b *Signal) int {
	if c := cmp.Compare(a.At, b.At); c != 0 {
		return c
	}
	if c := compareIDs(a.ID, b.ID); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.Code, b.Code), strings.Compare(a.Subject.String(), b.Subject.String()),
		cmp.Compare(a.Part, b.Part), cmp.Compare(a.Severity, b.Severity))
}

// compareIDs orders ids as their texts are ordered: all have one length, and base58btc
// keeps the order of the bytes.
func compareIDs(a, b envelope.ID) int {
	x, y := a.Sum(), b.Sum()
	return bytes.Compare(x[:], y[:])
}

func sameSignal(a, b *Signal) bool {
	return a.ID == b.ID && a.Code == b.Code && a.Subject == b.Subject && a.Part == b.Part
}

// inHouse says whether both sides are one organization or one group: it proves nothing.
func (f *folder) inHouse(s *Signal) bool {
	return !s.Other.IsZero() && f.w.sameHouse(s.Org, s.Other)
}

// partners are the perspective itself and those it renewed a pact with or was paid by
// or paid within a year.
func (f *folder) partners(org did.DID) map[did.DID]bool {
	out := map[did.DID]bool{org: true}
	for _, s := range f.all {
		if (s.Code == "reviewed" || s.Code == "paid") && s.At > f.asOf-year {
			if s.Org == org {
				out[s.Other] = true
			}
			if s.Other == org {
				out[s.Org] = true
			}
		}
	}
	return out
}

// fold walks the signals that concern who, without those of the agent `without`.
func (f *folder) fold(who, without did.DID) standing {
	var st standing
	var got [dimensions]map[did.DID]*ledger
	for i := range f.scored {
		s := &f.scored[i]
		switch {
		case s.Subject == who:
			f.add(&st, &got, s, false)
		case s.Org == who && s.Subject != without: // half of an agent's
			f.add(&st, &got, s, true)
		}
	}
	for d := range st {
		st[d].leak(f.asOf, f.p.doc.LeakPerS)
	}
	return st
}

func (f *folder) add(st *standing, got *[dimensions]map[did.DID]*ledger, s *scored, half bool) {
	for _, pt := range s.eff.at(s.Acts) {
		p := &st[pt.dim]
		p.leak(s.At, f.p.doc.LeakPerS)
		p.events++
		if s.eff.kind != kindBonus {
			p.penalty += halve(f.loss(s.eff.kind, pt.n, s.Signal)*f.p.doc.UnitsPerMilli, half)
			continue
		}
		gain := f.gain(pt.n, s.Signal, half)
		if got[pt.dim] == nil {
			got[pt.dim] = map[did.DID]*ledger{}
		}
		l := got[pt.dim][s.Other]
		if l == nil {
			l = newLedger(f.p)
			got[pt.dim][s.Other] = l
		}
		p.bonus = min(p.bonus+l.take(s.At, gain), f.p.doc.BonusCap*f.p.doc.UnitsPerMilli)
	}
}

// loss is a penalty in milli: fixed, or graded by severity and by what went before.
func (f *folder) loss(kind string, n int64, s *Signal) int64 {
	if kind == kindFixed {
		return n
	}
	milli := n * s.Severity / 100
	k := int64(countIn(f.guilty[s.Subject], s.At-quarter, s.At))
	return milli * min(3000, 1000+500*k) / 1000
}

// gain is a bonus in units before the caps: halved for an organization's share of an
// agent's, while the other side earned from this one, and for strangers of a perspective.
func (f *folder) gain(milli int64, s *Signal, half bool) int64 {
	n := halve(milli*f.p.doc.UnitsPerMilli, half)
	n = halve(n, countIn(f.earnings[[2]did.DID{s.Other, s.Org}], s.At-quarter, s.At) > 0)
	return halve(n, f.full != nil && !s.Other.IsZero() && !f.full[s.Other])
}

func halve(n int64, yes bool) int64 {
	if yes {
		return n / 2
	}
	return n
}

// countIn counts the times in [from, to).
func countIn(times []int64, from, to int64) int {
	lo := sort.Search(len(times), func(i int) bool { return times[i] >= from })
	hi := sort.Search(len(times), func(i int) bool { return times[i] >= to })
	return hi - lo
}

// ledger holds what was earned from one organization in one dimension.
type ledger struct {
	at, n   []int64
	windows []window
}

// window is one cap with what was booked inside of it.
type window struct {
	most, within int64 // units, seconds
	first        int   // booking that is the first inside
	sum          int64
}

func newLedger(p Policy) *ledger {
	l := &ledger{}
	for _, c := range p.doc.Caps {
		l.windows = append(l.windows, window{most: c.N * p.doc.UnitsPerMilli, within: c.WithinS})
	}
	return l
}

// take books at most what every window still allows and returns it. Times never fall.
func (l *ledger) take(t, n int64) int64 {
	for i := range l.windows {
		w := &l.windows[i]
		for ; w.first < len(l.at) && l.at[w.first] <= t-w.within; w.first++ {
			w.sum -= l.n[w.first]
		}
		n = min(n, w.most-w.sum)
	}
	if n <= 0 {
		return 0
	}
	l.at, l.n = append(l.at, t), append(l.n, n)
	for i := range l.windows {
		l.windows[i].sum += n
	}
	return n
}
