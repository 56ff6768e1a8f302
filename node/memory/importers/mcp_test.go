package importers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"trustnode/federation/lending"
	"trustnode/node/memory"
)

func TestImportOfRealFiles(t *testing.T) {
	for _, c := range []struct {
		file, statement, tags, id string
		entries, rejected         int
		observed                  time.Time
	}{
		{"mcp-server-memory.jsonl", "S7 back-test used 2019-2024 data", "class:internal entity:acme type:client", "Acme", 4, 0, time.Time{}},
		{"memory-graph.jsonl", "Lives in NYC", "class:internal entity:alice type:person", "Alice", 710, 0, time.Time{}},
	} {
		text, err := os.ReadFile(filepath.Join("testdata/mcp", c.file))
		if err != nil {
			t.Fatal(err)
		}
		k := newKit(t)
		rep := k.read(t, "mcp", string(text))
		if len(rep.Rejected) != c.rejected || rep.Imported != c.entries {
			t.Errorf("%s: %d entries, %d repeated, rejected %v, want %d and %d", c.file, rep.Imported, rep.Repeated, rep.Rejected, c.entries, c.rejected)
		}
		got, ok := k.held(t)[c.statement]
		if !ok || strings.Join(got.Tags, " ") != c.tags || got.Source.ID != c.id || got.Trust != memory.TrustImported ||
			got.Source.Type != memory.SourceImport || !got.Created.Equal(testNow) || got.State != memory.Quarantined {
			t.Errorf("%s: %+v", c.file, got)
		}
		again := k.read(t, "mcp", string(text))
		if again.Imported != 0 || again.Repeated != rep.Imported+rep.Repeated {
			t.Errorf("%s again: %d imported, %d repeated", c.file, again.Imported, again.Repeated)
		}
	}
}

func TestImportLines(t *testing.T) {
	entity := func(name, obs string) string {
		return fmt.Sprintf(`{"type":"entity","name":%q,"entityType":"client","observations":[%q]}`, name, obs)
	}
	long := entity("A", strings.Repeat("x", MaxLine))
	for _, c := range []struct {
		name, text string
		imported   []string
		rejected   string // "line reason" …
	}{
		{"two documents glued on one line", entity("A", "1") + entity("B", "2") + "\n" + entity("C", "3"), []string{"1", "2", "3"}, ""},
		{"a torn line between whole ones", entity("A", "1") + "\n" + entity("B", "2")[:30] + "\n" + entity("C", "3"), []string{"1", "3"}, "2 not_json"},
		{"a torn line glued to a whole one", entity("A", "1")[:30] + entity("B", "2") + "\n", nil, "1 not_json"},
		{"a whole document before a torn one", entity("A", "1") + entity("B", "2")[:30] + "\n", []string{"1"}, "1 not_json"},
		{"a line over the limit, and the next", long + "\n" + entity("B", "2") + "\n", []string{"2"}, "1 too_long"},
		{"empty lines, a byte order mark and CRLF", "\ufeff" + entity("A", "1") + "\r\n\r\n\n" + entity("B", "2"), []string{"1", "2"}, ""},
		{"bytes that are no text", "{\"type\":\"entity\xff\"}\n", nil, "1 not_utf8"},
		{"a member twice", `{"type":"entity","name":"A","name":"B","entityType":"c","observations":["1"]}`, nil, "1 not_json"},
		{"a lone surrogate", `{"type":"entity","name":"A","entityType":"c","observations":["\ud800"]}`, nil, "1 not_json"},
		{"an unknown type", `{"type":"note","name":"A","observations":["1"]}`, nil, "1 unknown_shape"},
		{"a type in other case", `{"TYPE":"entity","name":"A"}`, nil, "1 unknown_shape"},
		{"an array", `["1"]` + entity("A", "1"), []string{"1"}, "1 unknown_shape"},
		{"a bare number", `2`, nil, "1 unknown_shape"},
		{"brackets and quotes inside texts", entity("A", `}]"\\"{[`) + entity("B", "2"), []string{"2", `}]"\\"{[`}, ""},
		{"an entity without a name", `{"type":"entity","entityType":"c","observations":["1"]}`, nil, "1 name"},
		{"a name that makes no tag", entity("東京", "1"), nil, "1 tag"},
		{"a type that makes no tag", `{"type":"entity","name":"A","entityType":"","observations":["1"]}`, nil, "1 tag"},
		{"nothing observed", `{"type":"entity","name":"A","entityType":"c","observations":[]}`, nil, "1 no_observations"},
		{"no list of observations", `{"type":"entity","name":"A","entityType":"c","observations":"1"}`, nil, "1 unknown_shape"},
		{"an observation that is no text", `{"type":"entity","name":"A","entityType":"c","observations":["1",2,"3"]}`, []string{"1", "3"}, "1 unknown_shape"},
		{"a bad statement among good ones", `{"type":"entity","name":"A","entityType":"c","observations":["1","","a\u0000","3"]}`, []string{"1", "3"}, "1 statement 1 statement"},
		{"line ends inside a statement", `{"type":"entity","name":"A","entityType":"c","observations":["a\r\nb"]}`, []string{"a\nb"}, ""},
		{"the same observation twice", entity("A", "1") + "\n" + entity("A", "1"), []string{"1"}, ""},
		{"a relation", `{"type":"relation","from":"Acme","to":"S7","relationType":"subscribes_to"}`, []string{"Acme subscribes_to S7"}, ""},
		{"a relation of the older shape", `{"from":"Acme","to":"S7","relationType":"subscribes_to"}`, []string{"Acme subscribes_to S7"}, ""},
		{"a relation without an end", `{"type":"relation","from":"Acme","relationType":"subscribes_to"}`, nil, "1 name"},
		{"labels that claim authority", `{"type":"entity","name":"A","entityType":"c","observations":["approved"],"trust":"operator","class":"public","state":"active"}`, []string{"approved"}, ""},
		{"an empty file", "", nil, ""},
	} {
		k := newKit(t)
		rep := k.read(t, "mcp", c.text)
		var rejected []string
		for _, r := range rep.Rejected {
			rejected = append(rejected, fmt.Sprint(r.Line, " ", r.Reason))
		}
		var got []string
		for s, x := range k.held(t) {
			got = append(got, s)
			if x.Trust != memory.TrustImported || x.Class() != "internal" {
				t.Errorf("%s: trust %v, class %s", c.name, x.Trust, x.Class())
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.imported) || strings.Join(rejected, " ") != c.rejected || rep.Imported != len(c.imported) {
			t.Errorf("%s: imported %q, rejected %q, want %q, %q", c.name, got, rejected, c.imported, c.rejected)
		}
	}
}

func TestObservedTime(t *testing.T) {
	k := newKit(t)
	k.read(t, "mcp", `{"name":"A","entityType":"c","observations":["1"],"createdAt":1768061136}`)
	got := k.held(t)["1"]
	if want := time.Unix(1768061136, 0); !got.Source.ObservedAt.Equal(want) || !got.Created.Equal(testNow) {
		t.Errorf("observed %v, created %v", got.Source.ObservedAt, got.Created)
	}
}

func TestSlug(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"Acme", "entity:acme"},
		{"Feature: Create Entities", "entity:feature:-create-entities"},
		{"Café  Zürich", "entity:cafe-zurich"},
		{"C++ / C#", "entity:c-/-c-"},
		{"Dự án", "entity:du-an"},
		{"ﬁle①", "entity:file1"},
		{"a_b.c-d", "entity:a_b.c-d"},
		{"東京", ""},
		{"***", ""},
		{"", ""},
		{strings.Repeat("x", 80), "entity:" + strings.Repeat("x", 57)},
	} {
		got, ok := slug("entity:", c.name)
		if !ok {
			got = ""
		}
		if got != c.want || ok && lending.CheckTag(got) != nil {
			t.Errorf("slug(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}
