package verifier

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/keyring"
	"trustnode/did/strictjson"
	"trustnode/federation/bundle"
	"trustnode/node/casefile"
)

// material takes in the files given along. What is broken in them fails the verification:
// whoever gave them meant them to count.
func (s *session) material() error {
	if len(s.o.With) > MaxWith {
		return broken("%d files are given along, at most %d", len(s.o.With), MaxWith)
	}
	for _, m := range s.o.With {
		if err := s.take(m); err != nil {
			return broken("%s, given with --with: %v", base(m.Name), err)
		}
	}
	s.call(s.with)
	return s.takeLogs()
}

// takeLogs offers the logs of the material, those that begin a history first.
func (s *session) takeLogs() error {
	var parts []part
	for _, m := range slices.Compact(slices.Sorted(maps.Values(s.from))) {
		parts = append(parts, logsOf(slices.DeleteFunc(slices.Clone(s.with), func(l casefile.Numbered) bool { return s.from[l.N] != m }))...)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.From, b.From) })
	for _, p := range parts {
		err := s.offer(p)
		switch {
		case errors.As(err, new(*keyring.Rollback)), errors.Is(err, keyring.ErrUnapproved):
			continue // older than what is held, or vouched for by nobody: not used
		case errors.Is(err, keyring.ErrFrozen):
			return s.frozen(p.DID)
		case err != nil:
			return broken("%s, given with --with: %v", base(s.from[p.line]), logRefusal(err, p.Witness != nil))
		}
	}
	return nil
}

// take sorts one file of the material.
func (s *session) take(m Material) error {
	kind, b, err := read(bytes.NewReader(m.Bytes))
	if err != nil {
		return err
	}
	switch kind {
	case KindDIDLog:
		h, err := didwebvh.Verify(b, m.Witness, s.late)
		if err != nil {
			return logRefusal(err, m.Witness != nil)
		}
		s.along(m, bundle.DIDLog{DID: h.DID(), From: 1, Log: h.Log(), Witness: m.Witness})
	case KindBundle, KindCase, KindProof:
		return s.takeLines(m, b)
	case KindObject:
		e, err := envelope.ParseDSSE(bytes.TrimSuffix(b, []byte("\n")), maxObject)
		if err != nil {
			return err
		}
		s.along(m, bundle.Envelope{Envelope: e})
	case KindDocument:
		return s.takeWeb(m, b)
	default:
		return broken("a %s decides nothing about another file", kind.words())
	}
	return nil
}

func (s *session) along(m Material, l bundle.Line) {
	n := -1 - len(s.with)
	s.with, s.from[n] = append(s.with, casefile.Numbered{Line: l, N: n}), m.Name
}

func (s *session) takeLines(m Material, b []byte) error {
	r, err := bundle.NewReader(bytes.NewReader(b))
	if err != nil {
		return err
	}
	for {
		l, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if l.Kind() != bundle.KindUnknown {
			s.along(m, l)
		}
	}
}

// takeWeb pins a did.json for this verification: the caller's word is all it rests on.
func (s *session) takeWeb(m Material, b []byte) error {
	d, err := subject(b)
	if err != nil {
		return err
	}
	if d.Method() != "web" {
		return broken("a DID document of %s proves nothing; its did.jsonl does", d)
	}
	if _, err := s.ring.OfferWeb(s.ctx, d, b, "given with --with", s.o.Now, ""); err != nil {
		return err
	}
	s.webs[d] = base(m.Name)
	_, _, err = s.pinned.DID(s.ctx, s.ring, d)
	return err
}

// subject is the DID a document says it is about.
func subject(b []byte) (did.DID, error) {
	v, err := strictjson.Parse(b, maxDepth)
	if err != nil {
		return did.DID{}, broken("%v", err)
	}
	id, _ := v.Get("id")
	text, _ := id.Text()
	return did.Parse(text)
}

// part is what the lines of one DID hold together.
type part struct {
	bundle.DIDLog
	line  int  // the first
	split bool // in pieces that do not fit together
}

// logsOf joins the lines of each DID, in the order in which they first stand.
func logsOf(lines []casefile.Numbered) []part {
	at := map[did.DID]int{}
	var out []part
	for _, l := range lines {
		d, ok := l.Line.(bundle.DIDLog)
		if !ok {
			continue
		}
		i, held := at[d.DID]
		if !held {
			at[d.DID] = len(out)
			out = append(out, part{DIDLog: d, line: l.N})
			out[len(out)-1].Log = bytes.Clone(d.Log)
			continue
		}
		p := &out[i]
		next := p.From + uint64(bytes.Count(p.Log, []byte("\n")))
		if d.From != next || !slices.Equal(d.Witness, p.Witness) || d.DID.Method() != didwebvh.Method {
			p.split = true
			continue
		}
		p.Log = append(p.Log, d.Log...)
	}
	return out
}

// offer gives a log to the ring. Errors are those of keyring.Ring.Offer, and *refusal.
func (s *session) offer(p part) error {
	if p.split {
		return broken("the lines of the DID log of %s leave a gap, overlap, or carry different witness files", s.short(p.DID))
	}
	var err error
	if p.DID.Method() == "web" {
		_, err = s.ring.OfferWeb(s.ctx, p.DID, p.Log, "", s.o.Now, "")
	} else {
		_, err = s.ring.Offer(s.ctx, p.DID, p.Log, p.Witness)
	}
	if err != nil {
		return err
	}
	if _, _, err := s.pinned.DID(s.ctx, s.ring, p.DID); err != nil {
		return broken("%v", err)
	}
	return nil
}
