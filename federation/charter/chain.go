package charter

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

// Head is one accepted charter: its body and id. Its slices are shared with the
// chain and must not be changed.
type Head struct {
	ID envelope.ID
	Body
}

// Chain is a walk of accepted charters from a genesis to a head. It is made by
// Genesis and Next alone; the zero value holds none. A Chain is a value: Next
// returns a longer one and leaves the old as it was. Safe for concurrent use.
type Chain struct{ links []Head }

// IsZero tells whether the chain holds no charter.
func (c Chain) IsZero() bool { return len(c.links) == 0 }

// Federation is the id of the genesis, which names the federation; zero for the zero Chain.
func (c Chain) Federation() envelope.ID {
	if c.IsZero() {
		return envelope.ID{}
	}
	return c.links[0].ID
}

// Head is the newest charter; the zero Head for the zero Chain.
func (c Chain) Head() Head {
	if c.IsZero() {
		return Head{}
	}
	return c.links[len(c.links)-1]
}

// At gives charter seq of the chain.
func (c Chain) At(seq uint64) (Head, bool) {
	if seq >= uint64(len(c.links)) {
		return Head{}, false
	}
	return c.links[seq], true
}

// Find gives the charter with an id, if it is in the chain.
func (c Chain) Find(id envelope.ID) (Head, bool) {
	for i := len(c.links) - 1; i >= 0; i-- {
		if c.links[i].ID == id {
			return c.links[i], true
		}
	}
	return Head{}, false
}

// Genesis judges the first charter of a federation, which all its members sign.
// Errors: *Refused, *Unsupported, *Parked, *Pending, or an error of k other than
// ErrUnknownVersion. The Tally is filled once signatures were looked at, also
// beside an error.
func Genesis(e envelope.Envelope, k Keys, at time.Time) (Chain, Tally, error) {
	c, err := decode(e)
	if err != nil {
		return Chain{}, Tally{}, err
	}
	return judge{child: c, id: e.ID(), keys: k, at: at}.begin(e)
}

// begin is Genesis for a judge that knows all but a parent.
func (j judge) begin(e envelope.Envelope) (Chain, Tally, error) {
	if j.child.Seq != 0 {
		return Chain{}, Tally{}, refuse(StepPlace, "charter %d is no genesis", j.child.Seq)
	}
	t, err := j.run(e)
	if err != nil {
		return Chain{}, t, err
	}
	return Chain{links: []Head{{j.id, j.child}}}, t, nil
}

// Next judges a charter that claims to follow the head. released are the abandons
// that open its round, opened under the keys of their organizations. Errors are
// those of Genesis, and ErrHeld for a charter of this chain, *Sibling for a valid
// one whose parent has another child here.
func (c Chain) Next(e envelope.Envelope, released []envelope.Verified[Abandon], k Keys, at time.Time) (Chain, Tally, error) {
	b, err := decode(e)
	if err != nil {
		return Chain{}, Tally{}, err
	}
	return c.follow(e, judge{child: b, id: e.ID(), released: released, keys: k, at: at})
}

// follow is Next for a judge that knows all but the parent.
func (c Chain) follow(e envelope.Envelope, j judge) (Chain, Tally, error) {
	b, id := j.child, j.id
	if _, held := c.Find(id); held {
		return Chain{}, Tally{}, ErrHeld
	}
	if b.Seq == 0 || b.Federation != c.Federation() {
		return Chain{}, Tally{}, refuse(StepForm, "charter %s is of another federation", id)
	}
	parent, ok := c.Find(b.Prev)
	if !ok {
		return Chain{}, Tally{}, &Pending{Charter: b.Prev}
	}
	if b.Seq != parent.Seq+1 {
		return Chain{}, Tally{}, refuse(StepPlace, "charter %d follows charter %d", b.Seq, parent.Seq)
	}
	j.parent = &parent
	t, err := j.run(e)
	if err != nil {
		return Chain{}, t, err
	}
	if parent.ID != c.Head().ID {
		held, _ := c.At(b.Seq)
		return Chain{}, t, &Sibling{Seq: b.Seq, Held: held.ID, Other: id}
	}
	return Chain{links: append(slices.Clip(c.links), Head{id, b})}, t, nil
}

func refuse(step Step, format string, args ...any) *Refused {
	return &Refused{Step: step, What: fmt.Sprintf(format, args...)}
}

// decode is the first half of A1: type, cap, canonical form and form of the body.
func decode(e envelope.Envelope) (Body, error) {
	b, err := envelope.Decode[Body](e)
	if err == nil {
		return b, nil
	}
	var f *Fault
	if errors.As(err, &f) {
		return Body{}, refuse(f.Step, "%s", f.What)
	}
	return Body{}, refuse(StepForm, "%v", err)
}

// judge decides one charter, cheap rules first.
type judge struct {
	parent   *Head // nil for a genesis
	child    Body
	id       envelope.ID
	released []envelope.Verified[Abandon]
	keys     Keys
	at       time.Time
	// signedFirst asks for A4 before anything the charter names is waited for: who
	// fetches that must not hold the logs of DIDs that anybody made up.
	signedFirst bool
}

func (j judge) run(e envelope.Envelope) (Tally, error) {
	if j.child.Authority != AuthorityGovernance {
		return Tally{}, &Unsupported{"authority " + j.child.Authority}
	}
	if f := structure(j.child); f != nil {
		return Tally{}, refuse(f.Step, "%s", f.What)
	}
	if err := j.changes(len(e.Body)); err != nil {
		return Tally{}, err
	}
	skew := time.Duration(j.child.Policy.ClockSkewS) * time.Second
	if j.parent != nil {
		skew = time.Duration(j.parent.Policy.ClockSkewS) * time.Second // the child has no say in how it is judged
	}
	if issued := j.child.IssuedAt.Time(); issued.After(j.at.Add(skew)) {
		return Tally{}, refuse(StepClock, "issued at %s, more than %s ahead of %s", j.child.IssuedAt, skew, envelope.TimeOf(j.at))
	}
	if t, err := j.backed(e); err != nil {
		return t, err
	}
	if err := j.rounds(); err != nil {
		return Tally{}, err
	}
	if err := j.heads(false); err != nil {
		return Tally{}, err
	}
	t, err := j.count(e)
	if err != nil {
		return t, err
	}
	if start := j.child.NotBefore.Time(); j.at.Before(start) {
		return t, &Parked{Until: start}
	}
	return t, nil
}

// backed is A4 before all that a charter can be pending for but a DID that its parent
// names: the keys of these are those that count.
func (j judge) backed(e envelope.Envelope) (Tally, error) {
	if !j.signedFirst || j.parent == nil {
		return Tally{}, nil
	}
	if err := j.heads(true); err != nil {
		return Tally{}, err
	}
	if t, err := j.count(e); err != nil && !t.Enough() {
		return t, err
	}
	return Tally{}, nil
}

// changes is A7 and the limits of A8 on growth.
func (j judge) changes(size int) error {
	if j.parent == nil {
		return j.beginnings(size)
	}
	ops, err := Diff(j.parent.Body, j.child)
	if err != nil {
		return refuse(StepDiff, "%v", err)
	}
	for _, o := range ops {
		if o.Kind >= OpRejoin && o.Kind <= OpRekey {
			return &Unsupported{"operation " + o.Kind.String()}
		}
	}
	was := 0
	if size > maxGrownBody { // only then the size of the parent matters
		raw, err := envelope.Marshal(j.parent.Body)
		if err != nil {
			return refuse(StepForm, "%v", err)
		}
		was = len(raw)
	}
	if f := growth(j.parent.Body, j.child, was, size, ops); f != nil {
		return refuse(f.Step, "%s", f.What)
	}
	return nil
}

// beginnings: every member of a genesis is new.
func (j judge) beginnings(size int) error {
	for _, m := range j.child.Members {
		if m.Generation != 1 {
			return refuse(StepDiff, "%s starts with generation %d", m.DID, m.Generation)
		}
		if _, err := added(m, 0); err != nil {
			return refuse(StepDiff, "%v", err)
		}
	}
	if f := growth(Body{}, j.child, 0, size, []Op{{Kind: OpAdd}}); f != nil {
		return refuse(f.Step, "%s", f.What)
	}
	return nil
}

// heads is A10, for each record that is new or moved; known leaves out the new ones.
func (j judge) heads(known bool) error {
	for _, m := range j.child.Members {
		was, held := Member{}, false
		if j.parent != nil {
			was, held = j.parent.Member(m.DID)
		}
		if known && !held || held && was.DIDHead == m.DIDHead && was.Key == m.Key {
			continue
		}
		if err := j.head(m, was, held); err != nil {
			return err
		}
	}
	return nil
}

func (j judge) head(m, was Member, held bool) error {
	if held && was.DIDHead != m.DIDHead {
		ok, err := j.keys.Extends(m.DID, was.DIDHead, m.DIDHead)
		if err != nil {
			return j.unknown(m, err)
		}
		if !ok {
			return refuse(StepKeys, "%s: %s does not extend %s", m.DID, m.DIDHead, was.DIDHead)
		}
	}
	listed, err := keysAt(j.keys, m.DID, m.DIDHead)
	if err != nil {
		return j.unknown(m, err)
	}
	if !slices.Contains(listed, m.Key.Pub) {
		return refuse(StepKeys, "%s: key %s is no assertion key at %s", m.DID, m.Key.Pub.Multikey(), place(m))
	}
	return nil
}

func (j judge) unknown(m Member, err error) error {
	switch {
	case errors.Is(err, ErrUnknownVersion):
		return &Pending{DID: m.DID, Version: m.DIDHead}
	case m.DID.Method() == "key":
		return refuse(StepKeys, "%v", err)
	}
	return err
}

// rounds is A3: a round above 0 is open once the abandons it lists release every
// round below it.
func (j judge) rounds() error {
	if j.child.Round == 0 {
		return nil
	}
	given := map[envelope.ID]Abandon{}
	for _, v := range j.released {
		given[v.ID()] = v.Body()
	}
	var listed []Abandon
	for _, id := range j.child.Released {
		a, ok := given[id]
		if !ok {
			return &Pending{Abandon: id}
		}
		listed = append(listed, a)
	}
	for r := range j.child.Round {
		if !j.opened(r, listed) {
			return refuse(StepRounds, "round %d of charter %d is not released", r, j.child.Seq)
		}
	}
	return nil
}

// opened tells whether, for every body, at least t voters of the parent froze the
// round without naming that body. It is not enough that all of them froze it.
func (j judge) opened(round uint64, listed []Abandon) bool {
	froze := map[did.DID]bool{}
	names := map[envelope.ID]map[did.DID]bool{}
	for _, a := range listed {
		m, ok := j.parent.Member(a.Org)
		if !ok || !m.Voter() || a.Round != round || a.Seq != j.child.Seq || a.Prev != j.child.Prev || a.Federation != j.child.Federation {
			continue
		}
		froze[a.Org] = true
		if a.Committed.IsZero() {
			continue
		}
		if names[a.Committed] == nil {
			names[a.Committed] = map[did.DID]bool{}
		}
		names[a.Committed][a.Org] = true
	}
	most := 0
	for _, who := range names {
		most = max(most, len(who))
	}
	return uint64(len(froze)-most) >= j.parent.Governance.Threshold
}
