package importers

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"time"

	"trustnode/did/strictjson"
	"trustnode/node/memory"
)

// mcp reads the JSONL of the Model Context Protocol's memory server, in two
// shapes: with "type" on each line, and an older one without. Neither has ids;
// an entry is known by what it says. Observations become entries, one each, and
// so does a relation.
type mcp struct{}

var _ memory.Importer = mcp{}

func (mcp) Name() string { return "mcp" }

// Sniff goes by the words alone: of a file whose first line is torn, the members
// cannot be told.
func (mcp) Sniff(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if !bytes.HasPrefix(head, []byte("{")) {
		return false
	}
	for _, member := range []string{`"entityType"`, `"observations"`, `"relationType"`} {
		if bytes.Contains(head, []byte(member)) {
			return true
		}
	}
	return false
}

func (m mcp) Lines(ctx context.Context, r io.Reader, emit func(memory.Line) error) error {
	return documents(ctx, r, m.document, emit)
}

func (m mcp) document(v strictjson.Value) []memory.Line {
	typ, named := v.Get("type")
	kind, _ := typ.Text()
	_, from := v.Get("from")
	_, observed := v.Get("observations")
	switch {
	case v.Kind() != strictjson.Object:
	case kind == "entity" || !named && observed:
		return m.entity(v)
	case kind == "relation" || !named && from:
		return m.relation(v)
	}
	return []memory.Line{{Reason: RejectShape}}
}

// entity makes an entry of each observation.
func (m mcp) entity(v strictjson.Value) []memory.Line {
	name := text(v, "name")
	typ := text(v, "entityType")
	if name == "" {
		return []memory.Line{{Reason: RejectName}}
	}
	tags, ok := slugs("type:", typ, "entity:", name)
	if !ok {
		return []memory.Line{{Reason: RejectTag, Detail: name}}
	}
	list, _ := v.Get("observations")
	if list.Kind() != strictjson.Array {
		return []memory.Line{{Reason: RejectShape, Detail: "observations"}}
	}
	if len(list.Elements()) == 0 {
		return []memory.Line{{Reason: RejectEmpty, Detail: name}}
	}
	source := memory.Source{Type: memory.SourceImport, ID: name, ObservedAt: m.observed(v)}
	var out []memory.Line
	for _, o := range list.Elements() {
		said, ok := o.Text()
		if !ok {
			out = append(out, memory.Line{Reason: RejectShape, Detail: "observation"})
			continue
		}
		out = append(out, saying(said, "entity\x00"+name+"\x00"+typ+"\x00"+said, source, tags))
	}
	return out
}

func (m mcp) relation(v strictjson.Value) []memory.Line {
	from := text(v, "from")
	to := text(v, "to")
	typ := text(v, "relationType")
	if from == "" || to == "" || typ == "" {
		return []memory.Line{{Reason: RejectName}}
	}
	tags, ok := slugs("entity:", from, "entity:", to, "type:", "relation")
	if !ok {
		return []memory.Line{{Reason: RejectTag, Detail: from + ", " + to}}
	}
	said := from + " " + typ + " " + to
	source := memory.Source{Type: memory.SourceImport, ID: said, ObservedAt: m.observed(v)}
	return []memory.Line{saying(said, "relation\x00"+from+"\x00"+typ+"\x00"+to, source, tags)}
}

// observed reads the time that some writers of the older shape add, in seconds
// since 1970; anything else there is no time.
func (mcp) observed(v strictjson.Value) time.Time {
	at, _ := v.Get("createdAt")
	s, err := strconv.ParseInt(string(at.Raw()), 10, 64)
	if err != nil || s <= 0 || s > 1<<33 {
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}

func saying(said, origin string, source memory.Source, tags []string) memory.Line {
	return memory.Line{Origin: origin, Draft: memory.Draft{Kind: memory.Observation, Statement: statement(said), Source: source, Tags: tags}}
}
