package importers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/node/memory"
)

// taken is what a test looks at of an entry.
type taken struct {
	statement, tags, source, kind, content, observed, review, expires string
}

func takenOf(e memory.Entry) taken {
	day := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339)
	}
	tags := slices.DeleteFunc(slices.Clone(e.Tags), func(s string) bool { return s == "class:internal" })
	kind, content := e.Kind.String(), e.ContentType
	if kind == "observation" {
		kind = ""
	}
	if content == "text/plain" {
		content = ""
	}
	return taken{e.Statement, strings.Join(tags, " "), e.Source.ID, kind, content, day(e.Source.ObservedAt), day(e.ReviewAfter), day(e.ExpiresAt)}
}

// rejects are "line.item reason", lefts "n what".
func rejects(rep memory.Report) string {
	var out []string
	for _, r := range rep.Rejected {
		at := fmt.Sprint(r.Line)
		if r.Item > 0 {
			at += fmt.Sprint(".", r.Item)
		}
		out = append(out, at+" "+r.Reason)
	}
	return strings.Join(out, ", ")
}

func lefts(rep memory.Report) string {
	var out []string
	for what, n := range rep.Left {
		out = append(out, fmt.Sprint(n, " ", what))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// Each format on a file of its own, with every trap of 04 section 2.
func TestFormats(t *testing.T) {
	const jun, oct = "2025-06-01T10:00:00Z", "2024-10-02T17:22:31Z"
	for _, c := range []struct {
		file, format   string
		messages       bool
		want           []taken
		rejected, left string
	}{
		{file: "mem0/python.json", format: "mem0", want: []taken{
			{statement: "Is vegetarian.", source: "2", observed: "2024-07-20T01:30:36Z", expires: "2099-01-31T00:00:00Z"},
			{statement: "Likes window seats.", tags: "category:preferences category:travel-plans", source: "travel/ea925981-272f-40dd-b576-be64e4871429", observed: "2024-07-20T08:30:36Z"},
		}, rejected: "23.4 time", left: "1 expired, 1 relations"},
		{file: "mem0/js.json", format: "mem0", want: []taken{
			{statement: "Prefers tea.", tags: "category:class:public", source: "kitchen/5", observed: "2025-03-01T08:00:00Z"},
		}},
		{file: "openmemory/memories.json", format: "openmemory", want: []taken{
			{statement: "Deploys on Tuesdays.", tags: "category:work-projects", source: "cursor/0b1c3c5e-0000-4000-8000-0000000000d1", observed: jun},
			{statement: "Paused.", source: "d4"},
		}, rejected: "34.5 category, 35.6 state", left: "1 access rules, 1 archived, 1 deleted, 1 history of states"},
		{file: "openmemory/memories.jsonl", format: "openmemory", want: []taken{
			{statement: "Deploys on Tuesdays.", tags: "category:work-projects", source: "cursor/0b1c3c5e-0000-4000-8000-0000000000d1", observed: jun},
			{statement: "Paused.", source: "d4"},
		}, left: "1 archived, 1 deleted"},
		{file: "letta/convo.af", format: "letta", want: []taken{
			{statement: "The human is Ada.\nShe runs berth 7.", tags: "label:human", source: "clerk/human"},
		}, rejected: "24.8 tag", left: "1 empty blocks, 1 messages that the file does not hold, 1 tools, 2 secrets, 5 messages"},
		{file: "letta/convo.af", format: "letta", messages: true, want: []taken{
			{statement: "Berth 7 is closed.", tags: "role:user", source: "clerk/message-1", observed: "2025-10-31T22:57:00Z"},
			{statement: "The human is Ada.\nShe runs berth 7.", tags: "label:human", source: "clerk/human"},
			{statement: "approve: false, request: call-2, reason: not today", tags: "role:approval", source: "clerk/message-4", kind: "decision_note", observed: "2025-10-31T22:57:03Z"},
			{statement: "approve: true, request: message-2", tags: "role:approval", source: "clerk/message-3", kind: "decision_note", observed: "2025-10-31T22:57:02Z"},
		}, rejected: "24.8 tag", left: "1 empty blocks, 1 messages that the file does not hold, 1 messages without text, 1 system prompts, 1 tools, 2 secrets"},
		{file: "graphiti/facts.json", format: "graphiti", want: []taken{
			{statement: "Ada rents berth 7.", tags: "type:rents", source: "f4", observed: "2025-05-01T00:00:00Z", review: "2099-06-01T00:00:00Z"},
			{statement: "Ada works at Harbor.", tags: "type:works_at", source: "ep1 ep2", observed: "2025-04-01T00:00:00Z"},
		}, rejected: "8.5 group", left: "2 invalidated"},
		{file: "graphiti/neo4j.jsonl", format: "graphiti", want: []taken{
			{statement: "Ada works at Harbor.", tags: "type:works_at", source: "ep1 ep2", observed: "2025-05-01T00:00:00Z"},
		}, left: "2 nodes, and edges that state no fact"},
		{file: "langgraph/items.json", format: "langgraph", want: []taken{
			{statement: "Ada likes tea.", tags: "namespace:ada namespace:users", source: "users/ada/k1", observed: oct},
			{statement: "plain", tags: "namespace:users", source: "users/k7"},
			{statement: `{"content": {"deep": [1]}}`, source: "k3", content: "application/json", observed: oct},
			{statement: `{"food": "pizza", "n": 9007199254740993}`, tags: "namespace:ada namespace:users", source: "users/ada/k2", content: "application/json", observed: oct},
		}, rejected: "5.4 tag, 6.5 unknown_shape, 7.6 unknown_shape, 9.8 not_json"},
		{file: "langgraph/rows.jsonl", format: "langgraph", want: []taken{
			{statement: "Ada likes tea.", tags: "namespace:ada namespace:users", source: "users/ada/k1", observed: oct},
			{statement: "Nowhere.", source: "k2", observed: oct},
		}},
		{file: "jsonl/own.jsonl", format: "jsonl", want: []taken{
			{statement: "A plan of the berth.", content: "image/png"},
			{statement: "Berth 7 is closed.", tags: "berth:7", source: "tos-1", kind: "belief", observed: "2026-01-01T00:00:00Z", review: "2027-01-01T00:00:00Z", expires: "2028-01-01T00:00:00Z"},
			{statement: "Without id."},
		}, rejected: "4 unknown_shape, 5 tags, 6 unknown_shape"},
	} {
		for _, format := range []string{c.format, "auto"} {
			k := newKit(t)
			k.o.Messages = c.messages
			text := file(t, c.file)
			rep := k.read(t, format, text)
			var got []taken
			for _, e := range k.held(t) {
				got = append(got, takenOf(e))
				if e.Trust != memory.TrustImported || e.Class() != "internal" || e.Source.Type != memory.SourceImport || !e.Created.Equal(testNow) {
					t.Errorf("%s: trust %v, class %s, source %v, created %v", c.file, e.Trust, e.Class(), e.Source.Type, e.Created)
				}
			}
			slices.SortFunc(got, func(a, b taken) int { return strings.Compare(a.statement, b.statement) })
			if !slices.Equal(got, c.want) {
				t.Errorf("%s:\n got %q\nwant %q", c.file, got, c.want)
			}
			if r, l := rejects(rep), lefts(rep); r != c.rejected || l != c.left {
				t.Errorf("%s: rejected %q, want %q; left %q, want %q", c.file, r, c.rejected, l, c.left)
			}
			if again := k.read(t, format, text); again.Imported != 0 || again.Repeated != len(c.want) || len(k.held(t)) != len(c.want) {
				t.Errorf("%s again: %d imported, %d repeated", c.file, again.Imported, again.Repeated)
			}
		}
	}
}
