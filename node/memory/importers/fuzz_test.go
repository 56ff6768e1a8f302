package importers

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"trustnode/node/memory"
)

// fuzz reads any bytes as one format: no panic, no error but of an archive, lines in
// order, and each is taken, rejected or left out. What is taken is stored as imported, in
// quarantine and valid UTF-8, and a second run brings in nothing.
func fuzz(f *testing.F, format string, seeds ...string) {
	for _, seed := range seeds {
		files, err := filepath.Glob(filepath.Join("testdata", seed))
		if err != nil || len(files) == 0 {
			f.Fatal(seed, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
			for i, line := range bytes.Split(text, []byte("\n")) {
				if i%20 == 0 {
					f.Add(line)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<20 {
			return
		}
		k := newKit(t)
		k.o.Messages = true
		im, _, err := For(format, strings.NewReader(""), k.o)
		if err != nil {
			t.Fatal(err)
		}
		im.Sniff(text)
		last := 0
		err = im.Lines(ctx, iotest.HalfReader(bytes.NewReader(text)), func(l memory.Line) error {
			if l.Left == "" && (l.Number < last || l.Number < 1) {
				t.Errorf("line %d after %d", l.Number, last)
			}
			last = max(last, l.Number)
			states := 0
			for _, s := range []string{l.Reason, l.Origin, l.Left} {
				if s != "" {
					states++
				}
			}
			if states != 1 {
				t.Errorf("not one of taken, rejected, left out: %+v", l)
			}
			return nil
		})
		if err != nil && !bytes.HasPrefix(text, []byte("PK")) {
			t.Errorf("Lines: %v", err)
		}
		rep, err := k.e.Import(ctx, writer(t, "north"), im, bytes.NewReader(text), k.io)
		if err != nil {
			return // of an archive, as above
		}
		for _, e := range k.held(t) {
			if !utf8.Valid(e.View()) || e.Trust != memory.TrustImported || e.Class() != "internal" || e.Source.Type != memory.SourceImport {
				t.Errorf("took %s", e.View())
			}
		}
		again, err := k.e.Import(ctx, writer(t, "north"), im, bytes.NewReader(text), k.io)
		if err != nil || again.Imported != 0 || again.Repeated != rep.Imported+rep.Repeated || len(again.Rejected) != len(rep.Rejected) {
			t.Errorf("first %+v, again %+v, %v", rep, again, err)
		}
	})
}

func FuzzMCP(f *testing.F) {
	f.Add([]byte(`{"type":"entity","name":"A","entityType":"c","observations":["1"]}{"from":"a","to":"b","relationType":"c"}`))
	fuzz(f, "mcp", "mcp/*.jsonl")
}

func FuzzOpenMemory(f *testing.F) {
	for _, name := range []string{"memories.json", "memories.jsonl"} {
		text := file(f, "openmemory/"+name)
		f.Add([]byte(zipOf(f, packed{name: "memories.json", text: text})))
		f.Add([]byte(zipOf(f, packed{name: "memories.jsonl.gz", text: gz(f, text)})))
	}
	fuzz(f, "openmemory", "openmemory/*")
}

func FuzzMem0(f *testing.F)      { fuzz(f, "mem0", "mem0/*") }
func FuzzLetta(f *testing.F)     { fuzz(f, "letta", "letta/*") }
func FuzzGraphiti(f *testing.F)  { fuzz(f, "graphiti", "graphiti/*") }
func FuzzLangGraph(f *testing.F) { fuzz(f, "langgraph", "langgraph/*") }
func FuzzJSONL(f *testing.F)     { fuzz(f, "jsonl", "jsonl/*") }
