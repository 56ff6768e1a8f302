package main

import (
	"path/filepath"
	"strings"
	"testing"

	"trustnode/node/httpapi"
)

// importFixture names a file of node/memory/importers.
func importFixture(t *testing.T, name string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join("..", "..", "node", "memory", "importers", "testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMemoryImport(t *testing.T) {
	dir := home(t)
	if a := call("agent", "add", "--data", dir, "research", "--can", "lend"); a.code != exitDone {
		t.Fatal(a)
	}
	run := func(name string, flags ...string) answer {
		return call(append([]string{"memory", "import", "--data", dir, "--agent", "research", importFixture(t, name)}, flags...)...)
	}
	says := func(a answer, code int, out, err []string) {
		t.Helper()
		ok := a.code == code
		for _, s := range out {
			ok = ok && strings.Contains(a.out, s)
		}
		for _, s := range err {
			ok = ok && strings.Contains(a.err, s)
		}
		if !ok {
			t.Errorf("want exit %d, %q, %q: %s", code, out, err, a)
		}
	}
	says(run("mcp/mcp-server-memory.jsonl", "--dry-run", "--project", "north"), exitDone,
		[]string{"would import 4 entries, 0 known before; nothing was written", "    3  entity:acme"}, nil)
	// The dry run has not even fixed the agent's project.
	says(run("mcp/mcp-server-memory.jsonl"), exitFailed, nil, []string{"no project"})
	says(run("mcp/mcp-server-memory.jsonl", "--project", "north"), exitDone, []string{"4 entries imported, 0 known before"}, nil)
	says(run("mcp/mcp-server-memory.jsonl"), exitDone, []string{"0 entries imported, 4 known before"}, nil)
	says(run("mem0/python.json"), exitFailed,
		[]string{"2 entries imported", "left out: 1 expired", `line 23, item 4: time (created_at "last week")`}, []string{"1 line not taken", "correct the lines"})
	says(run("letta/customer_service.af"), exitDone, []string{"2 entries imported", "left out: 7 tools", "left out: 1 messages", "label:persona"}, nil)
	says(run("letta/convo.af", "--messages", "--format", "letta"), exitFailed, []string{"4 entries imported", "role:approval", "item 8: tag"}, nil)
	says(run("graphiti/facts.json"), exitFailed, []string{"2 entries imported", "left out: 2 invalidated", "group (partners)"}, []string{"--map GROUP=PROJECT"})
	says(run("graphiti/facts.json", "--map", "partners=south"), exitDone, []string{"1 entry imported, 2 known before"}, nil)
	says(run("langgraph/rows.jsonl"), exitDone, []string{"2 entries imported", "namespace:ada"}, nil)
	says(run("jsonl/own.jsonl"), exitFailed, []string{"3 entries imported", "line 5: tags"}, nil)
	says(run("openmemory/memories.json", "--format", "openmemory"), exitFailed, []string{"2 entries imported", "left out: 1 access rules"}, nil)

	says(run("mcp/mcp-server-memory.jsonl", "--format", "zip"), exitFailed, nil, []string{`"zip" is the name of no format known here`, "--format auto|mcp|openmemory|mem0|letta|graphiti|langgraph|jsonl"})
	again := run("mcp/mcp-server-memory.jsonl")
	if says(again, exitDone, []string{"nothing new: 0 entries imported", "known before"}, nil); strings.Contains(again.out, "quarantine") {
		t.Errorf("nothing came in, and it is said to wait: %s", again)
	}
	says(run("mcp/SOURCES.md"), exitFailed, nil, []string{"none of the formats"})
	says(run("graphiti/facts.json", "--map", "partners"), exitFailed, nil, []string{"group=project"})
	says(run("graphiti/facts.json", "--map", "partners=../south"), exitFailed, nil, []string{"project"})
	says(run("mcp/mcp-server-memory.jsonl", "--project", "south"), exitRefused, nil, []string{"another project"})

	for project, want := range map[string]int{"north": 4 + 2 + 2 + 4 + 2 + 2 + 3 + 2, "south": 1} {
		var l httpapi.Entries
		call("memory", "list", "--data", dir, "--project", project, "--json").into(t, &l)
		if l.Total != want {
			t.Errorf("%s holds %d entries, want %d", project, l.Total, want)
		}
		for _, e := range l.Entries {
			if e.State != "quarantined" || e.Trust != "imported" {
				t.Errorf("%q is %s, trust %s", e.Statement, e.State, e.Trust)
			}
		}
	}
}
