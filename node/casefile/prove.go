package casefile

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"trustnode/attestation"
	attlog "trustnode/attestation/log"
	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
)

// support adds what the entries rest on: the beginning of each log and its rotations,
// and where a log has rotated, the charters its organization signed before.
func (b *builder) support() error {
	for org := range b.orgs {
		facts, err := b.facts(attestation.Query{Org: org, Type: "log.opened"})
		if err != nil {
			return err
		}
		rotated, err := b.facts(attestation.Query{Org: org, Type: "key.rotated"})
		if err != nil {
			return err
		}
		if len(rotated) > 0 {
			signed, err := b.facts(attestation.Query{Org: org, Type: "charter.signed"})
			if err != nil {
				return err
			}
			facts = append(append(facts, rotated...), slices.DeleteFunc(signed, b.ofNoCharter)...)
		}
		for _, f := range facts {
			if err := b.fact(f, others); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofNoCharter says whether a charter.signed is about a body that is not in the chain.
func (b *builder) ofNoCharter(f attestation.Fact) bool {
	return !slices.ContainsFunc(b.bodies, func(c charter.Head) bool { return f.Event.Body().Subject == c.ID.String() })
}

func (b *builder) fact(f attestation.Fact, by counts) error {
	_, err := b.entry(f.Event.Body().Org, f.Index, f.Event.ID(), by)
	return err
}

// entry adds an event with its proof: under the head by whose note one that counts saw it
// first, so that the file gives it the same time, or in the proof of an event under the one that
// most of them saw; by whoever else saw it first where none could, under the newest head where
// none has.
// Nil for an event that was added before.
func (b *builder) entry(org did.DID, index uint64, id envelope.ID, by counts) (attestation.Entry, error) {
	if !b.first("event", id) {
		return nil, nil
	}
	b.orgs[org] = true
	log, err := b.s.Log(b.ctx, org)
	if err != nil {
		return nil, err
	}
	n, seen, err := b.covering(log, org, index, by)
	if err == nil && !seen {
		n, _, err = b.covering(log, org, index, others)
	}
	if err != nil {
		return nil, err
	}
	path, err := attlog.Include(index, n.Head.Size, log)
	if err != nil {
		return nil, err
	}
	var out attestation.Entry
	proof := attlog.Proof{Index: index, Path: path, Note: n}
	err = log.Entries(b.ctx, index, index+1, func(_ uint64, e attestation.Entry) error {
		b.lines = append(b.lines, bundle.Entry{Entry: e, Proof: proof.Bytes()})
		out = e
		return nil
	})
	return out, err
}

// covering is the note by which one that counts first saw an index, or if most is asked for the one that most of them saw,
// and of two the one seen first; and whether there is one. Else it is the newest note that covers it.
func (b *builder) covering(log attestation.Log, org did.DID, index uint64, by counts) (best attlog.Note, seen bool, err error) {
	head, newest := log.Head()
	notes, err := b.s.Notes(b.ctx, org, index, head.Size, maxNotes)
	if err != nil {
		return attlog.Note{}, false, err
	}
	var first time.Time
	most := 0
	for _, text := range append(notes, newest) {
		n, err := attlog.ParseNote(text)
		if err != nil || n.Head.Size <= index || n.Head.Size > head.Size {
			continue
		}
		n.Lines = b.trueLines(n)
		count, at := witnesses(n, by)
		more, earlier := b.most && count > most, !b.most || count == most
		switch {
		case count > 0 && (!seen || more || earlier && at.Before(first)):
			best, first, most, seen = n, at, count, true
		case !seen:
			best = n
		}
	}
	if best.Org.IsZero() {
		return attlog.Note{}, false, fmt.Errorf("no signed head covers %s %d: %w", org, index, attestation.ErrNotFound)
	}
	return best, seen, nil
}

// trueLines keeps the log's own line and each true cosignature of another organization, where charters are in the file of
// one that these name: the others witness nothing there.
func (b *builder) trueLines(n attlog.Note) []attlog.Line {
	var out []attlog.Line
	for _, l := range n.Lines {
		if l.Name == attlog.Origin(n.Org) {
			out = append(out, l)
		}
	}
	good, _ := n.Cosignatures(b.ring.witness)
	for _, c := range good {
		if len(b.bodies) == 0 || b.isMember(c.Witness) {
			out = append(out, c.Line)
		}
	}
	return out
}

// isMember says whether a charter names an organization, by a name that it has or had.
func (b *builder) isMember(d did.DID) bool {
	for m := range b.members() {
		if h, err := b.ring.History(b.ctx, m); m == d || err == nil && h.Names(d) {
			return true
		}
	}
	return false
}

// witnesses counts the cosignatures that count, and gives the time of the first.
func witnesses(n attlog.Note, by counts) (count int, first time.Time) {
	for _, l := range n.Lines {
		w, ok := l.Witness()
		if !ok || !by(n.Org, w) || len(l.Sig) < 8 {
			continue
		}
		if at := time.Unix(int64(binary.BigEndian.Uint64(l.Sig)), 0); count == 0 || at.Before(first) {
			first = at
		}
		count++
	}
	return count, first
}
