package importers

import (
	"strings"

	"trustnode/did/strictjson"
	"trustnode/node/memory"
)

// langGraph reads items of a LangGraph store: as its clients return them, and as
// rows of its table, whose prefix is a namespace joined by dots.
type langGraph struct{}

var _ format = langGraph{}

func (langGraph) name() string    { return "langgraph" }
func (langGraph) lists() []string { return []string{"items"} }
func (langGraph) sniff(s shape) bool {
	return s.has("namespace", "key", "value") || s.has("prefix", "key", "value")
}

func (g langGraph) item(v strictjson.Value) memory.Line {
	namespace, ok := g.namespace(v)
	key := text(v, "key")
	value, there := get(v, "value")
	if !ok || key == "" || !there {
		return reject(RejectShape, "no namespace, key and value")
	}
	var tags []string
	for _, part := range namespace {
		tag, ok := slug("namespace:", part)
		if !ok {
			return reject(RejectTag, "namespace %s", strings.Join(namespace, "/"))
		}
		tags = append(tags, tag)
	}
	at, err := when(v, "created_at", "createdAt")
	if err != nil {
		return reject(RejectTime, "%v", err)
	}
	d := memory.Draft{Tags: tags, Source: memory.Source{
		Type: memory.SourceImport, ID: strings.Join(append(namespace, key), "/"), ObservedAt: at,
	}}
	d.Statement, d.ContentType = g.said(value)
	return memory.Line{Origin: join(append(namespace, key)...), Draft: d}
}

// namespace is empty, not nil, for an item that lies in none.
func (langGraph) namespace(v strictjson.Value) ([]string, bool) {
	m, there := get(v, "namespace", "prefix")
	s, isText := m.Text()
	switch {
	case !there:
		return nil, false
	case isText && s == "":
		return []string{}, true
	case isText:
		return strings.Split(text(v, "namespace", "prefix"), "."), true
	}
	parts, ok := texts(v, "namespace", "prefix")
	return parts, ok && len(parts) <= maxParts
}

// said is the value's text where it is one, or says nothing else than one. Any
// other value is kept as it was written: a number that no float holds included.
func (langGraph) said(value strictjson.Value) (statementText, contentType string) {
	if s, ok := value.Text(); ok {
		return statement(s), ""
	}
	if m := value.Members(); len(m) == 1 {
		s, ok := m[0].Value.Text()
		switch m[0].Name {
		case "content", "text", "memory", "data":
			if ok {
				return statement(s), ""
			}
		}
	}
	return statement(string(value.Raw())), "application/json"
}
