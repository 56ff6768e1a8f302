package envelope_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
)

// least is the smallest text of shapes: only what is required.
const least = `{"at":"2026-12-01T10:00:00Z","ext":{},"flag":false,"line":"","pins":[],"sign":0,"small":0,"tags":[],"text":""}`

// with replaces one piece of least, which must be there.
func with(t *testing.T, old, new string) string {
	t.Helper()
	if strings.Count(least, old) != 1 {
		t.Fatalf("%q does not occur once", old)
	}
	return strings.Replace(least, old, new, 1)
}

func TestFullAndLeastShapesAreReadAndWrittenAlike(t *testing.T) {
	zero := uint64(0)
	key := envelopetest.Repeat(1).Public()
	full := shapes{
		header: header{At: at(t, "9999-12-31T23:59:59Z")},
		Flag:   true, Maybe: &zero, Small: 255, Sign: envelope.MaxInteger,
		Text: "a\tb\nc", Line: "quote \" backslash \\ slash / é 日本 😀 ِ <&>\u2028",
		Tags: []string{"", "b", "a", "c", "d", "e"}, More: []string{"x"},
		Pins:  []pin{{ID: envelope.IDOf(nil), Seq: 1}, {ID: envelope.IDOf([]byte("x"))}},
		Inner: inner{A: "y"}, Key: key, Data: envelope.Raw(`{"a":[1,true,"x"],"b":{}}`),
		Ext:  envelope.Raw(`{"":0,"A-b":"x","😀":1,"Ａ":[{"Z":1}]}`),
		Deep: []deep{{Deep: []deep{{}}}}, Many: []envelope.Raw{envelope.Raw("1"), envelope.Raw(`"x"`)},
	}
	if err := full.Kind.UnmarshalText([]byte("up")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]shapes{
		"full":  full,
		"least": {header: header{At: at(t, "2026-12-01T10:00:00Z")}, Ext: envelope.Raw("{}")},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := envelope.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if name == "least" && string(b) != least {
				t.Errorf("least = %s\nwant    %s", b, least)
			}
			if c, err := jcs.Transform(b); err != nil || string(c) != string(b) {
				t.Errorf("written:  %s\nRFC 8785: %s (%v)", b, c, err)
			}
			got := shapes{Line: "left over"}
			if err := envelope.Unmarshal(b, &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("read %+v\nwant %+v", got, want)
			}
		})
	}
}

// TestEachDepartureFromTheFormIsRefusedByName is identity B-11 (2^60 and -0 in an envelope).
func TestEachDepartureFromTheFormIsRefusedByName(t *testing.T) {
	deepest := strings.Repeat(`{"deep":[`, 3) + `{}` + strings.Repeat(`]}`, 3) // with the body and its array: 2 + 7 levels
	for _, c := range []struct{ name, body, path, what string }{
		{"nothing at all", ``, "", "unexpected end, expected object"},
		{"an array where an object belongs", `[]`, "", "array, expected object"},
		{"a byte after the end", least + "\n", "", "bytes after the end"},
		{"a second document after the end", least + least, "", "bytes after the end"},
		{"white space before", " " + least, "", "white space, expected object"},
		{"white space after a colon", with(t, `"line":`, `"line": `), "line", "white space, expected string"},
		{"white space before a colon", with(t, `"line":`, `"line" :`), "line", "white space, expected a colon"},
		{"white space after a comma", with(t, `,"pins"`, `, "pins"`), "", "white space, expected string"},
		{"a comma before the end", with(t, `"text":""}`, `"text":"",}`), "", "nothing, expected string"},
		{"two commas", with(t, `,"pins"`, `,,"pins"`), "", "nothing, expected string"},
		{"a comma missing", with(t, `,"pins"`, `"pins"`), "line", "string, expected a comma or the end"},
		{"truncation after a value", least[:len(least)-1], "text", "unexpected end, expected a comma or the end"},
		{"a byte order mark", "\xef\xbb\xbf" + least, "", "byte 0xef, expected object"},

		{"an unknown key", with(t, `"line":""`, `"lime":0,"line":""`), "lime", "unknown key"},
		{"an unknown key at the end", with(t, `"text":""`, `"text":"","zz":1`), "zz", "unknown key"},
		{"a key in another case", with(t, `"line"`, `"Line"`), "Line", "unknown key"},
		{"a key with a space", with(t, `"line"`, `"line "`), "line ", "unknown key"},
		{"a key with a long name", with(t, `"line"`, `"`+strings.Repeat("x", 99)+`"`), strings.Repeat("x", 64) + "…", "unknown key"},
		{"a key beyond ASCII", with(t, `"line"`, `"lıne"`), "l?ne", "unknown key"},
		{"an empty key", with(t, `"line"`, `""`), `""`, "unknown key"},
		{"an escaped key", with(t, `"line"`, `"l\u0069ne"`), "", "string is not in its canonical escaping"},
		{"a key that is no string", with(t, `"line"`, `1`), "", "number, expected string"},
		{"a duplicate key side by side", with(t, `"line":""`, `"line":"","line":""`), "line", "duplicate key"},
		{"a duplicate key at the end", with(t, `"text":""`, `"text":"","at":""`), "at", "duplicate key"},
		{"a missing key at the start", with(t, `"at":"2026-12-01T10:00:00Z",`, ``), "at", "missing"},
		{"a missing key in the middle", with(t, `"line":"",`, ``), "line", "missing"},
		{"a missing key at the end", with(t, `,"text":""`, ``), "text", "missing"},
		{"an empty object", `{}`, "at", "missing"},
		{"two keys exchanged", with(t, `"line":"","pins":[]`, `"pins":[],"line":""`), "line", "missing, or out of order"},
		{"an optional key too late", with(t, `"line":""`, `"line":"","key":"z"`), "key", "key out of order"},
		{"a missing key in an element", with(t, `"pins":[]`, `"pins":[{"seq":1}]`), "pins[0].id", "missing"},

		{"null", with(t, `"line":""`, `"line":null`), "line", "null, expected string"},
		{"null for an optional member", with(t, `"line":""`, `"line":"","maybe":null`), "maybe", "null, expected integer"},
		{"a boolean in quotes", with(t, `false`, `"false"`), "flag", "string, expected boolean"},
		{"a word that starts like a boolean", with(t, `false`, `falsy`), "flag", "boolean, expected boolean"},
		{"a number in quotes", with(t, `"sign":0`, `"sign":"0"`), "sign", "string, expected integer"},
		{"a negative number", with(t, `"sign":0`, `"sign":-1`), "sign", "negative number"},
		{"minus zero", with(t, `"sign":0`, `"sign":-0`), "sign", "negative number"},
		{"a leading zero", with(t, `"sign":0`, `"sign":00`), "sign", "integer with a leading zero"},
		{"a fraction", with(t, `"sign":0`, `"sign":1.0`), "sign", "number is not an integer"},
		{"an exponent", with(t, `"sign":0`, `"sign":1e3`), "sign", "number is not an integer"},
		{"two to the 53rd", with(t, `"sign":0`, `"sign":9007199254740992`), "sign", "integer above 2^53-1"},
		{"two to the 60th", with(t, `"sign":0`, `"sign":1152921504606846976`), "sign", "integer above 2^53-1"},
		{"an integer of 400 digits", with(t, `"sign":0`, `"sign":1`+strings.Repeat("0", 399)), "sign", "integer above 2^53-1"},
		{"256 in eight bits", with(t, `"small":0`, `"small":256`), "small", "integer is too large for this member"},
		{"a default written out", with(t, `"line":""`, `"inner":{},"line":""`), "inner", "default value is written out; it must be absent"},
		{"an empty optional array", with(t, `"line":""`, `"line":"","more":[]`), "more", "default value is written out; it must be absent"},
		{"a default inside an optional object", with(t, `"line":""`, `"inner":{"a":""},"line":""`), "inner.a", "default value is written out; it must be absent"},

		{"a control character", with(t, `"line":""`, "\"line\":\"\x01\""), "line", "control character in a string"},
		{"a DEL", with(t, `"line":""`, "\"line\":\"\x7f\""), "line", "control character in a string"},
		{"a C1 control", with(t, `"line":""`, "\"line\":\"\u0085\""), "line", "control character in a string"},
		{"a NUL", with(t, `"line":""`, "\"line\":\"\x00\""), "line", "control character in a string"},
		{"an escaped line feed in a line", with(t, `"line":""`, `"line":"\n"`), "line", "control character in a string"},
		{"an escaped tab in a tag", with(t, `"tags":[]`, `"tags":["a","\t"]`), "tags[1]", "control character in a string"},
		{"an escaped carriage return in a text", with(t, `"text":""`, `"text":"\r"`), "text", "string is not in its canonical escaping"},
		{"a raw line feed in a text", with(t, `"text":""`, "\"text\":\"\n\""), "text", "control character in a string"},
		{"a line feed escaped by number", with(t, `"text":""`, `"text":"\u000a"`), "text", "string is not in its canonical escaping"},
		{"a needless escape", with(t, `"line":""`, `"line":"\/"`), "line", "string is not in its canonical escaping"},
		{"a letter escaped by number", with(t, `"line":""`, `"line":"\u0041"`), "line", "string is not in its canonical escaping"},
		{"surrogates the wrong way round", with(t, `"line":""`, `"line":"\ude00\ud83d"`), "line", "string is not in its canonical escaping"},
		{"an override", with(t, `"line":""`, "\"line\":\"\u202e\""), "line", "bidirectional override character in a string"},
		{"an isolate", with(t, `"line":""`, "\"line\":\"\u2066\""), "line", "bidirectional override character in a string"},
		{"an override after an escape", with(t, `"line":""`, "\"line\":\"\\\"\u202d\""), "line", "bidirectional override character in a string"},
		{"an e and a combining accent", with(t, `"line":""`, "\"line\":\"e\u0301\""), "line", "string is not in normalization form C"},
		{"a combining accent after an escape", with(t, `"line":""`, "\"line\":\"\\\"e\u0301\""), "line", "string is not in normalization form C"},
		{"the byte ff", with(t, `"line":""`, "\"line\":\"\xff\""), "line", "invalid UTF-8"},
		{"an encoded surrogate", with(t, `"line":""`, "\"line\":\"\xed\xa0\x80\""), "line", "invalid UTF-8"},
		{"an overlong slash", with(t, `"line":""`, "\"line\":\"\xc0\xaf\""), "line", "invalid UTF-8"},
		{"a string without end", with(t, `"text":""}`, `"text":"`), "text", "unexpected end of string"},
		{"a backslash at the end", with(t, `"text":""}`, `"text":"\`), "text", "unexpected end of string"},
		{"an escape and no end", with(t, `"text":""}`, `"text":"\"`), "text", "unexpected end of string"},

		{"a time with a fraction", with(t, `10:00:00Z`, `10:00:00.0Z`), "at", "not a time: expected 2026-12-01T10:00:00Z"},
		{"a time with an offset", with(t, `10:00:00Z`, `10:00:00+00:00`), "at", "not a time: expected 2026-12-01T10:00:00Z"},
		{"30 February", with(t, `2026-12-01T`, `2026-02-30T`), "at", "not a time: expected 2026-12-01T10:00:00Z"},
		{"a short id", with(t, `"pins":[]`, `"pins":[{"id":"zQm","seq":0}]`), "pins[0].id", "not an id: expected z and base58btc of a sha2-256 multihash"},
		{"a text in another spelling", with(t, `"line"`, `"kind":"up","line"`), "kind", "text has another canonical spelling"},
		{"a text its type refuses", with(t, `"line"`, `"kind":"","line"`), "kind", "empty"},

		{"free keys outside ext", with(t, `"ext"`, `"data":{"A":1},"ext"`), "data.A", "key is not snake_case"},
		{"keys of data out of order", with(t, `"ext"`, `"data":{"b":1,"a":1},"ext"`), "data.a", "key out of order"},
		{"a duplicate key in data", with(t, `"ext"`, `"data":{"a":1,"a":1},"ext"`), "data.a", "duplicate key"},
		{"null in data", with(t, `"ext"`, `"data":[null],"ext"`), "data[0]", "null, expected a value"},
		{"a fraction in data", with(t, `"ext"`, `"data":{"a":[0,0.5]},"ext"`), "data.a[1]", "number is not an integer"},
		{"a line feed in data", with(t, `"ext"`, `"data":{"a":"\n"},"ext"`), "data.a", "control character in a string"},
		{"white space in data", with(t, `"ext"`, `"data":{"a": 1},"ext"`), "data.a", "white space, expected a value"},
		{"null in ext", with(t, `"ext":{}`, `"ext":{"X":null}`), "ext.X", "null, expected a value"},
		{"keys of ext in the order of UTF-8", with(t, `"ext":{}`, `"ext":{"Ａ":1,"😀":1}`), "ext.?", "key out of order"},
		{"an override in a key of ext", with(t, `"ext":{}`, "\"ext\":{\"\u202e\":1}"), "ext", "bidirectional override character in a string"},
		{"nine levels", with(t, `"ext"`, `"deep":[`+deepest+`],"ext"`), "deep[0].deep[0].deep[0].deep[0]", "nested too deep"},
		{"nine levels in ext", with(t, `"ext":{}`, `"ext":`+strings.Repeat("[", 8)+strings.Repeat("]", 8)), "ext[0][0][0][0][0][0][0]", "nested too deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := shapes{Line: "left over"}
			err := envelope.Unmarshal([]byte(c.body), &got)
			var f *envelope.FormError
			if !errors.As(err, &f) {
				t.Fatalf("error = %v, want a *FormError", err)
			}
			if f.Path != c.path || f.What != c.what {
				t.Errorf("error = %q\nwant    %q", f, c.path+": "+c.what)
			}
			if !reflect.DeepEqual(got, shapes{}) {
				t.Errorf("a refused document left %+v behind", got)
			}
		})
	}
}

func TestEightLevelsAreAllowed(t *testing.T) {
	body := with(t, `"ext":{}`, `"ext":`+strings.Repeat("[", 7)+strings.Repeat("]", 7))
	var got shapes
	if err := envelope.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if b, err := envelope.Marshal(got); err != nil || string(b) != body {
		t.Errorf("written again: %s, %v", b, err)
	}
}

func TestWhatCannotBeReadIsNotWritten(t *testing.T) {
	good := func() shapes {
		return shapes{header: header{At: at(t, "2026-12-01T10:00:00Z")}, Ext: envelope.Raw("{}")}
	}
	for _, c := range []struct {
		name       string
		change     func(*shapes)
		path, what string
	}{
		{"a time that was not set", func(s *shapes) { s.At = envelope.Time{} }, "at", "missing"},
		{"an ext that was not set", func(s *shapes) { s.Ext = nil }, "ext", "missing"},
		{"an id that was not set", func(s *shapes) { s.Pins = []pin{{}} }, "pins[0].id", "missing"},
		{"a negative number", func(s *shapes) { s.Sign = -1 }, "sign", "negative number"},
		{"two to the 53rd", func(s *shapes) { s.Sign = 1 << 53 }, "sign", "integer above 2^53-1"},
		{"a carriage return in a text", func(s *shapes) { s.Text = "\r" }, "text", "control character in a string"},
		{"a line feed in a line", func(s *shapes) { s.Line = "\n" }, "line", "control character in a string"},
		{"an override", func(s *shapes) { s.Tags = []string{"", "\u202e"} }, "tags[1]", "bidirectional override character in a string"},
		{"text that is not normalized", func(s *shapes) { s.Line = "e\u0301" }, "line", "string is not in normalization form C"},
		{"invalid UTF-8", func(s *shapes) { s.Line = "\xff" }, "line", "invalid UTF-8"},
		{"white space in a raw value", func(s *shapes) { s.Data = envelope.Raw(`{"a": 1}`) }, "data.a", "white space, expected a value"},
		{"two raw values", func(s *shapes) { s.Data = envelope.Raw(`1,2`) }, "data", "bytes after the end"},
		{"objects that nest too deep", func(s *shapes) {
			for range 4 {
				s.Deep = []deep{{Deep: s.Deep}}
			}
		}, "deep[0].deep[0].deep[0].deep[0]", "nested too deep"},
		{"a raw value that nests too deep", func(s *shapes) { s.Data = envelope.Raw(strings.Repeat("[", 8) + strings.Repeat("]", 8)) }, "data[0][0][0][0][0][0][0]", "nested too deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := good()
			c.change(&s)
			_, err := envelope.Marshal(s)
			var f *envelope.FormError
			if !errors.As(err, &f) || f.Path != c.path || f.What != c.what {
				t.Errorf("error = %v, want %s: %s", err, c.path, c.what)
			}
		})
	}
}

func TestTypesOutsideTheFormatAreRefused(t *testing.T) {
	type twice struct {
		header
		At envelope.Time `json:"at"`
	}
	for name, v := range map[string]any{
		"a float": struct{ F float64 }{},
		"a tagged float": struct {
			F float64 `json:"f"`
		}{},
		"a map": struct {
			M map[string]string `json:"m"`
		}{},
		"an interface": struct {
			V any `json:"v"`
		}{},
		"bytes": struct {
			B []byte `json:"b"`
		}{},
		"a pointer in a list": struct {
			P []*string `json:"p"`
		}{},
		"an array": struct {
			A [2]bool `json:"a"`
		}{},
		"a field without tag": struct{ A string }{},
		"a key in camel case": struct {
			A string `json:"camelCase"`
		}{},
		"a foreign option": struct {
			A string `json:"a,string"`
		}{},
		"a foreign text rule": struct {
			A string `json:"a" text:"free"`
		}{},
		"a text rule for an object": struct {
			I inner `json:"i" text:"multiline"`
		}{},
		"one name twice": twice{},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := envelope.Marshal(v)
			var f *envelope.FormError
			if err == nil || errors.As(err, &f) {
				t.Errorf("Marshal: %v, want an error about the type", err)
			}
			if err := envelope.Unmarshal([]byte("{}"), reflect.New(reflect.TypeOf(v)).Interface()); err == nil {
				t.Error("Unmarshal accepted the type")
			}
		})
	}
	if err := envelope.Unmarshal([]byte("{}"), shapes{}); err == nil {
		t.Error("Unmarshal accepted a value that is no pointer")
	}
	if _, err := envelope.Marshal(nil); err == nil {
		t.Error("Marshal accepted nil")
	}
	if _, err := envelope.Marshal((*shapes)(nil)); err == nil {
		t.Error("Marshal accepted a nil pointer")
	}
}

func TestTopLevelNeedNotBeAStruct(t *testing.T) {
	b, err := envelope.Marshal([]did.DID{harbor, line})
	if err != nil {
		t.Fatal(err)
	}
	var got []did.DID
	if err := envelope.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if want := []did.DID{harbor, line}; !reflect.DeepEqual(got, want) {
		t.Errorf("%s read as %v", b, got)
	}
}

func TestCanonicalJudgesAnyValue(t *testing.T) {
	for _, c := range []struct {
		name, value string
		depth       int
		ok, lines   bool // verdicts of Canonical and CanonicalMultiline
	}{
		{"a scalar", `"x"`, 0, true, true},
		{"an object at the allowed depth", `{"a":[]}`, 2, true, true},
		{"an object below it", `{"a":[]}`, 1, false, false},
		{"a line feed", `{"a":"\n"}`, 8, false, true},
		{"a line feed in a key", `{"ext":{"\n":1}}`, 8, false, false},
		{"a carriage return", `{"a":"\r"}`, 8, false, false},
		{"a free key", `{"A":1}`, 8, false, false},
		{"a free key in ext", `{"ext":{"A":{"B":1}}}`, 8, true, true},
		{"a free key beside ext", `{"ext":{},"fX":1}`, 8, false, false},
		{"null", `null`, 8, false, false},
		{"nothing", ``, 8, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := envelope.Canonical([]byte(c.value), c.depth)
			two := envelope.CanonicalMultiline([]byte(c.value), c.depth)
			if (one == nil) != c.ok || (two == nil) != c.lines {
				t.Errorf("verdicts %v and %v", one, two)
			}
		})
	}
}

func TestCheckTextAgreesWithTheReader(t *testing.T) {
	for s, want := range map[string][2]bool{
		"plain é": {true, true}, "two\nlines": {false, true}, "\u202e": {false, false}, "\xff": {false, false},
		"e\u0301": {false, false}, "": {true, true},
	} {
		got := [2]bool{envelope.CheckText(s, false) == nil, envelope.CheckText(s, true) == nil}
		if got != want {
			t.Errorf("CheckText(%q) = %v, want %v", s, got, want)
		}
	}
}
