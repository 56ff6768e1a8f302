package importers

import (
	"strings"

	"trustnode/did/strictjson"
	"trustnode/node/memory"
)

// graphiti reads edges between entities as Graphiti's server and its MCP server
// return them, and as Neo4j's export of the graph holds them.
type graphiti struct{ o Options }

var _ format = graphiti{}

func (graphiti) name() string       { return "graphiti" }
func (graphiti) lists() []string    { return []string{"facts", "edges"} }
func (graphiti) sniff(s shape) bool { return s.has("uuid", "fact") }

func (g graphiti) item(v strictjson.Value) memory.Line {
	if p, ok := v.Get("properties"); ok { // of Neo4j
		if text(v, "label") != "RELATES_TO" {
			return left("nodes, and edges that state no fact")
		}
		v = p
	}
	fact, id := text(v, "fact"), text(v, "uuid")
	if fact == "" || id == "" {
		return reject(RejectShape, "no uuid and fact")
	}
	episodes, ok := texts(v, "episodes")
	if !ok {
		return reject(RejectShape, "episodes")
	}
	l := memory.Line{Origin: id, Group: text(v, "group_id", "groupId"), Draft: memory.Draft{
		Statement: statement(fact),
		Source:    memory.Source{Type: memory.SourceImport, ID: fitting(episodes, id)},
	}}
	if name := text(v, "name"); name != "" {
		tag, ok := slug("type:", name)
		if !ok {
			return reject(RejectTag, "name %s", name)
		}
		l.Draft.Tags = []string{tag}
	}
	return g.times(v, l)
}

// times reads when a fact held. One that no longer holds is left out; one with
// an end to come is to be checked then.
func (g graphiti) times(v strictjson.Value, l memory.Line) memory.Line {
	if _, expired := get(v, "expired_at", "expiredAt"); expired {
		return left("invalidated")
	}
	ends, err := when(v, "invalid_at", "invalidAt")
	if err != nil {
		return reject(RejectTime, "%v", err)
	}
	if !ends.IsZero() && !ends.After(g.o.At) {
		return left("invalidated")
	}
	l.Draft.ReviewAfter = ends
	for _, names := range [][]string{{"valid_at", "validAt"}, {"reference_time", "referenceTime"}, {"created_at", "createdAt"}} {
		at, err := when(v, names...)
		if err != nil {
			return reject(RejectTime, "%v", err)
		}
		if l.Draft.Source.ObservedAt.IsZero() {
			l.Draft.Source.ObservedAt = at
		}
	}
	return l
}

// fitting joins as many ids of episodes as the id of a source holds; the edge's
// own where there are none.
func fitting(episodes []string, own string) string {
	var b strings.Builder
	for _, e := range episodes {
		if e == "" || b.Len()+1+len(e) > memory.MaxSourceID {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(e)
	}
	if b.Len() == 0 {
		return own
	}
	return b.String()
}
