package casefile

import (
	"bytes"
	"context"
	"path/filepath"
	"time"

	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/federation/bundle"
	"trustnode/federation/charter"
)

func name(o Options) string {
	if o.Name == "" {
		return "(unnamed)"
	}
	return filepath.Base(o.Name)
}

// verifyBytes tells by the bytes what a file is, and verifies it as that.
func verifyBytes(ctx context.Context, b []byte, o Options) Report {
	var r Report
	r.add("file", "%s  %d lines  %s bytes  %s", name(o), bytes.Count(b, []byte("\n")), thousands(len(b)), envelope.IDOf(b))
	switch bundle.Sniff(b) {
	case bundle.FormBundle:
		head, _, _ := bytes.Cut(b, []byte("\n"))
		if h, err := bundle.ParseHeader(head); err == nil && len(h.About) == 0 {
			return verifyDraft(ctx, r, b, o)
		}
		return verifyCase(ctx, r, b, o)
	case bundle.FormDIDLog:
		return verifyDIDLog(r, b, o)
	case bundle.FormObject, bundle.FormCompact:
		return broken(r, o, fault(1, "one object alone proves nothing: its keys, and where a log holds it, are not in the file"))
	}
	return broken(r, o, fault(1, "neither a case file, a file of a charter nor a DID log"))
}

func verifyCase(ctx context.Context, r Report, b []byte, o Options) Report {
	s, c, w, err := Open(ctx, b, o)
	if err != nil {
		return broken(r, o, err)
	}
	r.Lines = append(r.Lines, s.Words(c, w)...)
	r.OK = true
	r.add("result", "verifies (%s)%s", count(r.claims(), "claim"), s.caveat())
	return r
}

func (r Report) claims() (n int) {
	for _, l := range r.Lines {
		if l.Kind == "claim" {
			n++
		}
	}
	return n
}

// caveat says what trust rests on where no fingerprint was given.
func (s Set) caveat() string {
	if s.Pinned {
		return ""
	}
	return " against the genesis in this file only, compare " + fingerprint(s)
}

// verifyDIDLog verifies a did:webvh log that needs no witness file.
func verifyDIDLog(r Report, b []byte, o Options) Report {
	h, err := didwebvh.Verify(b, nil, endOfTime)
	if err != nil {
		return broken(r, o, fault(0, "DID log: %v", err))
	}
	if o.Fingerprint != "" || o.Strict {
		return broken(r, o, fault(0, "a DID log belongs to no federation, no fingerprint vouches for it"))
	}
	for n := 1; n <= h.Len(); n++ {
		v, _ := h.At(n)
		r.add("ok", "version %s, dated %s by its controller", v.ID, stamp(v.Time))
	}
	r.add("claim", "%s had %s, each signed by a key the one before it named", h.DID(), count(h.Len(), "version"))
	r.add("unsaid", "whether the log goes on after %s", h.Head().ID)
	r.OK = true
	r.add("result", "verifies (%s)", count(r.claims(), "claim"))
	return r
}

// verifyDraft verifies a join file, or the file of a charter with all it rests on.
func verifyDraft(ctx context.Context, r Report, b []byte, o Options) Report {
	f, err := charter.ReadFile(bytes.NewReader(b))
	if err != nil {
		return broken(r, o, err)
	}
	if f.Skipped+len(f.Others) > 0 {
		return broken(r, o, fault(0, "%s unknown or unused", count(f.Skipped+len(f.Others), "line is|lines are")))
	}
	if again, err := f.Encode(); err != nil || !bytes.Equal(again, b) {
		return broken(r, o, fault(0, "lines are not in their place, or stand twice"))
	}
	ring := newRing()
	if len(f.Charters) == 0 {
		return verifyJoins(ctx, r, f, charter.NewRing(ring.Ring, nil), o)
	}
	return verifyCharters(ctx, r, f, ring, o)
}

func verifyJoins(ctx context.Context, r Report, f charter.File, ring charter.Ring, o Options) Report {
	cards, err := charter.Cards(ctx, f, ring)
	if err != nil {
		return broken(r, o, err)
	}
	if len(cards) == 0 {
		return broken(r, o, fault(0, "the file says nothing"))
	}
	for _, c := range cards {
		j := c.Join.Body()
		r.add("ok", "join %s signed by %s", c.Join.ID(), short(j.Org))
		r.add("claim", "%s asked to join as %s, dated %s", short(j.Org), quote(j.Name), j.At)
	}
	r.OK = true
	r.add("result", "verifies (%s)", count(r.claims(), "claim"))
	return r
}

func verifyCharters(ctx context.Context, r Report, f charter.File, ring *ring, o Options) Report {
	var newest time.Time
	for _, e := range f.Charters {
		if b, err := envelope.Decode[charter.Body](e); err == nil && b.NotBefore.Time().After(newest) {
			newest = b.NotBefore.Time()
		}
	}
	res, err := charter.Review(ctx, charter.Chain{}, f, charter.NewRing(ring.Ring, nil), newest)
	if err != nil {
		return broken(r, o, err)
	}
	s := Set{Chain: res.Chain}
	p := opener{Set: s}
	if res.Outcome != nil || len(res.Tally.Ignored) > 0 {
		return broken(r, o, fault(0, "charter %d: %s", res.Draft.Seq, res.Tally))
	}
	if s.Pinned, err = p.pinned(o); err != nil {
		return broken(r, o, err)
	}
	r.add("ok", "charter %d %s, %s", res.Draft.Seq, res.Draft.ID, res.Tally)
	for _, w := range res.Words() {
		r.add("claim", "%s", w)
	}
	r.OK = true
	r.add("result", "verifies (%s)%s", count(r.claims(), "claim"), s.caveat())
	return r
}

// count writes a number with its noun; "one|many" names both forms.
func count(n int, noun string) string {
	one, many := noun, noun+"s"
	if i := bytes.IndexByte([]byte(noun), '|'); i >= 0 {
		one, many = noun[:i], noun[i+1:]
	}
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}
