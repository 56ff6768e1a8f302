package memory

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"trustnode/did"
)

const timeLayout = "2006-01-02T15:04:05Z"

// record returns the entry's RFC 8785 bytes as they are stored.
func (e Entry) record() []byte { return e.render(true) }

// View returns the RFC 8785 bytes that a borrower gets of this revision: the
// record without tenant_id, project_id, subjects, derived_by, derived_from,
// origins, expires_at, state, authorization_reference, source.id and reserved
// tags (04 section 5).
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

// row is the JSON of a stored record.
type row struct {
	Authorization string    `json:"authorization_reference"`
	ContentType   string    `json:"content_type"`
	Created       string    `json:"created"`
	Data          string    `json:"data"`
	Depth         uint64    `json:"depth"`
	DerivedBy     string    `json:"derived_by"`
	DerivedFrom   []string  `json:"derived_from"`
	ExpiresAt     string    `json:"expires_at"`
	ID            string    `json:"id"`
	Kind          string    `json:"kind"`
	Origins       []string  `json:"origins"`
	Project       string    `json:"project_id"`
	Rev           uint64    `json:"rev"`
	ReviewAfter   string    `json:"review_after"`
	Source        rowSource `json:"source"`
	State         string    `json:"state"`
	Statement     string    `json:"statement"`
	Subjects      []string  `json:"subjects"`
	Tags          []string  `json:"tags"`
	Tenant        string    `json:"tenant_id"`
	Trust         string    `json:"trust"`
	Updated       string    `json:"updated"`
	Writer        string    `json:"writer"`
}

type rowSource struct {
	ID         string `json:"id"`
	ObservedAt string `json:"observed_at"`
	Type       string `json:"type"`
}

// parseRecord reads what record wrote; the bytes come from this node's store.
func parseRecord(b []byte) (Entry, error) {
	var r row
	if err := json.Unmarshal(b, &r); err != nil {
		return Entry{}, fmt.Errorf("stored entry: %v", err)
	}
	p := parser{}
	e := Entry{
		ID: r.ID, Rev: r.Rev, Place: Place{r.Tenant, r.Project},
		Kind: named[Kind](&p, kinds, r.Kind), Statement: r.Statement, ContentType: r.ContentType, Data: p.data(r.Data),
		Source:    Source{named[SourceType](&p, sources, r.Source.Type), r.Source.ID, p.time(r.Source.ObservedAt)},
		DerivedBy: r.DerivedBy, DerivedFrom: r.DerivedFrom, Depth: r.Depth, Origins: r.Origins,
		Trust: named[Trust](&p, trusts, r.Trust), Subjects: r.Subjects, Tags: r.Tags,
		Created: p.time(r.Created), Updated: p.time(r.Updated), ReviewAfter: p.time(r.ReviewAfter), ExpiresAt: p.time(r.ExpiresAt),
		State: named[State](&p, states, r.State), Authorization: r.Authorization, Writer: p.did(r.Writer),
	}
	if p.err != nil {
		return Entry{}, fmt.Errorf("stored entry %s: %v", r.ID, p.err)
	}
	return e, nil
}

// parser keeps the first error of many small fields.
type parser struct{ err error }

func (p *parser) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *parser) time(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(timeLayout, s)
	p.keep(err)
	return t
}

func (p *parser) data(s string) []byte {
	if s == "" {
		return nil
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	p.keep(err)
	return b
}

func (p *parser) did(s string) did.DID {
	if s == "" {
		return did.DID{}
	}
	d, err := did.Parse(s)
	p.keep(err)
	return d
}

func named[T ~uint8](p *parser, names []string, s string) T {
	v, err := parseName[T]("stored entry", names, s)
	p.keep(err)
	return v
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}
