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
	entry attestation.Entry
	env   envelope.Envelope
	event attestation.Event
	proof attlog.Proof
}

// logs verifies all entries, log by log and in order of index: the place under the head,
// the key valid at that place, then the note and its cosignatures.
func (p *opener) logs() error {
	var all []claimed
	for l, e := range of[bundle.Entry](p) {
		c, err := claim(l.n, e)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b claimed) int {
		return cmp.Or(cmp.Compare(a.event.Org.String(), b.event.Org.String()), cmp.Compare(a.proof.Index, b.proof.Index), cmp.Compare(a.line, b.line))
	})
	var kept []claimed
	for i, c := range all {
		if i > 0 && all[i-1].event.Org == c.event.Org && all[i-1].proof.Index == c.proof.Index {
			return fault(c.line, "%s %d stands in line %d already", c.event.Org, c.proof.Index, all[i-1].line)
		}
		n := len(p.Entries)
		if err := p.wait(p.entry(c)); err != nil {
			return err
		}
		if len(p.Entries) > n {
			kept = append(kept, c)
		}
	}
	if p.lenient {
		kept = p.announced(kept)
	}
	return p.heads(kept)
}

func claim(n int, e bundle.Entry) (claimed, error) {
	c := claimed{line: n, entry: e.Entry}
	var err error
	if c.env, c.event, err = c.entry.Envelope(); err != nil {
		return c, fault(n, "entry: %v", err)
	}
	if err := attestation.CheckKnown(c.event); err != nil {
		return c, fault(n, "entry: %v", err)
	}
	if c.proof, err = attlog.ParseProof(e.Proof); err != nil {
		return c, fault(n, "proof of %s %s: %v", c.event.Org, c.event.Type, err)
	}
	if c.proof.Note.Org != c.event.Org {
		return c, fault(n, "%s is under a head of %s", c.event.Org, c.proof.Note.Org)
	}
	return c, nil
}

// entry verifies one event at its place and adds it to the key history of its log.
func (p *opener) entry(c claimed) error {
	org, i, size := c.event.Org, c.proof.Index, c.proof.Note.Head.Size
	if err := c.proof.Check(c.entry.Hash()); err != nil {
		return fault(c.line, "%s %d does not lead to the head of size %d", p.org(org), i, size)
	}
	k, ok := p.keys[org]
	if !ok {
		k = history.New(org)
	}
	if what := p.missing(k, c.event); what != "" {
		return pending(c.line, "%s %d %s is pending: %s", p.org(org), i, c.event.Type, what)
	}
	src, err := k.Next(p.ctx, p.ring, i, c.event)
	if errors.Is(err, history.ErrUnknownVersion) {
		return pending(c.line, "%s %d %s: %v", p.org(org), i, c.event.Type, err)
	}
	if err != nil {
		return fault(c.line, "%s %d %s: %v", p.org(org), i, c.event.Type, err)
	}
	v, err := envelope.Open[attestation.Event](p.ctx, c.env, src)
	if errors.Is(err, envelope.ErrPending) {
		return pending(c.line, "%s %d is pending: %v", p.org(org), i, err)
	}
	if at, ok := p.retired(org, c.event.Kid); errors.Is(err, envelope.ErrRetired) && ok {
		return fault(c.line, "event %d of %s is signed by %s, retired at index %d", i, p.org(org), c.event.Kid, at)
	}
	if err != nil {
		return fault(c.line, "%s %d %s: %v", p.org(org), i, c.event.Type, err)
	}
	if p.keys[org], err = k.Apply(p.ctx, p.ring, i, v); err != nil {
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
		n, err := p.note(c.line, c.proof.Note)
		if err != nil {
			return err
		}
		p.Entries[i].Witnessed = n.seen
		p.names.Add(org)
		for _, s := range n.seen {
			p.names.Add(s.Org)
		}
	}
	for i := range p.Entries {
		e := &p.Entries[i]
		if other, ok := p.byID[e.Event.ID()]; ok {
			return fault(e.line, "event %s stands in line %d already", e.Event.ID(), other.line)
		}
		p.byID[e.Event.ID()] = e
	}
	return p.rotations()
}

// note verifies the log's own line under the key of its position, and every cosignature
// under the witness key of the organization it names. No other line may be there.
func (p *opener) note(at int, n attlog.Note) (note, error) {
	text := string(n.Bytes())
	if done, ok := p.notes[text]; ok {
		return done, nil
	}
	own := func(l attlog.Line) bool { return l.Name == attlog.Origin(n.Org) }
	if n.Head.Size == 0 || !slices.ContainsFunc(p.keys[n.Org].InForce(n.Head.Size-1), func(k did.PublicKey) bool { return n.Verify(k) == nil }) {
		return note{}, fault(at, "the head of %s of size %d is not signed by a key valid there", p.org(n.Org), n.Head.Size)
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
			return note{}, fault(at, "the head of %s of size %d has a false or unknown line by %s", p.org(n.Org), n.Head.Size, l.Name)
		}
	}
	if owns != 1 || len(good)+unheld+1 != len(n.Lines) {
		return note{}, fault(at, "the head of %s of size %d has lines that count for nothing", p.org(n.Org), n.Head.Size)
	}
	if unheld > 0 {
		p.deferred = append(p.deferred, &Fault{at, fmt.Sprintf("%s by organizations whose DID logs are not in the file, on the head of %s of size %d",
			Count(unheld, "cosignature"), p.org(n.Org), n.Head.Size), true})
	}
	done := note{Note: n}
	for _, c := range good {
		done.seen = append(done.seen, attestation.Seen{Org: c.Witness, At: c.At})
		p.newer(c.At)
	}
	slices.SortFunc(done.seen, func(a, b attestation.Seen) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Org.String(), b.Org.String()))
	})
	p.notes[text] = done
	return done, nil
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
	for _, e := range p.Entries {
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
