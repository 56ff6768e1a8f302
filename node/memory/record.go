package memory

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"time"

	"trustnode/did"
	"trustnode/did/strictjson"
)

const timeLayout = "2006-01-02T15:04:05Z"

// record returns the entry's RFC 8785 bytes as they are stored.
func (e Entry) record() []byte { return e.render(true) }

// View returns the RFC 8785 bytes that a borrower gets of this revision: the
// record without tenant_id, project_id, subjects, derived_by, derived_from,
// origins, expires_at, state, superseded_by, authorization_reference, source.id
// and reserved tags (04 section 5).
func (e Entry) View() []byte { return e.render(false) }

// render writes the members in their RFC 8785 order. own adds what is never
// lent. The statement may hold LF and TAB, which signed bodies may not, so
// did/envelope does not write this.
func (e Entry) render(own bool) []byte {
	o := object{buf: make([]byte, 0, 512+len(e.Statement)+len(e.Data)*4/3)}
	o.open()
	if own {
		o.text("authorization_reference", e.Authorization)
	}
	o.text("category", e.Kind.Category())
	o.text("content_type", e.ContentType)
	o.text("created", stamp(e.Created))
	o.text("data", base64.RawURLEncoding.EncodeToString(e.Data))
	o.number("depth", e.Depth)
	if own {
		o.text("derived_by", e.DerivedBy)
		o.list("derived_from", e.DerivedFrom)
		o.text("expires_at", stamp(e.ExpiresAt))
	}
	o.text("id", e.ID)
	o.text("kind", e.Kind.String())
	if own {
		o.text("loan", e.Loan)
		o.list("origins", e.Origins)
		o.text("project_id", e.Place.project)
	}
	o.number("rev", e.Rev)
	o.text("review_after", stamp(e.ReviewAfter))
	o.source(e.Source, own)
	if own {
		o.text("state", e.State.String())
	}
	o.text("statement", e.Statement)
	if own {
		o.list("subjects", e.Subjects)
		o.text("superseded_by", e.SupersededBy)
	}
	o.text("supersedes", e.Supersedes)
	if own {
		o.list("tags", e.Tags)
		o.text("tenant_id", e.Place.tenant)
	} else {
		o.list("tags", slices.DeleteFunc(slices.Clone(e.Tags), reserved))
	}
	o.text("trust", e.Trust.String())
	o.text("updated", stamp(e.Updated))
	if own {
		o.text("writer", e.Writer.String())
	}
	o.close()
	return o.buf
}

func (o *object) source(s Source, own bool) {
	o.name("source")
	o.open()
	if own {
		o.text("id", s.ID)
	}
	o.text("observed_at", stamp(s.ObservedAt))
	o.text("type", s.Type.String())
	o.close()
}

// parseRecord reads what record wrote.
func parseRecord(b []byte) (Entry, error) {
	v, err := strictjson.Parse(b, 2)
	if err != nil {
		return Entry{}, fmt.Errorf("stored entry: %v", err)
	}
	p := parser{v: v}
	source := parser{}
	source.v, _ = v.Get("source")
	e := Entry{
		ID: p.text("id"), Rev: p.number("rev"), Place: Place{p.text("tenant_id"), p.text("project_id")},
		Kind: named[Kind](&p, kinds, "kind"), Statement: p.text("statement"), ContentType: p.text("content_type"), Data: p.data("data"),
		Source:    Source{named[SourceType](&source, sources, "type"), source.text("id"), source.time("observed_at")},
		DerivedBy: p.text("derived_by"), DerivedFrom: p.list("derived_from"), Depth: p.number("depth"), Origins: p.list("origins"),
		Trust: named[Trust](&p, trusts, "trust"), Subjects: p.list("subjects"), Tags: p.list("tags"),
		Created: p.time("created"), Updated: p.time("updated"), ReviewAfter: p.time("review_after"), ExpiresAt: p.time("expires_at"),
		State: named[State](&p, states, "state"), Authorization: p.text("authorization_reference"), Writer: p.did("writer"),
		Supersedes: p.text("supersedes"), SupersededBy: p.text("superseded_by"), Loan: p.text("loan"),
	}
	if p.keep(source.err); p.err != nil {
		return Entry{}, fmt.Errorf("stored entry %s: %v", e.ID, p.err)
	}
	return e, nil
}

// parser reads members of an object and keeps the first error of many.
type parser struct {
	v   strictjson.Value
	err error
}

func (p *parser) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

// text is empty for an absent member, as an empty text is never written.
func (p *parser) text(name string) string {
	m, _ := p.v.Get(name)
	s, _ := m.Text()
	return s
}

func (p *parser) number(name string) uint64 {
	m, _ := p.v.Get(name)
	n, err := strconv.ParseUint(string(m.Raw()), 10, 53)
	p.keep(err)
	return n
}

func (p *parser) list(name string) []string {
	m, _ := p.v.Get(name)
	out := make([]string, 0, len(m.Elements()))
	for _, x := range m.Elements() {
		s, _ := x.Text()
		out = append(out, s)
	}
	return out
}

func (p *parser) time(name string) time.Time {
	s := p.text(name)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(timeLayout, s)
	p.keep(err)
	return t
}

func (p *parser) data(name string) []byte {
	s := p.text(name)
	if s == "" {
		return nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	p.keep(err)
	return b
}

func (p *parser) did(name string) did.DID {
	s := p.text(name)
	if s == "" {
		return did.DID{}
	}
	d, err := did.Parse(s)
	p.keep(err)
	return d
}

func named[T ~uint8](p *parser, names []string, member string) T {
	v, err := parseName[T](member, names, p.text(member))
	p.keep(err)
	return v
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}
