package charter

import (
	"fmt"

	"trustnode/did"
)

// structure tests what holds of one charter as a whole (A8); nil if all does.
func structure(b Body) *Fault {
	var f faults
	f.thresholds(b)
	f.freshQuorum(b)
	f.distinctKeys(b)
	f.mediators(b)
	return f.found
}

func (f *faults) thresholds(b Body) {
	n, t := uint64(len(b.Voters())), b.Governance.Threshold
	if !f.at(StepStructure, n >= 1, "no active member votes") {
		return
	}
	high := n
	if n >= 3 {
		high = n - 1
	}
	f.at(StepStructure, t >= n/2+1, "threshold %d is no majority of %d voters", t, n)
	f.at(StepStructure, t <= high, "threshold %d is above %d, so one of %d voters could stop everything", t, high, n)
	f.at(StepStructure, n > 2 || len(b.Recovery.Keys) >= 1, "%d voters and no recovery key: a lost voter could never be replaced", n)
}

func (f *faults) freshQuorum(b Body) {
	low, high := freshBounds(uint64(len(b.Voters())), b.Governance.Threshold)
	q := b.Policy.FreshQuorum
	f.at(StepStructure, q >= low && q <= high, "policy fresh_quorum is %d, not within %d..%d", q, low, high)
}

// freshBounds is what fresh_quorum may be: max(1, n-t)..n-1, and 0 for one voter.
func freshBounds(n, t uint64) (low, high uint64) {
	if n <= 1 {
		return 0, 0
	}
	if n > t+1 {
		return n - t, n - 1
	}
	return 1, n - 1
}

// distinctKeys: no raw key serves two organizations or two roles. Attestor keys of
// a contract belong to members and are distinct among themselves and from
// recovery keys alone.
func (f *faults) distinctKeys(b Body) {
	owner := map[did.PublicKey]string{}
	take := func(k did.PublicKey, who string) {
		other, taken := owner[k]
		f.at(StepStructure, !taken, "key %s serves %s and %s", k.Multikey(), other, who)
		owner[k] = who
	}
	for _, k := range b.Recovery.Keys {
		take(k.Pub, "recovery")
	}
	if c := b.Mediation.Contract; c != nil {
		attestors := map[did.PublicKey]bool{}
		for _, k := range c.AttestorKeys {
			f.at(StepStructure, !attestors[k.Pub] && owner[k.Pub] == "", "attestor key %s serves twice", k.Pub.Multikey())
			attestors[k.Pub] = true
		}
	}
	for _, m := range b.Members {
		take(m.Key.Pub, m.DID.String())
	}
}

// mediators: everybody the mediation object names has a record, and each pair of
// active members has a candidate on some rung but jury.
func (f *faults) mediators(b Body) {
	known := map[did.DID]bool{}
	for _, m := range b.Members {
		known[m.DID] = true
	}
	for _, d := range named(b.Mediation) {
		f.at(StepStructure, known[d], "mediation names %s, which is no member", d)
	}
	if f.found != nil {
		return
	}
	x, y, found := seatsOf(b).pairWithout(b)
	f.at(StepStructure, !found, "no mediator between %s and %s", x, y)
}

func named(m Mediation) []did.DID {
	list := append([]did.DID(nil), m.Rotating.Pool...)
	for _, t := range m.Rotating.Ties {
		list = append(list, t.A, t.B)
	}
	if m.Neutral != nil {
		list = append(append(list, m.Neutral.DID), m.Neutral.Alternates...)
	}
	return list
}

// growth tests the limits that bind a charter only where it grows (A8).
func growth(p, c Body, sizeP, sizeC int, ops []Op) *Fault {
	var f faults
	active, records := len(c.ActiveMembers()), len(c.Members)
	f.at(StepStructure, active <= maxActive || active <= len(p.ActiveMembers()), "%d active members, at most %d", active, maxActive)
	f.at(StepStructure, records <= maxRecords || records <= len(p.Members) || shrinks(ops), "%d member records, at most %d", records, maxRecords)
	f.at(StepStructure, sizeC <= maxGrownBody || sizeC <= sizeP || shrinks(ops), "body of %s, at most %s", kib(sizeC), kib(maxGrownBody))
	return f.found
}

func kib(bytes int) string { return fmt.Sprintf("%d KiB", (bytes+1023)/1024) }

// shrinks tells whether no operation makes the federation larger or its rules longer.
func shrinks(ops []Op) bool {
	for _, o := range ops {
		switch o.Kind {
		case OpAdd, OpRejoin, OpReinstate, OpEdit, OpSet:
			return false
		}
	}
	return true
}
