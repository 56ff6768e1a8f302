package importers

import (
	"strings"
	"time"

	"trustnode/did/strictjson"
	"trustnode/node/memory"
)

// mem0 reads what mem0's get_all returns: pages, lists of them, or lists of
// memories, in the spelling of its Python and of its JavaScript client. A custom
// export is whatever its schema says and is refused.
type mem0 struct{ o Options }

var _ format = mem0{}

func (mem0) name() string             { return "mem0" }
func (mem0) lists() []string          { return []string{"results", "memories"} }
func (mem0) sniff(s shape) bool       { return s.has("id", "memory") }
func (m mem0) ended(t time.Time) bool { return !t.IsZero() && !t.After(m.o.At) }

func (m mem0) item(v strictjson.Value) memory.Line {
	said, id := text(v, "memory"), text(v, "id")
	if said == "" || id == "" {
		return reject(RejectShape, "no id and memory; a custom export cannot be told from anything else")
	}
	at, err := when(v, "created_at", "createdAt")
	ends, err2 := when(v, "expiration_date", "expirationDate")
	if err == nil {
		err = err2
	}
	if err != nil {
		return reject(RejectTime, "%v", err)
	}
	if m.ended(ends) {
		return left("expired")
	}
	names, ok := texts(v, "categories")
	if !ok {
		return reject(RejectShape, "categories")
	}
	return labelled(remembered{
		id: id, app: text(v, "app_id", "appId"), user: text(v, "user_id", "userId"), said: said, at: at, ends: ends,
	}, names)
}

// remembered is one memory of mem0 or OpenMemory.
type remembered struct {
	id, app, user, said string
	at, ends            time.Time
}

// labelled makes a line of a memory and its categories.
func labelled(r remembered, categories []string) memory.Line {
	var tags []string
	for _, c := range categories {
		t, ok := slug("category:", c)
		if !ok {
			return reject(RejectTag, "category %s", c)
		}
		tags = append(tags, t)
	}
	l := memory.Line{Origin: r.id, Draft: memory.Draft{
		Statement: statement(r.said), Tags: tags, ExpiresAt: r.ends,
		Source: memory.Source{Type: memory.SourceImport, ID: strings.TrimPrefix(r.app+"/"+r.id, "/"), ObservedAt: r.at},
	}}
	if r.user != "" {
		l.Subjects = []string{r.user}
	}
	return l
}
