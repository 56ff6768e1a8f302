package casefile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"trustnode/attestation"
	"trustnode/attestation/history"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/federation/bundle"
)

// claimed is an entry before it is verified.
type claimed struct {
	line  int
	note  string // the text of the head it lies under
	entry attestation.Entry
	claim envelope.Claim[attestation.Event]
	event attestation.Event
	proof attlog.Proof
}

// logs verifies all entries, log by log and in order of index: the place under the head,
// the key valid at that place, then the note and its cosignatures.
func (p *opener) logs() error {
	var all []claimed
	if err := judge(p, claim, func(c claimed) error { all = append(all, c); return nil }); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b claimed) int {
		return cmp.Or(cmp.Compare(a.event.Org.String(), b.event.Org.String()), cmp.Compare(a.proof.Index, b.proof.Index), cmp.Compare(a.line, b.line))
	})
	var kept []claimed
	for i := 0; i < len(all); {
		found, err := p.sameKeys(all[i:], p.entry)
		if err != nil {
			return err
		}
		for _, o := range found {
			c := all[i]
			if i > 0 && all[i-1].event.Org == c.event.Org && all[i-1].proof.Index == c.proof.Index {
				return fault(c.line, "%s %d stands in line %d already", c.event.Org, c.proof.Index, all[i-1].line)
			}
			n := len(p.Entries)
			if err := p.wait(p.admit(c, o)); err != nil {
				return err
			}
			if len(p.Entries) > n {
				kept = append(kept, c)
			}
			i++
		}
	}
	if p.lenient {
		kept = p.announced(kept)
	}
	return p.heads(kept)
}

func claim(l line, e bundle.Entry) (claimed, error) {
	n, c := l.n, claimed{line: l.n, entry: e.Entry}
	var err error
	if c.claim, err = c.entry.Claim(); err != nil {
		return c, fault(n, "entry: %v", err)
	}
	c.event = c.claim.Body()
	if err := attestation.CheckKnown(c.event); err != nil {
		return c, fault(n, "entry: %v", err)
	}
	if c.proof, err = attlog.ParseProof(e.Proof); err != nil {
		return c, fault(n, "proof of %s %s: %v", c.event.Org, c.event.Type, err)
	}
	if c.proof.Note.Org != c.event.Org {
		return c, fault(n, "%s is under a head of %s", c.event.Org, c.proof.Note.Org)
	}
	c.note = string(c.proof.Note.Bytes())
	return c, nil
}

// found is what was seen of one entry: the event, or why it is none.
type found struct {
	event envelope.Verified[attestation.Event]
	err   error
}

// rekeys says whether what follows an event may be signed by other keys than what lies before it.
func rekeys(e attestation.Event) bool { return e.Type == "log.opened" || e.Type == "key.rotated" }

// sameKeys verifies the first entries of a list that stand under the same keys of the same log, side by side: one that
// changes the keys stands alone.
func (p *opener) sameKeys(all []claimed, judge func(history.Keys, claimed) (envelope.Verified[attestation.Event], error)) ([]found, error) {
	n := 1
	for !rekeys(all[0].event) && n < len(all) && all[n].event.Org == all[0].event.Org && !rekeys(all[n].event) {
		n++
	}
	k, out := p.history(all[0].event.Org), make([]found, n)
	err := Parallel(p.ctx, n, func(i int) { out[i].event, out[i].err = judge(k, all[i]) })
	return out, err
}

// history is that of a log as far as it was verified.
func (p *opener) history(org did.DID) history.Keys {
	if k, ok := p.keys[org]; ok {
		return k
	}
	return history.New(org)
}

// entry verifies one event with its proof, after k.
func (p *opener) entry(k history.Keys, c claimed) (envelope.Verified[attestation.Event], error) {
	if err := c.proof.Check(c.entry.Hash()); err != nil {
		return envelope.Verified[attestation.Event]{}, fault(c.line, "%s %d does not lead to the head of size %d", p.org(c.event.Org), c.proof.Index, c.proof.Note.Head.Size)
	}
	return p.place(k, c)
}

// place verifies one event under the key of its place, after k.
func (p *opener) place(k history.Keys, c claimed) (envelope.Verified[attestation.Event], error) {
	var none envelope.Verified[attestation.Event]
	org, i := c.event.Org, c.proof.Index
	if what := p.missing(k, c.event); what != "" {
		return none, pending(c.line, "%s %d %s is pending: %s", p.org(org), i, c.event.Type, what)
	}
	src, err := k.Next(p.ctx, p.ring, i, c.event)
	if errors.Is(err, history.ErrUnknownVersion) {
		return none, pending(c.line, "%s %d %s: %v", p.org(org), i, c.event.Type, err)
	}
	if err != nil {
		return none, fault(c.line, "%s %d %s: %v", p.org(org), i, c.event.Type, err)
	}
	v, err := c.claim.Open(p.ctx, src)
	if errors.Is(err, envelope.ErrPending) {
		return none, pending(c.line, "%s %d is pending: %v", p.org(org), i, err)
	}
	if errors.Is(err, envelope.ErrRetired) {
		if at, ok := p.retired(org, c.event.Kid); ok {
			return none, fault(c.line, "event %d of %s is signed by %s, retired at index %d", i, p.org(org), c.event.Kid, at)
		}
	}
	if err != nil {
		return none, fault(c.line, "%s %d %s: %v", p.org(org), i, c.event.Type, err)
	}
	return v, nil
}

// admit adds an event that was verified to the key history of its log.
func (p *opener) admit(c claimed, o found) (err error) {
	if o.err != nil {
		return o.err
	}
	org, i, v := c.event.Org, c.proof.Index, o.event
	if p.keys[org], err = p.history(org).Apply(p.ctx, p.ring, i, v); err != nil {
		return fault(c.line, "%s %d %s: %v", p.org(org), i, c.event.Type, err)
	}
	p.newer(v.Body().At)
	p.Entries = append(p.Entries, Entry{Fact: attestation.Fact{Event: v, Index: i}, Head: c.proof.Note.Head, line: c.line, kid: c.event.Kid})
	return nil
}

// missing names what a lenient opener lacks to judge an event after k.
func (p *opener) missing(k history.Keys, e attestation.Event) string {
	last := k.Version(math.MaxUint64)
	if !p.lenient || e.Type == "log.opened" {
		return ""
	}
	if last == "" {
		return "its log.opened is not in the file"
	}
	var d attestation.KeyRotated
	if e.Type != "key.rotated" || e.Decode(&d) != nil || d.Previous == last {
		return ""
	}
	known, err := p.ring.Known(p.ctx, e.Org)
	if was := slices.Index(known, d.Previous); err != nil || was < 0 || was < slices.Index(known, last) {
		return ""
	}
	return "no key.rotated to version " + d.Previous + " is in the file"
}

// retired gives the index of the key.rotated above that retired a key.
func (p *opener) retired(org did.DID, kid string) (uint64, bool) {
	for _, e := range p.Entries {
		var d attestation.KeyRotated
		if e.event().Org == org && e.event().Type == "key.rotated" && e.event().Decode(&d) == nil && slices.Contains(d.Retired, kid) {
			return e.Index, true
		}
	}
	return 0, false
}

// heads verifies the note of each proof, once per note, and that no two contradict.
func (p *opener) heads(all []claimed) error {
	notes, err := p.notes(all)
	if err != nil {
		return err
	}
	roots := map[did.DID]map[uint64]envelope.ID{}
	for i, c := range all {
		org, h := c.event.Org, c.proof.Note.Head
		if roots[org] == nil {
			roots[org] = map[uint64]envelope.ID{}
		}
		if r, ok := roots[org][h.Size]; ok && r != h.Root {
			return fault(c.line, "%s signed two heads of size %d", p.org(org), h.Size)
		}
		roots[org][h.Size] = h.Root
		n := notes[c.note]
		if n.err != nil {
			return n.err
		}
		if n.waits != nil && n.line == c.line {
			p.deferred = append(p.deferred, n.waits)
		}
		p.Entries[i].Witnessed = n.seen
		p.names.Add(org)
		for _, s := range n.seen {
			p.names.Add(s.Org)
			p.newer(s.At)
		}
	}
	for i := range p.Entries {
		e := &p.Entries[i]
		if other, ok := p.byID[e.Event.ID()]; ok {
			return fault(e.line, "event %s stands in line %d already", e.Event.ID(), other.line)
		}
		p.byID[e.Event.ID()] = e
	}
	p.index = newIndex(p.Entries)
	return p.rotations()
}

// notes verifies each head that entries lie under once, by its text.
func (p *opener) notes(all []claimed) (map[string]*note, error) {
	out := map[string]*note{}
	var each []*note
	for _, c := range all {
		if out[c.note] == nil {
			out[c.note] = &note{Note: c.proof.Note, line: c.line}
			each = append(each, out[c.note])
		}
	}
	return out, Parallel(p.ctx, len(each), func(i int) { each[i].err = p.note(each[i]) })
}

// note verifies the log's own line under the key of its position, and every cosignature
// under the witness key of the organization it names. No other line may be there.
func (p *opener) note(n *note) error {
	at := n.line
	own := func(l attlog.Line) bool { return l.Name == attlog.Origin(n.Org) }
	if n.Head.Size == 0 || !slices.ContainsFunc(p.keys[n.Org].InForce(n.Head.Size-1), func(k did.PublicKey) bool { return n.Verify(k) == nil }) {
		return fault(at, "the head of %s of size %d is not signed by a key valid there", p.org(n.Org), n.Head.Size)
	}
	good, verdicts := n.Cosignatures(p.ring.witness)
	owns, unheld := 0, 0
	for i, l := range n.Lines {
		if own(l) {
			owns++
			continue
		}
		if w, ok := l.Witness(); ok && p.lenient && p.unheld(w) {
			unheld++
			continue
		}
		if w, ok := l.Witness(); !ok || verdicts[i] != attlog.LineGood || w == n.Org {
			return fault(at, "the head of %s of size %d has a false or unknown line by %s", p.org(n.Org), n.Head.Size, l.Name)
		}
	}
	if owns != 1 || len(good)+unheld+1 != len(n.Lines) {
		return fault(at, "the head of %s of size %d has lines that count for nothing", p.org(n.Org), n.Head.Size)
	}
	if unheld > 0 {
		n.waits = &Fault{at, fmt.Sprintf("%s by organizations whose DID logs are not in the file, on the head of %s of size %d",
			Count(unheld, "cosignature"), p.org(n.Org), n.Head.Size), true}
	}
	for _, c := range good {
		n.seen = append(n.seen, attestation.Seen{Org: c.Witness, At: c.At})
	}
	slices.SortFunc(n.seen, func(a, b attestation.Seen) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Org.String(), b.Org.String()))
	})
	return nil
}

// unheld says that nothing is known of the keys of d.
func (p *opener) unheld(d did.DID) bool {
	_, err := p.ring.Head(p.ctx, d)
	return errors.Is(err, keyring.ErrAbsent)
}

// announced leaves out the entries of logs in which a version of the DID is not announced:
// they are pending.
func (p *opener) announced(all []claimed) []claimed {
	waits := map[did.DID]bool{}
	for i, e := range p.Entries {
		if org := e.event().Org; i == 0 || p.Entries[i-1].event().Org != org {
			waits[org] = p.rotation(e) != nil
			if waits[org] {
				_ = p.wait(p.rotation(e))
				delete(p.keys, org)
			}
		}
	}
	p.Entries = slices.DeleteFunc(p.Entries, func(e Entry) bool { return waits[e.event().Org] })
	return slices.DeleteFunc(all, func(c claimed) bool { return waits[c.event.Org] })
}

// rotations wants every version of a DID announced in the log, where the file holds
// entries of it: without, no event signed before it can be judged.
func (p *opener) rotations() error {
	for i, e := range p.Entries {
		if i > 0 && p.Entries[i-1].event().Org == e.event().Org {
			continue
		}
		if err := p.rotation(e); err != nil {
			return err
		}
	}
	return nil
}

// rotation wants it of the log of e.
func (p *opener) rotation(e Entry) error {
	org := e.event().Org
	known, err := p.ring.Known(p.ctx, org)
	if err != nil || len(known) == 0 {
		return pending(e.line, "the DID log of %s is not in the file", org)
	}
	if v := known[len(known)-1]; p.keys[org].Version(math.MaxUint64) != v {
		return pending(e.line, "%s is pending: no key.rotated to version %.20s… is in the file", p.org(org), v)
	}
	return nil
}
