package casefile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"trustnode/did/envelope"
	"trustnode/federation/bundle"
)

// oneByOne opens a case file as plainly as it can be done: line after line, entry after entry, each fault where it is met.
func oneByOne(b []byte) (*opener, error) {
	head, rest, _ := bytes.Cut(b, []byte("\n"))
	h, err := bundle.ParseHeader(head)
	if err != nil {
		return nil, fault(1, "not the header of a bundle")
	}
	f := file{header: h}
	for n := 2; len(rest) > 0; n++ {
		raw, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return nil, fault(n, "the last line does not end with a newline")
		}
		l, err := bundle.ParseLine(raw)
		if err != nil {
			return nil, fault(n, "%v", err)
		}
		next := line{Line: l, n: n, raw: raw, place: place(l), leaf: tlog.RecordHash(raw)}
		if len(f.lines) > 0 && compare(f.lines[len(f.lines)-1], next) >= 0 {
			return nil, fault(n, "%s is not in its place, or stands twice", l.Kind())
		}
		f.lines, rest = append(f.lines, next), after
	}
	p := newOpener(context.Background(), newRing(), f.lines)
	p.file, p.bytes, p.header, p.Case = envelope.IDOf(b), len(b), len(f.lines)+1, f.header.About[0]
	for _, step := range []func() error{p.dids, p.logsOneByOne, p.charters, p.members, p.bodiesOf, p.agentObjects, p.rowsOneByOne, p.signedOneByOne, p.reach} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	_, err = f.about()
	return p, err
}

func (p *opener) logsOneByOne() error {
	var all []claimed
	for l, e := range of[bundle.Entry](p) {
		c, err := claim(l, e)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b claimed) int {
		return cmp.Or(cmp.Compare(a.event.Org.String(), b.event.Org.String()), cmp.Compare(a.proof.Index, b.proof.Index), cmp.Compare(a.line, b.line))
	})
	for i, c := range all {
		if i > 0 && all[i-1].event.Org == c.event.Org && all[i-1].proof.Index == c.proof.Index {
			return fault(c.line, "%s %d stands in line %d already", c.event.Org, c.proof.Index, all[i-1].line)
		}
		v, err := p.entry(p.history(c.event.Org), c)
		if err := p.admit(c, found{v, err}); err != nil {
			return err
		}
	}
	for i, c := range all {
		for _, before := range all[:i] {
			if before.event.Org == c.event.Org && before.proof.Note.Head.Size == c.proof.Note.Head.Size && before.proof.Note.Head.Root != c.proof.Note.Head.Root {
				return fault(c.line, "%s signed two heads of size %d", p.org(c.event.Org), c.proof.Note.Head.Size)
			}
		}
		n := note{Note: c.proof.Note, line: c.line}
		if err := p.note(&n); err != nil {
			return err
		}
		p.Entries[i].Witnessed = n.seen
		p.names.Add(c.event.Org)
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
	for _, e := range p.Entries {
		if err := p.rotation(e); err != nil {
			return err
		}
	}
	return nil
}

func (p *opener) rowsOneByOne() error {
	for l, b := range of[bundle.Row](p) {
		r, err := p.auditRow(l, b)
		if err != nil {
			return err
		}
		if other, twice := p.rows[r.id]; twice {
			return fault(l.n, "row %s stands in line %d already", r.id, other.line)
		}
		p.rows[r.id] = r
	}
	return nil
}

func (p *opener) signedOneByOne() error {
	for l, e := range of[bundle.Envelope](p) {
		o, err := p.object(l, e)
		if err != nil {
			return err
		}
		if other, twice := p.objects[o.id]; twice && o.body != nil {
			return fault(l.n, "%s stands in line %d already", o.id, other.line)
		}
		if o.body != nil {
			p.objects[o.id] = o
		}
	}
	return nil
}

var holdsBytes = regexp.MustCompile(`"(entry|proof|row|path|body|did_log|sig|payload)":"([^"]+)"`)

// spoilt changes one member of a line that holds bytes: a bit, or the bytes of another line.
func spoilt(rnd *rand.Rand, l, other []byte) []byte {
	all := holdsBytes.FindAllSubmatchIndex(l, -1)
	if len(all) == 0 {
		return l
	}
	at := all[rnd.IntN(len(all))]
	enc := base64.RawURLEncoding
	if what := string(l[at[2]:at[3]]); what == "sig" || what == "payload" {
		enc = base64.StdEncoding
	}
	if m := holdsBytes.FindSubmatch(other); m != nil && rnd.IntN(4) == 0 && string(m[1]) == string(l[at[2]:at[3]]) {
		return slices.Concat(l[:at[4]], m[2], l[at[5]:])
	}
	b, err := enc.DecodeString(string(l[at[4]:at[5]]))
	if err != nil || len(b) == 0 {
		return l
	}
	b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
	return slices.Concat(l[:at[4]], []byte(enc.EncodeToString(b)), l[at[5]:])
}

// TestTheFirstFaultIsTheSameInAnyNumberOfProcessors gives files with several faults at once to the verifier and to one that
// does one thing after the other: both name the same fault of the same line, or none.
func TestTheFirstFaultIsTheSameInAnyNumberOfProcessors(t *testing.T) {
	rounds := 30
	if os.Getenv("TRUSTNODE_LONG") != "" {
		rounds = 5000
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	refused, lines := 0, map[int]bool{}
	for name, whole := range map[string][]byte{"rotated": rotatedStory(t).build(), "events": events(t, 120), "acts": acts(t, 60)} {
		p, err := oneByOne(whole)
		if s, ours := open(t.Context(), whole, Options{}); err != nil || ours != nil || len(s.Entries) != len(p.Entries) || len(s.rows) != len(p.rows) || len(s.objects) != len(p.objects) || s.Newest != p.Newest {
			t.Fatalf("%s: %v, %v", name, ours, err)
		}
		for range rounds {
			all := bytes.SplitAfter(whole, []byte("\n"))
			all = all[:len(all)-1]
			for range 1 + rnd.IntN(4) {
				switch i := 1 + rnd.IntN(len(all)-1); rnd.IntN(8) {
				case 0:
					all = slices.Delete(all, i, i+1)
				case 1:
					all = slices.Insert(all, i, all[i])
				case 2:
					j := 1 + rnd.IntN(len(all)-1)
					all[i], all[j] = all[j], all[i]
				default:
					all[i] = spoilt(rnd, all[i], all[1+rnd.IntN(len(all)-1)])
				}
			}
			b := bytes.Join(all, nil)
			if rnd.IntN(8) == 0 {
				b = b[:rnd.IntN(len(b))]
			}
			if f, err := split(t.Context(), sorted(b)); err == nil && rnd.IntN(2) == 0 {
				b = must(encode(f.header.About[:1], bodies(f.lines)))
			}
			_, want := oneByOne(b)
			_, got := open(t.Context(), b, Options{})
			if (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
				t.Fatalf("%s: %v, one by one %v", name, got, want)
			}
			var f *Fault
			if errors.As(got, &f) {
				refused++
				lines[f.Line] = true
			}
		}
	}
	if refused < 2*rounds || len(lines) < 10 {
		t.Errorf("%d files were refused, at %d lines", refused, len(lines))
	}
}

// sorted puts lines into their place.
func sorted(b []byte) []byte {
	all := bytes.SplitAfter(b, []byte("\n"))
	var lines []bundle.Line
	for _, raw := range all[1:] {
		if l, err := bundle.ParseLine(bytes.TrimSuffix(raw, []byte("\n"))); err == nil {
			lines = append(lines, l)
		}
	}
	h, err := bundle.ParseHeader(bytes.TrimSuffix(all[0], []byte("\n")))
	if err != nil {
		return b
	}
	out, err := bundle.Encode(h, lines...)
	if err != nil {
		return b
	}
	return out
}

func bodies(lines []line) (out []bundle.Line) {
	for _, l := range lines {
		out = append(out, l.Line)
	}
	return out
}
