package importers

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"trustnode/node/memory"
)

// one is an item of each format of items, with a text in it.
var one = map[string]string{
	"mem0":       `{"id":"1","memory":%s}`,
	"graphiti":   `{"uuid":"1","fact":%s}`,
	"langgraph":  `{"namespace":["a"],"key":"k","value":%s}`,
	"jsonl":      `{"id":"1","statement":%s}`,
	"openmemory": `{"id":"1","state":"active","content":%s}`,
}

// Nothing that a file can hold ends an import, and nothing of it passes in silence.
func TestHostileItems(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for _, c := range []struct{ name, text, want, rejected string }{
		{"text of all planes", `"Zażółć 東京 😀 \ud83d\ude00"`, "Zażółć 東京 😀 😀", ""},
		{"decomposed letters", `"e\u0301"`, "é", ""},
		{"a lone surrogate", `"\ud800"`, "", "1 not_json"},
		{"bytes that are no text", "\"\xff\"", "", "1 not_utf8"},
		{"a NUL", `"a\u0000"`, "", "1 statement"},
		{"a bidi override", `"a\u202eb"`, "", "1 statement"},
		{"brackets in a text", `"}]\"\\{["`, `}]"\{[`, ""},
		{"a member twice", `"x","zz":1,"zz":2`, "", "1 not_json"},
		{"deep nesting", deep, "", "1 not_json"},
		{"deep nesting, closed", deep + strings.Repeat("]", 100_000), "", "1 not_json"},
		{"more than a line may have", `"` + strings.Repeat("x", MaxLine) + `"`, "", "1 too_long"},
		{"torn", `"x`, "", "1 not_json"},
	} {
		for format, item := range one {
			k := newKit(t)
			// A good line comes first, so that the file is read by lines.
			text := strings.Replace(fmt.Sprintf(item, `"first"`), `"1"`, `"0"`, 1)
			text = strings.Replace(text, `"k"`, `"k0"`, 1) + "\n"
			rep := k.read(t, format, "\ufeff"+text+fmt.Sprintf(item, c.text)+"\r\n\n")
			held := k.held(t)
			if _, ok := held["first"]; !ok {
				t.Errorf("%s: %s: the line before is not in: %+v", format, c.name, rep)
			}
			rejected := strings.Replace(c.rejected, "1 ", "2 ", 1)
			if _, ok := held[c.want]; ok != (c.want != "") || rejects(rep) != rejected || rep.Imported != len(held) {
				t.Errorf("%s: %s: rejected %q, want %q; imported %d", format, c.name, rejects(rep), rejected, rep.Imported)
			}
		}
	}
}

// A document is read item by item: what is wrong with one costs that one, what is wrong
// around them costs the rest, and is said.
func TestHostileDocuments(t *testing.T) {
	good := func(id string) string { return `{"id":"` + id + `","memory":"m` + id + `"}` }
	big := `{"id":"9","memory":"` + strings.Repeat("x", MaxLine) + `"}`
	for _, c := range []struct {
		name, text string
		imported   int
		rejected   string
	}{
		{"a list", "[" + good("1") + ",\n" + good("2") + "]", 2, ""},
		{"a page", "{\"count\":2,\n\"results\":[" + good("1") + ",\n" + good("2") + "]}", 2, ""},
		{"a list of pages", "[{\"results\":[" + good("1") + "]},\n{\"results\":[" + good("2") + "]}]", 2, ""},
		{"pages one after another", "{\n\"results\":[" + good("1") + "]}\n{\n\"results\":[" + good("2") + "]}", 2, ""},
		{"an item over the limit", "[" + good("1") + ",\n" + big + ",\n" + good("2") + "]", 2, "2.2 too_long"},
		{"an item of another kind", "[" + good("1") + ",\n7,null,[" + good("3") + "]]", 2, "2.2 unknown_shape, 2.3 unknown_shape"},
		{"an item with a member twice", "[" + good("1") + ",\n{\"id\":\"3\",\"id\":\"4\"}]", 1, "2.2 not_json"},
		{"the list twice", "{\n\"results\":[" + good("1") + "],\n\"results\":[" + good("2") + "]}", 1, "3 not_json"},
		{"torn in an item", "[" + good("1") + ",\n{\"id", 1, "2 not_json"},
		{"torn between items", "[" + good("1") + ",\n", 1, "2 not_json"},
		{"no comma", "[" + good("1") + "\n" + good("2") + "]", 1, "2 not_json"},
		{"a comma too many", "[" + good("1") + ",]", 1, "1 not_json"},
		{"no list", "{\n\"memory\":\"m\"}", 0, "2 unknown_shape"},
		{"a text for a list", "{\n\"results\":\"none\"}", 0, "2.1 unknown_shape"},
		{"a custom export", "{\n\"profile\":{\"name\":\"Ada\"},\"likes\":[\"tea\"]}", 0, "2 unknown_shape"},
		{"a list of something else", `["tea",{"name":"Ada"}]`, 0, "1.1 unknown_shape, 1.2 unknown_shape"},
		{"a number", "7", 0, "1.1 unknown_shape"},
		{"words", "Dear node,", 0, "1 not_json, 1.1 not_json, 1.2 not_json"},
		{"members in great number", "{\n" + strings.Repeat(`"a":1,`, 2) + `"b":1}`, 0, "2 not_json"},
		{"a name like a path", "{\n\"results[]\":" + good("1") + "}", 0, "2 unknown_shape"},
	} {
		k := newKit(t)
		rep := k.read(t, "mem0", c.text)
		if rep.Imported != c.imported || len(k.held(t)) != c.imported || rejects(rep) != c.rejected {
			t.Errorf("%s: imported %d, want %d; rejected %q, want %q", c.name, rep.Imported, c.imported, rejects(rep), c.rejected)
		}
	}
}

// repeated is n times a text, with a number in it, between two others, without ever
// holding it.
func repeated(head, item, between, tail string, n int) io.Reader {
	i := -1
	var rest string
	return reader(func(p []byte) (int, error) {
		if rest == "" {
			switch i++; {
			case i == 0:
				rest = head + fmt.Sprintf(item, i)
			case i < n:
				rest = between + fmt.Sprintf(item, i)
			case i == n:
				rest = tail
			default:
				return 0, io.EOF
			}
			if rest == "" {
				return 0, io.EOF
			}
		}
		k := copy(p, rest)
		rest = rest[k:]
		return k, nil
	})
}

// A file of 100 MB takes no more memory than a small one: all that is read is an item.
func TestMemoryOfAnImportIsBounded(t *testing.T) {
	filler := strings.Repeat("x", 9_000)
	for _, c := range []struct{ format, head, item, between, tail string }{
		{"mcp", "", `{"type":"entity","name":"n%d","entityType":"t","observations":["` + filler + `"]}`, "\n", "\n"},
		{"langgraph", "", `{"namespace":["a"],"key":"k%d","value":"` + filler + `"}`, "\n", "\n"},
		{"mem0", "{\n\"results\":[", `{"id":"%d","memory":"` + filler + `"}`, ",\n", "]}"},
		{"letta", `{"agents":[{"name":"a"}],"blocks":[`, `{"label":"l%d","value":"` + filler + `"}`, ",", "]}"},
	} {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		start, most, lines := m.HeapAlloc, uint64(0), 0
		im, _, err := For(c.format, strings.NewReader(""), Options{At: testNow})
		if err != nil {
			t.Fatal(err)
		}
		reasons := map[string]int{}
		err = im.Lines(ctx, repeated(c.head, c.item, c.between, c.tail, 11_500), func(l memory.Line) error {
			if l.Reason != "" {
				reasons[l.Reason]++
			}
			if lines++; lines%500 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// A document ends at its cap, which is said; lines have none.
		short := c.format == "mem0" || c.format == "letta"
		if short && (reasons[RejectTooLong] != 1 || lines < 7000 || lines > 7500) || !short && (lines != 11_500 || len(reasons) > 0) {
			t.Errorf("%s: %d lines, rejected %v", c.format, lines, reasons)
		}
		if grown := int64(most) - int64(start); grown > 8<<20 {
			t.Errorf("%s: the heap grew by %d MiB", c.format, grown>>20)
		}
	}
}

// Reading depends on the bytes alone, not on how they come.
func TestReadingInPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"mcp/memory-graph.jsonl", "letta/customer_service.af", "openmemory/memories.json", "mem0/python.json", "graphiti/neo4j.jsonl", "langgraph/items.json"} {
		text := file(t, name)
		var want string
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), reader(func() func(p []byte) (int, error) {
			rest := text
			return func(p []byte) (int, error) {
				if rest == "" {
					return 0, io.EOF
				}
				n := copy(p[:min(len(p), 1+rng.IntN(700))], rest)
				rest = rest[n:]
				return n, nil
			}
		}())} {
			im, in, err := For("auto", r, Options{At: testNow, Messages: true})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got strings.Builder
			if err := im.Lines(ctx, in, func(l memory.Line) error { fmt.Fprintf(&got, "%+v\n", l); return nil }); err != nil {
				t.Fatal(err)
			}
			if want == "" {
				want = got.String()
			}
			if got.String() != want {
				t.Errorf("%s reads otherwise in pieces", name)
			}
		}
	}
}
