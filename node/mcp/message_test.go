package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"trustnode/did/strictjson"
	"trustnode/node/fault"
)

var seeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"loan_read","arguments":{"permission":"zQm","purpose":"x"}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}`,
	`[{"jsonrpc":"2.0","method":"ping"}]`, `{"a":1,"a":2}`, `{"id":"\ud800"}`, `{} {}`, "\ufeff{}", `null`, ``,
}

func TestCheckMessage(t *testing.T) {
	for name, c := range map[string]struct {
		in string
		ok bool
	}{
		"a call":                    {seeds[0], true},
		"a start":                   {seeds[2], true},
		"a member in another case":  {`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, false},
		"a name in another case":    {seeds[1], false},
		"a batch":                   {seeds[3], false},
		"a member twice":            {`{"jsonrpc":"2.0","jsonrpc":"2.0"}`, false},
		"a lone surrogate":          {`{"id":"\ud800"}`, false},
		"two documents":             {seeds[6], false},
		"a byte order mark":         {seeds[7], false},
		"no object":                 {`null`, false},
		"nothing":                   {``, false},
		"as deep as may be":         {`{"id":` + strings.Repeat("[", maxDepth-1) + strings.Repeat("]", maxDepth-1) + `}`, true},
		"deeper":                    {`{"id":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`, false},
		"as long as may be":         {`{"id":"` + strings.Repeat("a", MaxMessage-9) + `"}`, true},
		"longer":                    {`{"id":"` + strings.Repeat("a", MaxMessage-8) + `"}`, false},
		"other params of a listing": {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, true},
	} {
		if err := checkMessage([]byte(c.in)); (err == nil) != c.ok {
			t.Errorf("%s: got %v", name, err)
		} else if err != nil && fault.Of(err) != fault.Invalid && fault.Of(err) != fault.TooLarge {
			t.Errorf("%s: code of %v", name, err)
		}
	}
}

func TestReadArgs(t *testing.T) {
	fields := []field{{name: "a", shape: text, need: true, most: 4}, {name: "b", shape: texts, most: 2}, {name: "n", shape: number, most: 7}}
	for name, c := range map[string]struct {
		in     string
		reason string // empty: taken
	}{
		"all of them":             {`{"a":"x","b":["y","z"],"n":7}`, ""},
		"what is needed":          {`{"a":"x"}`, ""},
		"nothing":                 {``, "a"},
		"null":                    {`null`, "arguments"},
		"a text too long":         {`{"a":"12345"}`, "a"},
		"null for a text":         {`{"a":null}`, "a"},
		"a control character":     {`{"a":"\u0000"}`, "a"},
		"a bidi override":         {`{"a":"\u202e"}`, "a"},
		"not in form NFC":         {`{"a":"e\u0301"}`, "a"},
		"too many":                {`{"a":"x","b":["1","2","3"]}`, "b"},
		"a number among texts":    {`{"a":"x","b":[1]}`, "b"},
		"a negative number":       {`{"a":"x","n":-1}`, "n"},
		"an exponent":             {`{"a":"x","n":1e0}`, "n"},
		"a number too large":      {`{"a":"x","n":8}`, "n"},
		"another case":            {`{"A":"x"}`, "arguments"},
		"a tenant":                {`{"a":"x","tenant_id":"t"}`, "identity"},
		"a project in capitals":   {`{"a":"x","PROJECT":"t"}`, "identity"},
		"a borrower":              {`{"a":"x","borrower":"did:key:z"}`, "identity"},
		"as whom":                 {`{"a":"x","as":"quant"}`, "identity"},
		"a member twice, escaped": {`{"a":"x","\u0061":"y"}`, "arguments"},
	} {
		_, err := readArgs([]byte(c.in), fields)
		if got := reasonOf(err); got != c.reason {
			t.Errorf("%s: got reason %q (%v), want %q", name, got, err, c.reason)
		}
	}
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Reason
}

func TestSchemasAreClosedAndNameNobody(t *testing.T) {
	for _, tool := range tools {
		doc, err := strictjson.Parse(schema(tool.in), 8)
		if err != nil {
			t.Fatal(err)
		}
		if more, ok := doc.Get("additionalProperties"); !ok || more.Kind() != strictjson.Bool || more.IsTrue() {
			t.Errorf("%s takes more than it says", tool.name)
		}
		for _, f := range tool.in {
			if reasonOf(unknown(f.name, nil)) == "identity" {
				t.Errorf("%s: %s says who or where", tool.name, f.name)
			}
		}
	}
}

func FuzzMessage(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = checkMessage(b)
		for _, tool := range tools {
			a, err := readArgs(b, tool.in)
			if err == nil && len(a.doc.Members()) > len(tool.in) {
				t.Errorf("%s took %s", tool.name, b)
			}
		}
	})
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", MaxMessage+2)
	r := bufio.NewReaderSize(strings.NewReader("one\n\n"+long+"\ntwo\r\nlast"), 64)
	for i, want := range []string{"one\n", "\n", "", "two\r\n", "last"} {
		b, err := readLine(r)
		if string(b) != want || want == "" != errors.Is(err, errLong) {
			t.Errorf("line %d: got %.20q, %v", i, b, err)
		}
	}
	if _, err := readLine(r); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if _, err := readLine(bufio.NewReader(strings.NewReader(long))); err != io.EOF {
		t.Errorf("a long line without end: %v", err)
	}
}

func TestMessageErrorIsJSONRPC(t *testing.T) {
	for _, err := range []error{tooLarge(), checkMessage([]byte(`{`)), checkMessage([]byte(`[]`))} {
		b := messageError(err)
		doc, perr := strictjson.Parse(b, 4)
		if e, ok := doc.Get("error"); perr != nil || !ok || len(e.Members()) != 3 || bytes.Contains(b, []byte("\n")) {
			t.Errorf("got %s (%v)", b, perr)
		}
	}
}
