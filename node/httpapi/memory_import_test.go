package httpapi_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// archiveOf packs one file.
func archiveOf(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	out, err := w.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(out, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Imports over a real connection, where a body comes as it comes.
func TestImportsByHTTP(t *testing.T) {
	d := open(t)
	d.ok("POST", "/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}}, nil)
	srv := httptest.NewServer(d.h)
	defer srv.Close()
	send := func(query, body string) (int, []byte) {
		t.Helper()
		r, err := http.NewRequest("POST", srv.URL+"/api/v1/memory/imports?agent=research"+query, io.MultiReader(strings.NewReader(body))) // of no known length
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+d.token)
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, b
	}
	backup := `{"user":{"id":"u","user_id":"ada"},"categories":[{"id":"c","name":"Work"}],"memories":[{"id":"1","user_id":"u","content":"Deploys on Tuesdays.","state":"active","category_ids":["c"]},{"id":"2","content":"Gone.","state":"deleted"},{"id":"3"}]}`
	for _, c := range []struct {
		name, query, body                 string
		imported, known, rejected, leftBy int
	}{
		{"a dry run", "&project=north&dry_run=true", archiveOf(t, "memories.json", backup), 1, 0, 1, 1},
		{"the import", "&project=north&format=openmemory", archiveOf(t, "memories.json", backup), 1, 0, 1, 1},
		{"again", "&format=auto", backup, 0, 1, 1, 1},
		{"groups", "&map=a=north&map=b=south", `{"uuid":"1","fact":"x","group_id":"a"}` + "\n" + `{"uuid":"2","fact":"y","group_id":"b"}` + "\n" + `{"uuid":"3","fact":"z","group_id":"c"}`, 2, 0, 1, 0},
	} {
		code, b := send(c.query, c.body)
		var out httpapi.Imported
		if err := json.Unmarshal(b, &out); err != nil || code != 200 {
			t.Fatalf("%s: %d %s", c.name, code, b)
		}
		if out.Imported != c.imported || out.Known != c.known || len(out.Rejected) != c.rejected || len(out.Left) != c.leftBy || out.DryRun != strings.Contains(c.query, "dry_run") {
			t.Errorf("%s: %s", c.name, b)
		}
	}
	for _, c := range []struct {
		name, query, body string
		status            int
		code              fault.Code
		reason            string
	}{
		{"a bomb", "&format=openmemory", archiveOf(t, "memories.json", strings.Repeat(" ", 4<<20)), 413, fault.TooLarge, "archive"},
		{"a path upwards", "", archiveOf(t, "../memories.json", "{}"), 403, fault.Refused, "archive"},
		{"a custom export", "", archiveOf(t, "export.json", "{}"), 400, fault.Invalid, "custom_export"},
		{"no format", "", "Dear node,", 400, fault.Invalid, "format"},
		{"a format of no name", "&format=zip", "{}", 400, fault.Invalid, "format"},
		{"a group twice", "&map=a=north&map=a=south", "{}", 400, fault.Invalid, "map"},
		{"a group without a project", "&map=a=", "{}", 400, fault.Invalid, "map"},
		{"a project that is none", "&format=graphiti&map=a=..", "{}", 400, fault.Invalid, "project"},
		{"another project", "&format=graphiti&project=south", "{}", 403, fault.Refused, "other_project"},
	} {
		code, b := send(c.query, c.body)
		var p fault.Problem
		if err := json.Unmarshal(b, &p); err != nil || code != c.status || p.Code != c.code || p.Reason != c.reason {
			t.Errorf("%s: %d %s", c.name, code, b)
		}
	}
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	d.h.ServeHTTP(w, r)
	for _, want := range []string{`{result="imported"} 3`, `{result="known"} 1`, `{result="rejected"} 3`, `{result="left_out"} 2`} {
		if !strings.Contains(w.Body.String(), "trustnode_import_lines_total"+want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
}
