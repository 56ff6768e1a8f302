package importers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"trustnode/node/memory"
	"trustnode/node/store"
)

func TestDryRunWritesNothing(t *testing.T) {
	k := newKit(t)
	k.io.DryRun = true
	text := file(t, "mcp/mcp-server-memory.jsonl") + "\n"
	rep := k.read(t, "auto", text+text+"x")
	if rep.Imported != 4 || rep.Repeated != 4 || rep.Tags["entity:acme"] != 3 || len(rep.Rejected) != 1 || rep.Rejected[0].Line != 7 || rep.Reasons[RejectTorn] != 1 {
		t.Errorf("report %+v", rep)
	}
	if got := k.held(t); len(got) != 0 {
		t.Errorf("a dry run brought in %v", got)
	}
	k.io.DryRun = false
	k.read(t, "auto", text)
	k.io.DryRun = true
	if rep := k.read(t, "auto", text); rep.Imported != 0 || rep.Repeated != 4 {
		t.Errorf("after an import: %+v", rep)
	}
}

// manyLines are n lines of jsonl.
func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"%d","statement":"o%d"}`+"\n", i, i)
	}
	return b.String()
}

// An import whose node dies in the middle brings in the rest when it is run again, and
// nothing twice: on disk, with the database closed and opened in between.
func TestImportGoesOnWhereItWasInterrupted(t *testing.T) {
	dir := t.TempDir()
	open := func() *kit {
		db, err := store.OpenBadger(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return &kit{db: db, e: memory.New(db, func() time.Time { return testNow }), o: Options{At: testNow}}
	}
	k := open()
	text := manyLines(1500)
	rep, err := k.try(t, "jsonl", &cutReader{[]byte(text[:len(text)/2]), errPulled})
	if !errors.Is(err, errPulled) || rep.Imported == 0 {
		t.Fatalf("got %v, want the reader's error; %d imported", err, rep.Imported)
	}
	k.db.Close()
	k = open()
	defer k.db.Close()
	rows := 0
	k.io.Also = func(_ store.Tx, _ memory.Place, es []memory.Entry) error { rows += len(es); return nil }
	again := k.read(t, "jsonl", text)
	if again.Repeated != rep.Imported || again.Imported+again.Repeated != 1500 || rows != again.Imported {
		t.Errorf("imported %d, then %d beside %d known; %d in rows", rep.Imported, again.Imported, again.Repeated, rows)
	}
	if n, err := k.e.Size(ctx, place(t, "north"), memory.Quarantined); err != nil || n != 1500 {
		t.Errorf("%d entries, %v", n, err)
	}
}

func TestImportEndsWithItsContext(t *testing.T) {
	k := newKit(t)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, format := range Formats {
		im, r, err := For(format, strings.NewReader("{}\n"), k.o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.e.Import(ended, writer(t, "north"), im, r, memory.ImportOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", format, err)
		}
	}
}

// A known id with another text is not taken again, and not passed over in silence.
func TestChangedAtTheSource(t *testing.T) {
	k := newKit(t)
	k.read(t, "jsonl", `{"id":"1","statement":"before"}`)
	rep := k.read(t, "jsonl", `{"id":"1","statement":"after"}`)
	if rep.Imported != 0 || rep.Repeated != 1 || len(rep.Left) != 1 {
		t.Errorf("report %+v", rep)
	}
	if _, ok := k.held(t)["before"]; !ok {
		t.Error("the entry of the first import is gone")
	}
}

func TestGroupsGoWhereTheOperatorSays(t *testing.T) {
	text := `{"uuid":"1","fact":"a","group_id":"ops"}
{"uuid":"1","fact":"b","group_id":"main/secret"}
{"uuid":"3","fact":"c","group_id":""}
{"uuid":"4","fact":"d","group_id":"other"}`
	k := newKit(t)
	k.io.Groups = map[string]memory.Writer{"ops": writer(t, "south"), "main/secret": writer(t, "east")}
	rep := k.read(t, "graphiti", text)
	if rep.Imported != 3 || len(rep.Rejected) != 1 || rep.Rejected[0].Reason != memory.RejectGroup || rep.Rejected[0].Detail != "other" {
		t.Errorf("report %+v", rep)
	}
	for project, want := range map[string]string{"south": "a", "east": "b", "north": "c"} {
		got := k.heldIn(t, project)
		if e, ok := got[want]; !ok || len(got) != 1 || e.Place.String() != "main/"+project {
			t.Errorf("%s holds %v", project, got)
		}
	}
}

func TestFor(t *testing.T) {
	for _, c := range []struct{ name, format, head, want string }{
		{"named", "mcp", "", "mcp"},
		{"mcp", "auto", ` {"type":"entity","name":"x","entityType":"y"}`, "mcp"},
		{"mcp, first line torn", "auto", "{\"type\":\"entity\",\"na\n{\"type\":\"entity\",\"name\":\"x\",\"entityType\":\"y\"}", "mcp"},
		{"mcp that speaks of others", "auto", `{"type":"entity","name":"x","entityType":"y","observations":["{\"uuid\":1,\"fact\":2}"]}`, "mcp"},
		{"a zip", "auto", "PK\x03\x04", "openmemory"},
		{"memories.json", "auto", "\ufeff{\n \"user\": {\"id\":\"u\"}, \"apps\": [], \"memories\": [{\"id\":1,\"content\":\"\",\"state\":\"\"}]}", "openmemory"},
		{"memories.jsonl", "auto", `{"id":"1","content":"c","metadata":{},"state":"active","app":null}`, "openmemory"},
		{"a page of mem0", "auto", `{"count":1,"results":[{"id":"1","memory":"m"}]}`, "mem0"},
		{"a list of mem0", "auto", `[{"id":"1","memory":"m"}]`, "mem0"},
		{"an agent file", "auto", `{"agents":[{"name":"a"}],"groups":[],"blocks":[]}`, "letta"},
		{"an agent file in a string", "auto", `"{\"agents\":[{\"name\":\"\u00e9\"}],\"blocks\":[]}"`, "letta"},
		{"facts", "auto", `{"message":"ok","facts":[{"uuid":"1","fact":"f"}]}`, "graphiti"},
		{"an edge as Neo4j exports it", "auto", `{"type":"relationship","label":"RELATES_TO","properties":{"uuid":"1","fact":"f"}}`, "graphiti"},
		{"items", "auto", `{"items":[{"namespace":["a"],"key":"k","value":{}}]}`, "langgraph"},
		{"rows of a store", "auto", `{"prefix":"a.b","key":"k","value":{}}`, "langgraph"},
		{"own lines", "auto", `{"statement":"s"}`, "jsonl"},
		{"something else", "auto", `{"entries":[]}`, ""},
		{"an unknown name", "zip", "", ""},
		{"an empty file", "auto", "", ""},
		{"a letter", "auto", "Dear node,", ""},
	} {
		im, _, err := For(c.format, strings.NewReader(c.head), Options{})
		got := ""
		if err == nil {
			got = im.Name()
		} else if !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", c.name, err)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if _, _, err := For("auto", &cutReader{nil, errPulled}, Options{}); !errors.Is(err, errPulled) {
		t.Errorf("got %v, want the reader's error", err)
	}
}

// A user of the source becomes a data subject of the entry, under a pseudonym that never
// shows; a rejected line leaves no name behind.
func TestUsersBecomeSubjects(t *testing.T) {
	k := newKit(t)
	subject := func(name string) (s memory.Subject, err error) {
		err = k.db.View(ctx, func(r store.Reader) (err error) {
			s, err = k.e.Subject(r, "main", name)
			return err
		})
		return s, err
	}
	k.read(t, "openmemory", file(t, "openmemory/memories.json"))
	k.read(t, "mem0", file(t, "mem0/python.json"))
	for name, statements := range map[string][]string{"ada": {"Deploys on Tuesdays.", "Paused."}, "alex": {"Likes window seats.", "Is vegetarian."}} {
		s, err := subject(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, said := range statements {
			e := k.held(t)[said]
			if len(e.Subjects) != 1 || e.Subjects[0] != s.Pseudonym || strings.Contains(string(e.View()), name) {
				t.Errorf("%q: subjects %v, want %s", said, e.Subjects, s.Pseudonym)
			}
		}
	}
	for _, text := range []string{
		`{"id":"1","statement":"","subjects":["Eve"]}`,
		`{"id":"2","statement":"x","tags":["Not A Tag"],"subjects":["Eve"]}`,
		`{"id":"3","statement":"x","subjects":["Eve","a\u0007b"]}`,
		`{"id":"4","statement":"x","subjects":["Eve"` + strings.Repeat(`,"Eve"`, 16) + `]}`,
	} {
		for _, k.io.DryRun = range []bool{true, false} {
			if rep := k.read(t, "jsonl", text); len(rep.Rejected) != 1 {
				t.Errorf("%s: %+v", text, rep)
			}
		}
	}
	k.io.DryRun = true
	if rep := k.read(t, "jsonl", `{"id":"5","statement":"x","subjects":["Eve"]}`); rep.Imported != 1 {
		t.Errorf("dry run: %+v", rep)
	}
	if _, err := subject("Eve"); !errors.Is(err, memory.ErrNoSubject) {
		t.Errorf("a name of rejected lines and a dry run is known: %v", err)
	}
}

// What ends at the second of the import has ended.
func TestEndsAtEquality(t *testing.T) {
	k := newKit(t)
	at, later := testNow.Format(time.RFC3339), testNow.Add(time.Second).Format(time.RFC3339)
	for _, c := range []struct {
		format, item string
		left         bool
	}{
		{"graphiti", `{"uuid":"1","fact":"a","invalid_at":"` + at + `"}`, true},
		{"graphiti", `{"uuid":"2","fact":"b","invalidAt":"` + later + `"}`, false},
		{"mem0", `{"id":"1","memory":"c","expiration_date":"` + at + `"}`, true},
		{"mem0", `{"id":"2","memory":"d","expirationDate":"` + later + `"}`, false},
	} {
		if rep := k.read(t, c.format, c.item); (len(rep.Left) == 1) != c.left || (rep.Imported == 0) != c.left {
			t.Errorf("%s: %+v", c.item, rep)
		}
	}
}
