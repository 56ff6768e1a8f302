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

// standing is the fold of one party.
type standing map[Dimension]*pools

// entry is a signal with what it is worth for the party that is folded.
type entry struct {
	Signal
	half bool // an agent's signal, counted for its organization
}

// folder holds what one fold needs; it lives for one call.
type folder struct {
	p        Policy
	w        World
	full     map[did.DID]bool // organizations whose bonuses count full; nil: all
	all      []Signal         // sorted, each once, none after asOf
	asOf     int64
	earnings map[[2]did.DID][]int64 // {who earned, from whom}: times, rising
	guilty   map[did.DID][]int64    // subject: times of graded violations, rising
}

func newFolder(p Policy, signals []Signal, w World, v View, asOf int64) *folder {
	f := &folder{p: p, w: w, asOf: asOf, earnings: map[[2]did.DID][]int64{}, guilty: map[did.DID][]int64{}}
	f.all = sorted(signals, asOf)
	for _, s := range f.all {
		e, scored := p.codes[s.Code]
		if !scored || f.inHouse(s) {
			continue
		}
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
	out := make([]Signal, 0, len(in))
	for _, s := range in {
		if s.At <= asOf {
			out = append(out, s)
		}
	}
	if !slices.IsSortedFunc(out, compare) { // a folder's own signals are
		slices.SortFunc(out, compare)
	}
	n := 0
	for i := range out {
		if i > 0 && sameSignal(out[i], out[n-1]) {
			continue
		}
		out[n] = out[i]
		n++
	}
	return out[:n]
}

// compare orders signals; each member after the first decides rarely.
func compare(a, b Signal) int {
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

func sameSignal(a, b Signal) bool {
	return a.ID == b.ID && a.Code == b.Code && a.Subject == b.Subject && a.Part == b.Part
}

// inHouse says whether both sides are one organization or one group: it proves nothing.
func (f *folder) inHouse(s Signal) bool {
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
	st := standing{}
	for _, d := range Dimensions {
		st[d] = &pools{}
	}
	got := map[Dimension]map[did.DID]*ledger{}
	for _, s := range f.all {
		e, ok := f.concerns(s, who, without)
		if !ok {
			continue
		}
		f.add(st, got, e)
	}
	for _, p := range st {
		p.leak(f.asOf, f.p.doc.LeakPerS)
	}
	return st
}

// concerns says whether a scored signal counts for who: its own, or half of an agent's.
func (f *folder) concerns(s Signal, who, without did.DID) (entry, bool) {
	if _, scored := f.p.codes[s.Code]; !scored || f.inHouse(s) {
		return entry{}, false
	}
	if s.Subject == who {
		return entry{Signal: s}, true
	}
	if s.Org == who && s.Subject != without {
		return entry{Signal: s, half: true}, true
	}
	return entry{}, false
}

func (f *folder) add(st standing, got map[Dimension]map[did.DID]*ledger, e entry) {
	eff := f.p.codes[e.Code]
	for _, d := range Dimensions {
		n, ok := eff.at(e.Acts)[d]
		if !ok {
			continue
		}
		p := st[d]
		p.leak(e.At, f.p.doc.LeakPerS)
		p.events++
		if eff.kind != kindBonus {
			p.penalty += halve(f.loss(eff.kind, n, e.Signal)*f.p.doc.UnitsPerMilli, e.half)
			continue
		}
		gain := f.gain(n, e)
		if got[d] == nil {
			got[d] = map[did.DID]*ledger{}
		}
		if got[d][e.Other] == nil {
			got[d][e.Other] = &ledger{}
		}
		gain = got[d][e.Other].take(e.At, gain, f.p)
		p.bonus = min(p.bonus+gain, f.p.doc.BonusCap*f.p.doc.UnitsPerMilli)
	}
}

// loss is a penalty in milli: fixed, or graded by severity and by what went before.
func (f *folder) loss(kind string, n int64, s Signal) int64 {
	if kind == kindFixed {
		return n
	}
	milli := n * s.Severity / 100
	k := int64(countIn(f.guilty[s.Subject], s.At-quarter, s.At))
	return milli * min(3000, 1000+500*k) / 1000
}

// gain is a bonus in units before the caps: halved for an organization's share of an
// agent's, while the other side earned from this one, and for strangers of a perspective.
func (f *folder) gain(milli int64, e entry) int64 {
	n := halve(milli*f.p.doc.UnitsPerMilli, e.half)
	n = halve(n, countIn(f.earnings[[2]did.DID{e.Other, e.Org}], e.At-quarter, e.At) > 0)
	return halve(n, f.full != nil && !e.Other.IsZero() && !f.full[e.Other])
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
	at, n []int64
}

// take books at most what every window still allows and returns it.
func (l *ledger) take(t, n int64, p Policy) int64 {
	for _, c := range p.doc.Caps {
		n = min(n, c.N*p.doc.UnitsPerMilli-l.since(t-c.WithinS))
	}
	if n <= 0 {
		return 0
	}
	l.at, l.n = append(l.at, t), append(l.n, n)
	return n
}

// since sums what was booked after t.
func (l *ledger) since(t int64) int64 {
	var sum int64
	for i := len(l.at) - 1; i >= 0 && l.at[i] > t; i-- {
		sum += l.n[i]
	}
	return sum
}
