package bundle

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/envelope"
)

const acme = "did:webvh:QmdxDqorZgv4P8j9zbcihdpgXbCF7czyzgasVGabF63Z5f:acme.example"

// object is a DSSE envelope of any type around a body.
func object(t testing.TB, what, body string, sigs ...byte) envelope.Envelope {
	t.Helper()
	e := envelope.Envelope{Type: envelope.TypeOf(what), Body: []byte(body)}
	for _, s := range sigs {
		key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{s}, 32))
		e = e.With(envelope.Signature{KeyID: "sign-1", Sig: did.Signature(ed25519.Sign(key, e.Preimage().Bytes()))})
	}
	return e
}

func compact(t testing.TB) string {
	t.Helper()
	s, err := object(t, "receipt", `{"kid":"sign-1"}`, 1).Compact()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// all is one line of every kind, in the order they are written.
func all(t testing.TB) []Line {
	id := envelope.IDOf([]byte("event"))
	entry := append(append([]byte{1}, make([]byte, 64)...), `{"a":1}`...)
	return []Line{
		DIDLog{DID: did.MustParse(acme), From: 1, Log: []byte("{\"a\":1}\n")},
		DIDLog{DID: did.MustParse(acme), From: 2, Log: []byte("{\"b\":1}\n"), Witness: []byte("[]")},
		Envelope{object(t, "charter", `{"seq":1}`, 1, 2)},
		Envelope{object(t, "join", `{"name":"Dora"}`)},
		Entry{Entry: entry, Proof: []byte("c2sp.org/tlog-proof@v1\n")},
		Body{Body: []byte(`{"salt":"x"}`)},
		Row{Event: id, Index: 0, Path: bytes.Repeat([]byte{7}, 64), Row: []byte(`{"op":"read"}`), Size: 3},
		Row{Event: id, Index: 10, Path: nil, Row: []byte(`{"op":"read"}`), Size: 11},
		Compact{What: "receipt", Text: compact(t)},
		Unknown{Raw: []byte(`{"later":{"version":2}}`)},
	}
}

func encode(t testing.TB, h Header, lines ...Line) []byte {
	t.Helper()
	b, err := Encode(h, lines...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(b []byte) (Header, []Line, error) {
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return Header{}, nil, err
	}
	var lines []Line
	for {
		l, err := r.Next()
		if err == io.EOF {
			return r.Header(), lines, nil
		}
		if err != nil {
			return r.Header(), lines, err
		}
		lines = append(lines, l)
	}
}

func TestEveryKindComesBackAsItWas(t *testing.T) {
	header := Header{About: []envelope.ID{envelope.IDOf([]byte("case"))}, Pin: &Pin{AsOf: mustTime(t), ID: envelope.IDOf([]byte("x")), Seq: 7}}
	want := all(t)
	b := encode(t, header, want...)
	gotHeader, got, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(gotHeader, header) {
		t.Errorf("header %+v, want %+v", gotHeader, header)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	for i, l := range got {
		if l.Kind() != want[i].Kind() || l.Kind().String() == "none" {
			t.Errorf("line %d has kind %v", i, l.Kind())
		}
	}
}

func mustTime(t testing.TB) envelope.Time {
	t.Helper()
	at, err := envelope.ParseTime("2026-12-01T10:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestEqualContentsAreEqualBytesWhateverTheOrder(t *testing.T) {
	lines := all(t)
	want := encode(t, Header{}, lines...)
	for i := range lines {
		turned := append(append([]Line{}, lines[i:]...), lines[:i]...)
		turned = append(turned, lines[i]) // and one of them twice
		if got := encode(t, Header{}, turned...); !bytes.Equal(got, want) {
			t.Errorf("turned by %d: other bytes", i)
		}
	}
}

func TestHeaderIsTheFixedText(t *testing.T) {
	if got, want := string(encode(t, Header{})), "{\"trustnode\":\"bundle\",\"v\":1}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHeadersThatAreNoBundle(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                      "",
		"no newline after it":          `{"trustnode":"bundle","v":1}`,
		"another version":              "{\"trustnode\":\"bundle\",\"v\":2}\n",
		"another word":                 "{\"trustnode\":\"bundles\",\"v\":1}\n",
		"a space inside":               "{\"trustnode\": \"bundle\",\"v\":1}\n",
		"a carriage return":            "{\"trustnode\":\"bundle\",\"v\":1}\r\n",
		"an unknown member":            "{\"trustnode\":\"bundle\",\"v\":1,\"w\":1}\n",
		"an empty about":               "{\"about\":[],\"trustnode\":\"bundle\",\"v\":1}\n",
		"a byte order mark":            "\ufeff{\"trustnode\":\"bundle\",\"v\":1}\n",
		"an endless first line":        strings.Repeat("x", MaxHeader+2),
		"an endless first line, ended": strings.Repeat("x", MaxHeader+2) + "\n",
	} {
		if _, _, err := read([]byte(text)); !errors.Is(err, ErrNotBundle) {
			t.Errorf("%s: %v, want ErrNotBundle", name, err)
		}
	}
}

func TestLinesThatAreRefused(t *testing.T) {
	b64 := base64.RawURLEncoding.EncodeToString
	id := envelope.IDOf([]byte("{}")).String()
	for name, line := range map[string]string{
		"empty":                            "",
		"a space before":                   ` {"body":"e30","id":"` + id + `"}`,
		"a space after":                    `{"body":"e30","id":"` + id + `"} `,
		"a carriage return at the end":     `{"body":"e30","id":"` + id + "\"}\r",
		"a body under another id":          `{"body":"e30","id":"` + envelope.IDOf([]byte("x")).String() + `"}`,
		"an empty body":                    `{"body":"","id":"` + envelope.IDOf(nil).String() + `"}`,
		"base64 with padding":              `{"body":"e30=","id":"` + id + `"}`,
		"base64 with trailing bits":        `{"body":"e31","id":"` + id + `"}`,
		"standard base64":                  `{"body":"+/8","id":"` + envelope.IDOf([]byte{0xfb, 0xff}).String() + `"}`,
		"base64 with a line break":         `{"body":"e3\n0","id":"` + id + `"}`,
		"members out of order":             `{"id":"` + id + `","body":"e30"}`,
		"a member twice":                   `{"body":"e30","body":"e30","id":"` + id + `"}`,
		"a member in another case":         `{"body":"e30","ID":"` + id + `"}`,
		"a member missing":                 `{"body":"e30"}`,
		"a null":                           `{"body":null,"id":"` + id + `"}`,
		"an empty witness file":            `{"did":"` + acme + `","did_log":"e30","did_witness":"","from":1}`,
		"a log from version 0":             `{"did":"` + acme + `","did_log":"e30","from":0}`,
		"an empty log":                     `{"did":"` + acme + `","did_log":"","from":1}`,
		"a log of no DID":                  `{"did":"acme","did_log":"e30","from":1}`,
		"an entry without a body":          `{"entry":"` + b64(append([]byte{1}, make([]byte, 64)...)) + `","proof":"e30"}`,
		"an entry of another version":      `{"entry":"` + b64(append([]byte{2}, make([]byte, 70)...)) + `","proof":"e30"}`,
		"an entry without a proof":         `{"entry":"` + b64(append([]byte{1}, make([]byte, 70)...)) + `","proof":""}`,
		"a path of half a hash":            `{"event":"` + id + `","index":0,"path":"` + b64(make([]byte, 16)) + `","row":"e30","size":1}`,
		"a row past the size":              `{"event":"` + id + `","index":1,"path":"","row":"e30","size":1}`,
		"an empty row":                     `{"event":"` + id + `","index":0,"path":"","row":"","size":1}`,
		"a compact object of no name":      `{"compact":"` + compact(t) + `","what":"Receipt"}`,
		"a compact object cut short":       `{"compact":"` + compact(t)[1:] + `","what":"receipt"}`,
		"an array":                         `[1]`,
		"a string":                         `"x"`,
		"an envelope with a space":         strings.Replace(string(object(t, "join", "{}").DSSE()), `":"`, `": "`, 1),
		"an envelope of a foreign type":    `{"payload":"e30=","payloadType":"application/json","signatures":[]}`,
		"two objects in one line":          `{"body":"e30","id":"` + id + `"}{}`,
		"an unknown line, not canonical":   `{"b":1,"a":1}`,
		"an unknown line that is too deep": strings.Repeat(`{"a":`, 9) + "1" + strings.Repeat("}", 9),
	} {
		if l, err := ParseLine([]byte(line)); err == nil {
			t.Errorf("%s: read as %T", name, l)
		}
	}
}

func TestUnknownShapesAreHandedOut(t *testing.T) {
	for name, line := range map[string]string{
		"a line of a later version":    `{"later":1}`,
		"a known line with more to it": `{"body":"e30","extra":1,"id":"` + envelope.IDOf([]byte("{}")).String() + `"}`,
		"a package of sync":            `{"did":"` + acme + `","entries":[],"from":1}`,
		"keys that hide in a string":   `{"a":"\",\"body\":\"","b":{"c":["d",{"e":1}]}}`,
		"an empty object":              `{}`,
	} {
		l, err := ParseLine([]byte(line))
		if name == "an empty object" {
			// It has no member that is unknown, so it is a faulty line and not a later one.
			if err == nil {
				t.Errorf("%s: read as %T", name, l)
			}
			continue
		}
		if want := (Unknown{Raw: []byte(line)}); err != nil || !reflect.DeepEqual(l, want) {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
}

func TestReadingGoesOnAfterAFaultyLine(t *testing.T) {
	b := append(encode(t, Header{}), "nonsense\n"...)
	b = append(b, `{"later":1}`+"\n"...)
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var faulty *LineError
	if _, err := r.Next(); !errors.As(err, &faulty) || faulty.Line != 2 {
		t.Fatalf("got %v, want a fault in line 2", err)
	}
	if l, err := r.Next(); err != nil || l.Kind() != KindUnknown {
		t.Errorf("got %v, %v", l, err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("got %v, want EOF", err)
	}
	if r.Bytes() != int64(len(b)) || r.Line() != 3 {
		t.Errorf("%d bytes, %d lines", r.Bytes(), r.Line())
	}
}

func TestAFileThatIsCutIsNoFile(t *testing.T) {
	b := encode(t, Header{}, all(t)...)
	for n := range len(b) {
		if _, lines, err := read(b[:n]); err == nil && b[n-1] != '\n' {
			t.Errorf("cut to %d bytes: read %d lines", n, len(lines))
		}
	}
}

func TestALineThatIsTooLongEndsReading(t *testing.T) {
	long := append(encode(t, Header{}), bytes.Repeat([]byte{'a'}, MaxLine+1)...)
	r, err := NewReader(bytes.NewReader(append(long, "\n{}\n"...)))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, ErrTooLong) {
			t.Errorf("got %v, want ErrTooLong", err)
		}
	}
	if _, err := EncodeLine(Body{Body: make([]byte, MaxLine)}); !errors.Is(err, ErrTooLong) {
		t.Errorf("encoding: %v, want ErrTooLong", err)
	}
}

func TestALineOfTheGreatestLengthIsRead(t *testing.T) {
	frame := len(`{"body":"","id":""}`) + len(envelope.IDOf(nil).String())
	body := make([]byte, (MaxLine-frame)/4*3)
	b := encode(t, Header{}, Body{Body: body})
	if _, lines, err := read(b); err != nil || !reflect.DeepEqual(lines, []Line{Body{Body: body}}) {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

func TestLinesThatAreNotWritten(t *testing.T) {
	for name, l := range map[string]Line{
		"a log without DID":        DIDLog{From: 1, Log: []byte("x\n")},
		"a log from version 0":     DIDLog{DID: did.MustParse(acme), Log: []byte("x\n")},
		"an entry without proof":   Entry{Entry: append([]byte{1}, make([]byte, 70)...)},
		"an empty body":            Body{},
		"a row past its size":      Row{Event: envelope.IDOf(nil), Index: 2, Row: []byte("x"), Size: 2},
		"a compact of a bad name":  Compact{What: "no name", Text: compact(t)},
		"an unknown, not one line": Unknown{Raw: []byte("{\"a\":1}\n{\"a\":1}")},
	} {
		var out bytes.Buffer
		if err := NewWriter(&out, Header{}).Add(l); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestSniff(t *testing.T) {
	for name, c := range map[string]struct {
		b    string
		want Form
	}{
		"a bundle":               {string(encode(t, Header{}, all(t)...)), FormBundle},
		"one object":             {string(object(t, "receipt", "{}", 1).DSSE()), FormObject},
		"a compact object":       {compact(t), FormCompact},
		"a compact object, line": {compact(t) + "\n", FormCompact},
		"a DID log":              {`{"versionId":"1-Qm","versionTime":"x"}` + "\n", FormDIDLog},
		"nothing":                {"", FormNone},
		"prose":                  {"to whom it may concern", FormNone},
		"a number with a point":  {"1.", FormNone},
		"some JSON":              {`{"a":1}`, FormNone},
	} {
		if got := Sniff([]byte(c.b)); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestALongDIDLogTakesSeveralLines(t *testing.T) {
	line := strings.Repeat("x", 64<<10-1) + "\n"
	log := []byte(strings.Repeat(line, 20))
	parts := DIDLogs(did.MustParse(acme), 3, log, make([]byte, 1<<20))
	var joined []byte
	from := uint64(3)
	for _, p := range parts {
		if p.From != from {
			t.Errorf("part starts at %d, want %d", p.From, from)
		}
		if _, err := EncodeLine(p); err != nil {
			t.Error(err)
		}
		from += uint64(bytes.Count(p.Log, []byte("\n")))
		joined = append(joined, p.Log...)
	}
	if !bytes.Equal(joined, log) || len(parts) < 2 {
		t.Errorf("%d parts hold %d bytes of %d", len(parts), len(joined), len(log))
	}
}

// TestEveryByteCounts flips each bit of a small file: what comes back is never what went in.
func TestEveryByteCounts(t *testing.T) {
	want := all(t)
	b := encode(t, Header{}, want...)
	for i := range b {
		for bit := range 8 {
			c := bytes.Clone(b)
			c[i] ^= 1 << bit
			header, got, err := read(c)
			if err == nil && reflect.DeepEqual(header, Header{}) && reflect.DeepEqual(got, want) {
				t.Fatalf("bit %d of byte %d (%q) does not count", bit, i, b[i])
			}
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, l := range all(f) {
		b, err := EncodeLine(l)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseLine(b)
		if err != nil {
			return
		}
		again, err := EncodeLine(l)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%q became %q, %v", b, again, err)
		}
	})
}

func FuzzReader(f *testing.F) {
	f.Add(encode(f, Header{}, all(f)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		header, lines, err := read(b)
		Sniff(b)
		if err != nil {
			return
		}
		first, err := Encode(header, lines...)
		if err != nil {
			t.Fatal(err)
		}
		header, lines, err = read(first)
		if err != nil {
			t.Fatal(err)
		}
		if again := encode(t, header, lines...); !bytes.Equal(again, first) {
			t.Fatalf("writing again gave other bytes")
		}
	})
}

func ExampleEncode() {
	b, err := Encode(Header{}, Body{Body: []byte(`{"salt":"x"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(b))
	// Output:
	// {"trustnode":"bundle","v":1}
	// {"body":"eyJzYWx0IjoieCJ9","id":"zQmbZmcEG2spWEiGEVCwgGPs9Jaaez4NvKaYEUC4mre2gd6"}
}
