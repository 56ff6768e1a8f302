package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"trustnode/did/strictjson"
)

func TestPublishedPairsCanonicalizeToTheByte(t *testing.T) {
	for folder, want := range map[string]int{"gowebpki": 10, "cyberphone": 6} {
		inputs, err := filepath.Glob(filepath.Join("testdata/jcs", folder, "input/*.json"))
		if err != nil || len(inputs) != want {
			t.Fatalf("%s has %d inputs, expected %d (%v)", folder, len(inputs), want, err)
		}
		for _, name := range inputs {
			in := readFile(t, name)
			out := readFile(t, filepath.Join("testdata/jcs", folder, "output", filepath.Base(name)))
			got, err := strictjson.Canonicalize(in, 32)
			if err != nil || !bytes.Equal(got, bytes.TrimSuffix(out, []byte("\n"))) {
				t.Errorf("%s: %s, %v\nwant %s", name, got, err, out)
			}
			v, err := strictjson.Parse(in, 32)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := v.Canonical(); err != nil || !bytes.Equal(again, got) {
				t.Errorf("%s by way of a value: %s, %v", name, again, err)
			}
		}
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestKnownFaultsOfTransformsAreGuarded is identity B-11.
func TestKnownFaultsOfTransformsAreGuarded(t *testing.T) {
	for _, c := range []struct{ name, in, out string }{
		{"surrogates the wrong way round", `["\ude00\ud83d"]`, ""},
		{"a high surrogate alone", `"\ud83d"`, ""},
		{"a high surrogate and a letter", `"\ud83d\u0041"`, ""},
		{"the raw byte ff", "[\"\xff\"]", ""},
		{"an encoded surrogate", "\"\xed\xa0\x80\"", ""},
		{"2^60", `[1152921504606846976]`, `[1152921504606847000]`},
		{"minus zero", `[-0]`, `[0]`},
		{"a number without a double", `[1e400]`, ""},
		{"keys in UTF-16 order", "{\"\ufb33\":1,\"\U00010000\":2}", "{\"\U00010000\":2,\"\ufb33\":1}"},
		{"a pair of escapes", `"\ud83d\ude00"`, `"😀"`},
		{"needless escapes", `"\u0041\/\u000a\u001F"`, `"A/\n\u001f"`},
		{"a duplicate that only unescaping shows", `{"a":1,"\u0061":2}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := strictjson.Canonicalize([]byte(c.in), 8)
			if (err == nil) != (c.out != "") || string(got) != c.out {
				t.Errorf("got %q, %v; want %q", got, err, c.out)
			}
		})
	}
}

// TestWhatTwoReadersCouldReadDifferentlyIsRefused is identity B-15.
func TestWhatTwoReadersCouldReadDifferentlyIsRefused(t *testing.T) {
	many := "{"
	for _, c := range "abcdefghijklmnopqrst" {
		many += `"` + string(c) + `":0,`
	}
	for _, c := range []struct {
		name, in string
		at       strictjson.SyntaxError
	}{
		{"nothing", "", strictjson.SyntaxError{Line: 1, Column: 1, What: "unexpected end"}},
		{"a byte order mark", "\xef\xbb\xbf{}", strictjson.SyntaxError{Line: 1, Column: 1, What: "byte order mark"}},
		{"a byte after the end", "{\n}\n x", strictjson.SyntaxError{Line: 3, Column: 2, What: "bytes after the value"}},
		{"a comment", "{\n // no\n}", strictjson.SyntaxError{Line: 2, Column: 2, What: "expected a member name"}},
		{"a comment for a value", "[ /* no */ 1]", strictjson.SyntaxError{Line: 1, Column: 3, What: "comments are not JSON"}},
		{"a duplicate", `{"a":1,"b":2,"a":3}`, strictjson.SyntaxError{Line: 1, Column: 14, What: `duplicate member "a"`}},
		{"a duplicate among many", many + `"c":1}`, strictjson.SyntaxError{Line: 1, Column: 122, What: `duplicate member "c"`}},
		{"a comma at the end", `[1,]`, strictjson.SyntaxError{Line: 1, Column: 4, What: "unexpected byte 0x5d"}},
		{"a comma at the end of an object", `{"a":1,}`, strictjson.SyntaxError{Line: 1, Column: 8, What: "expected a member name"}},
		{"single quotes", `['a']`, strictjson.SyntaxError{Line: 1, Column: 2, What: "unexpected byte 0x27"}},
		{"a key without quotes", `{a:1}`, strictjson.SyntaxError{Line: 1, Column: 2, What: "expected a member name"}},
		{"no colon", `{"a" 1}`, strictjson.SyntaxError{Line: 1, Column: 6, What: "expected a colon"}},
		{"no comma", `[1 2]`, strictjson.SyntaxError{Line: 1, Column: 4, What: "expected a comma or ']'"}},
		{"a leading zero", `[01]`, strictjson.SyntaxError{Line: 1, Column: 3, What: "expected a comma or ']'"}},
		{"a plus sign", `[+1]`, strictjson.SyntaxError{Line: 1, Column: 2, What: "unexpected byte 0x2b"}},
		{"no digit after the point", `[1.]`, strictjson.SyntaxError{Line: 1, Column: 4, What: "expected a digit"}},
		{"no digit in the exponent", `[1e+]`, strictjson.SyntaxError{Line: 1, Column: 5, What: "expected a digit"}},
		{"a minus alone", `[-]`, strictjson.SyntaxError{Line: 1, Column: 3, What: "expected a digit"}},
		{"NaN", `[NaN]`, strictjson.SyntaxError{Line: 1, Column: 2, What: "unexpected byte 0x4e"}},
		{"a word cut short", `[tru]`, strictjson.SyntaxError{Line: 1, Column: 2, What: "unknown word"}},
		{"a tab in a string", "\"a\tb\"", strictjson.SyntaxError{Line: 1, Column: 3, What: "control character 0x09 in a string"}},
		{"an unknown escape", `"\x41"`, strictjson.SyntaxError{Line: 1, Column: 3, What: "unknown escape"}},
		{"a short escape", `"\u41"`, strictjson.SyntaxError{Line: 1, Column: 3, What: `malformed \u escape`}},
		{"a string without end", `"abc`, strictjson.SyntaxError{Line: 1, Column: 5, What: "unexpected end of string"}},
		{"an escaped string without end", `"\n`, strictjson.SyntaxError{Line: 1, Column: 4, What: "unexpected end of string"}},
		{"five levels", `[[[[[]]]]]`, strictjson.SyntaxError{Line: 1, Column: 5, What: "nested too deep"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := strictjson.Parse([]byte(c.in), 4)
			var got *strictjson.SyntaxError
			if !errors.As(err, &got) || *got != c.at {
				t.Errorf("error = %v, want %v", err, &c.at)
			}
		})
	}
}

func TestValuesKeepTheirBytesAndOrder(t *testing.T) {
	const src = ` { "b" : [ 1.50 , "\u0061" , null ] , "a" : { "t" : true } } `
	v, err := strictjson.Parse([]byte(src), 4)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(v.Raw()); got != strings.TrimSpace(src) {
		t.Errorf("raw = %s", got)
	}
	b, _ := v.Get("b")
	var kinds []string
	var texts []string
	for _, e := range b.Elements() {
		kinds = append(kinds, e.Kind().String())
		texts = append(texts, string(e.Raw()))
	}
	if want := []string{"number", "string", "null"}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("kinds = %v, want %v", kinds, want)
	}
	if want := []string{"1.50", `"\u0061"`, "null"}; !reflect.DeepEqual(texts, want) {
		t.Errorf("texts = %v, want %v", texts, want)
	}
	if s, ok := b.Elements()[1].Text(); s != "a" || !ok {
		t.Errorf("text = %q, %v", s, ok)
	}
	if names := []string{v.Members()[0].Name, v.Members()[1].Name}; !reflect.DeepEqual(names, []string{"b", "a"}) {
		t.Errorf("names = %v", names)
	}
	a, _ := v.Get("a")
	if is, _ := a.Get("t"); !is.IsTrue() || a.IsTrue() {
		t.Error("true is not true, or an object is")
	}
	if _, ok := v.Get("c"); ok {
		t.Error("an absent member is there")
	}
	if got := string(v.Without("b").Raw()); got != `{"a":{ "t" : true }}` {
		t.Errorf("without b: %s", got)
	}
	if got := string(v.With("b", strictjson.UintOf(7)).With("c", strictjson.BoolOf(false)).Raw()); got != `{"b":7,"a":{ "t" : true },"c":false}` {
		t.Errorf("with b and c: %s", got)
	}
}

func TestBuiltValuesAreCheckedWhenTheyAreCanonicalized(t *testing.T) {
	v := strictjson.ObjectOf(
		strictjson.Member{Name: "z", Value: strictjson.StringsOf("\x01\"\\é", "")},
		strictjson.Member{Name: "a", Value: strictjson.ArrayOf(strictjson.BoolOf(true), strictjson.UintOf(1<<53))},
	)
	if got, err := v.Canonical(); err != nil || string(got) != `{"a":[true,9007199254740992],"z":["\u0001\"\\é",""]}` {
		t.Errorf("canonical = %s, %v", got, err)
	}
	twice := strictjson.ObjectOf(strictjson.Member{Name: "a", Value: v}, strictjson.Member{Name: "a", Value: v})
	for name, bad := range map[string]strictjson.Value{
		"one name twice": twice, "bytes that are no UTF-8": strictjson.StringOf("\xff"), "nothing": {},
	} {
		if got, err := bad.Canonical(); err == nil {
			t.Errorf("%s has the canonical form %s", name, got)
		}
	}
	n, ok := strictjson.UintOf(5).Uint()
	if _, float := must(t, "1.0").Uint(); n != 5 || !ok || float {
		t.Errorf("uint = %d, %v; 1.0 is one: %v", n, ok, float)
	}
}

func must(t *testing.T, s string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse([]byte(s), 4)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func FuzzParse(f *testing.F) {
	names, err := filepath.Glob("testdata/jcs/*/input/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"a":1,"\u0061":2}`))
	f.Add([]byte(`["\ud83d\ude00",1e5,-0.0]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := strictjson.Parse(b, 16)
		if err != nil {
			return
		}
		if !json.Valid(b) || !bytes.Equal(v.Raw(), bytes.Trim(b, " \t\r\n")) {
			t.Fatalf("accepted %q as %q", b, v.Raw())
		}
		c, err := v.Canonical()
		if err != nil {
			return // a number that no double holds
		}
		again, err := strictjson.Canonicalize(c, 16)
		if err != nil || !bytes.Equal(again, c) {
			t.Fatalf("%q has the form %q, which has the form %q (%v)", b, c, again, err)
		}
	})
}
