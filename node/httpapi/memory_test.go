package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"trustnode/node/httpapi"
)

// TestProjectsCannotBeToldApart asks one project about what another one holds: every answer
// is that of a project which holds nothing (I-7).
func TestProjectsCannotBeToldApart(t *testing.T) {
	d := open(t)
	for _, p := range []string{"north", "south", "empty"} {
		d.ok("POST", "/api/v1/agents", httpapi.AgentAdd{Name: p, Can: []string{"lend"}, Project: p}, nil)
	}
	var e httpapi.Entry
	d.ok("POST", "/api/v1/memory", httpapi.MemoryAdd{Agent: "north", Statement: "same text", Tags: []string{"x"}, Subjects: []string{"Doe, Jane"}}, &e)
	body := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	ask := func(p string) string {
		var out strings.Builder
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/api/v1/memory?project=" + p, ""},
			{"GET", "/api/v1/memory/entries/" + e.ID + "?project=" + p, ""},
			{"GET", "/api/v1/memory/entries/" + e.ID + "@1?project=" + p, ""},
			{"GET", "/api/v1/memory/search?scope=tag:x&as=" + p, ""},
			{"GET", "/api/v1/memory/search?scope=tag:x&query=same&as=" + p, ""},
			{"GET", "/api/v1/memory/stats?project=" + p, ""},
			{"POST", "/api/v1/memory/tags", body(httpapi.MemoryTag{Project: p, IDs: []string{e.ID}, Add: []string{"y"}})},
			{"POST", "/api/v1/memory/forget", body(httpapi.MemoryForget{Project: p, IDs: []string{e.ID}})},
			{"POST", "/api/v1/memory/forget", body(httpapi.MemoryForget{Project: p, Tags: []string{"x"}})},
			{"POST", "/api/v1/memory/forget", body(httpapi.MemoryForget{Project: p, Subject: "Doe, Jane"})},
			{"POST", "/api/v1/memory", body(httpapi.MemoryAdd{Agent: p, Statement: "z", DerivedFrom: []string{e.ID}})},
			{"POST", "/api/v1/memory", body(httpapi.MemoryAdd{Agent: p, Statement: "z", Supersedes: e.ID})},
		} {
			w := d.operator(c.method, c.path, strings.NewReader(c.body))
			out.WriteString(c.method + " " + c.path[:14] + " " + http.StatusText(w.Code) + " " + strings.ReplaceAll(w.Body.String(), p, "PROJECT") + "\n")
		}
		return out.String()
	}
	if got, want := ask("south"), ask("empty"); got != want || strings.Contains(got, "same text") {
		t.Errorf("beside a project with the same:\n%s\na project alone:\n%s", got, want)
	}
	var still httpapi.EntryShown
	if d.ok("GET", "/api/v1/memory/entries/"+e.ID+"?project=north", nil, &still); still.Rev != 1 || len(still.Named) != 1 || still.Named[0].Name != "Doe, Jane" {
		t.Errorf("the other project's entry: %+v", still)
	}
	if w := d.operator("POST", "/api/v1/memory", strings.NewReader(body(httpapi.MemoryAdd{Agent: "north", Statement: "x", ContentType: "image/png", Data: "not base64!"}))); w.Code != http.StatusBadRequest {
		t.Errorf("data that is none: %d %s", w.Code, w.Body)
	}
}
