package importers

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"trustnode/did/strictjson"
	"trustnode/node/memory"
)

// jsonl reads this program's own lines, for memory of any other origin: an
// object with "statement" and, where they apply, id, kind, tags, subjects,
// source_id, observed_at, review_after, expires_at, content_type and data.
type jsonl struct{}

var _ format = jsonl{}

func (jsonl) name() string       { return "jsonl" }
func (jsonl) lists() []string    { return []string{"entries"} }
func (jsonl) sniff(s shape) bool { return s.has("statement") }

func (j jsonl) item(v strictjson.Value) memory.Line {
	if m, _ := v.Get("statement"); m.Kind() != strictjson.String {
		return reject(RejectShape, "no statement")
	}
	d := memory.Draft{
		Statement: statement(text(v, "statement")), ContentType: text(v, "content_type"),
		Source: memory.Source{Type: memory.SourceImport, ID: text(v, "source_id")},
	}
	l := memory.Line{Origin: text(v, "id")}
	if l.Origin == "" {
		h := sha256.Sum256(v.Raw())
		l.Origin = "\x00" + string(h[:])
	}
	if bad := j.rest(v, &d); bad.Reason != "" {
		return bad
	}
	subjects, ok := texts(v, "subjects")
	if !ok {
		return reject(RejectShape, "subjects")
	}
	l.Draft, l.Subjects = d, subjects
	return l
}

func (j jsonl) rest(v strictjson.Value, d *memory.Draft) (bad memory.Line) {
	if kind := text(v, "kind"); kind != "" {
		k, err := memory.ParseKind(kind)
		if err != nil {
			return reject(RejectShape, "%v", err)
		}
		d.Kind = k
	}
	tags, ok := texts(v, "tags")
	if !ok {
		return reject(RejectShape, "tags")
	}
	// A class or an origin is the operator's to give, by memory tag --release.
	d.Tags = slices.DeleteFunc(tags, func(t string) bool { return strings.HasPrefix(t, "class:") || strings.HasPrefix(t, "origin:") })
	if data := text(v, "data"); data != "" {
		b, err := base64.RawURLEncoding.Strict().DecodeString(data)
		if err != nil {
			return reject(RejectShape, "data is no base64url")
		}
		d.Data = b
	}
	for _, t := range []struct {
		at    *time.Time
		names []string
	}{{&d.Source.ObservedAt, []string{"observed_at", "created"}}, {&d.ReviewAfter, []string{"review_after"}}, {&d.ExpiresAt, []string{"expires_at"}}} {
		at, err := when(v, t.names...)
		if err != nil {
			return reject(RejectTime, "%v", err)
		}
		*t.at = at
	}
	return memory.Line{}
}
