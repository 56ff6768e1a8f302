package lending

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"trustnode/did/envelope"
)

var rowFiles = []string{"row-read", "row-denied", "row-replay", "row-issue", "row-revoke", "row-import", "row-received", "row-ended", "row-forget", "row-move"}

func TestParseRowRefuses(t *testing.T) {
	good := string(read(t, "row-read"))
	for _, c := range []struct{ name, text, path string }{
		{"nothing", "", ""},
		{"a list", "[]", "op"},
		{"no op", "{}", "op"},
		{"an unknown op", strings.Replace(good, `"op":"read"`, `"op":"peek"`, 1), "op"},
		{"a member twice", strings.Replace(good, `"count":1`, `"count":1,"count":1`, 1), ""},
		{"an unknown member", strings.Replace(good, `"count":1`, `"count":1,"counts":1`, 1), "counts"},
		{"a member in upper case", strings.Replace(good, `"count":1`, `"Count":1`, 1), "Count"},
		{"a count of two", strings.Replace(good, `"count":1`, `"count":2`, 1), "count"},
		{"a number of zero", strings.Replace(good, `"seq":812`, `"seq":0`, 1), "seq"},
		{"white space", strings.Replace(good, `"count":1`, `"count": 1`, 1), "count"},
		{"an entry without revision", strings.Replace(good, `@2`, ``, 1), "entries[0]"},
		{"a salt of zeros", strings.Replace(good, `VxsONVUBNlhfZTpwRgl00w`, `AAAAAAAAAAAAAAAAAAAAAA`, 1), "salt"},
		{"a salt with unused bits", strings.Replace(good, `VxsONVUBNlhfZTpwRgl00w`, `VxsONVUBNlhfZTpwRgl00x`, 1), "salt"},
		{"bytes after it", good + " ", ""},
		{"17 KiB", good + strings.Repeat(" ", MaxRow), ""},
	} {
		row, err := ParseRow([]byte(c.text))
		var f *envelope.FormError
		if row != nil || !errors.As(err, &f) || f.Path != c.path {
			t.Errorf("%s: got %+v, %v, want a refusal of %q", c.name, row, err, c.path)
		}
	}
}

func TestMarshalRowRefuses(t *testing.T) {
	good := body[GrantedRow](t, "row-read")
	for _, c := range []struct {
		name   string
		change func(r *GrantedRow)
	}{
		{"a salt never drawn", func(r *GrantedRow) { r.Salt = Salt{} }},
		{"no hash", func(r *GrantedRow) { r.Hash = envelope.ID{} }},
		{"another decision", func(r *GrantedRow) { r.Decision = DecisionDenied }},
		{"an op without content", func(r *GrantedRow) { r.Op = OpStatus }},
		{"an entry of revision zero", func(r *GrantedRow) { r.Entries = []Ref{{"eQtocYooukJ5AQqCkZsHcHY", 0}} }},
	} {
		r := good
		c.change(&r)
		if b, id, err := MarshalRow(r); err == nil || b != nil || !id.IsZero() {
			t.Errorf("%s: got %s, %v", c.name, b, err)
		}
	}
}

func TestRecords(t *testing.T) {
	rc := body[Receipt](t, "receipt")
	rec := NonceRecord{Cursor: "c", Receipt: rc, Refs: []Ref{{"eQtocYooukJ5AQqCkZsHcHY", 2}}, Request: mustID(goldenRequest), Salt: salt(2), Until: rc.At}
	b, err := rec.Bytes()
	if got, err2 := ParseNonceRecord(b); err != nil || err2 != nil || !reflect.DeepEqual(got, rec) {
		t.Errorf("nonce record: got %+v, %v, %v", got, err, err2)
	}
	l := Loan{Place: "harbor/north", Reads: 7}
	b, err = l.Bytes()
	if got, err2 := ParseLoan(b); err != nil || err2 != nil || got != l {
		t.Errorf("loan: got %+v, %v, %v", got, err, err2)
	}
	if string(b) != `{"place":"harbor/north","reads":7}` || l.Own() != 7 {
		t.Errorf("a loan without parts is %s with %d reads of its own, not as older versions keep it", b, l.Own())
	}
	if _, err := ParseLoan([]byte(`{"place":"x","reads":-1}`)); err == nil {
		t.Error("a negative count was read")
	}
	rc.Count = 2
	rec.Receipt = rc
	if b, err = rec.Bytes(); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseNonceRecord(b); err == nil {
		t.Error("a receipt without valid form was read")
	}
}

func TestParseRef(t *testing.T) {
	for _, text := range []string{"eQtocYooukJ5AQqCkZsHcHY@2", "e1111111111111111@9007199254740991"} {
		if r, err := ParseRef(text); err != nil || r.String() != text {
			t.Errorf("%s: got %v, %v", text, r, err)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "no revision": "eQtocYooukJ5AQqCkZsHcHY", "revision zero": "eQtocYooukJ5AQqCkZsHcHY@0", "a leading zero": "eQtocYooukJ5AQqCkZsHcHY@02",
		"a sign": "eQtocYooukJ5AQqCkZsHcHY@+2", "2^53": "eQtocYooukJ5AQqCkZsHcHY@9007199254740992", "a subject": "sQtocYooukJ5AQqCkZsHcHY@2",
		"a zero in base58": "eQtocYooukJ5AQqCkZsHcH0@2", "a short id": "eQtoc@2", "a long one": "e" + strings.Repeat("z", 23) + "@2",
	} {
		if r, err := ParseRef(text); !errors.Is(err, ErrRef) || r != (Ref{}) {
			t.Errorf("%s: got %v, %v, want ErrRef", name, r, err)
		}
	}
	if CheckSubject("sQtocYooukJ5AQqCkZsHcHY") != nil || CheckSubject("eQtocYooukJ5AQqCkZsHcHY") == nil {
		t.Error("subjects are not told from entries")
	}
}

func TestRandom(t *testing.T) {
	a, b := NewSalt(), NewSalt()
	c, d := NewNonce(), NewNonce()
	if a == b || a.IsZero() || c == d {
		t.Errorf("drawn twice: %s, %s, %s, %s", a, b, c, d)
	}
	var back Salt
	if err := back.UnmarshalText([]byte(a.String())); err != nil || back != a {
		t.Errorf("got %s, %v, want %s", back, err, a)
	}
	for _, text := range []string{"", "AAAA", a.String() + "==", strings.Repeat("A", 22), strings.Repeat("+", 22), "AAECAwQFBgcICQoLDA0OD\n"} {
		if err := back.UnmarshalText([]byte(text)); !errors.Is(err, ErrRandom) {
			t.Errorf("%q: got %v, want ErrRandom", text, err)
		}
	}
}

func FuzzParseRow(f *testing.F) {
	for _, name := range rowFiles {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		row, err := ParseRow(b)
		if err != nil {
			return
		}
		if again, _, err := MarshalRow(row); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s: encoded again %s, %v", b, again, err)
		}
	})
}

func FuzzBodies(f *testing.F) {
	for _, name := range []string{"permission", "readrequest", "receipt", "revocation"} {
		f.Add(read(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		same[Permission](t, b)
		same[ReadRequest](t, b)
		same[LoanRequest](t, b)
		same[Receipt](t, b)
		same[Revocation](t, b)
	})
}

// same wants that what opens as a body is encoded to the same bytes.
func same[T envelope.Body](t *testing.T, b []byte) {
	v, err := envelope.Decode[T](envelope.Envelope{Type: (*new(T)).Payload(), Body: b})
	if err != nil {
		return
	}
	if again, err := envelope.Marshal(v); err != nil || !bytes.Equal(again, b) {
		t.Errorf("%T %s: encoded again %s, %v", v, b, again, err)
	}
}

func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte(`{"entries":[` + string(read(f, "view")) + `],"receipt":"a.b","salt":"` + salt(3).String() + `","cursor":"x"}`))
	f.Add([]byte(`{"entries":[{"id":"eQtocYooukJ5AQqCkZsHcHY","rev":1,"n":1e300,"s":"\u00e9"}],"receipt":"a.b","salt":"` + salt(3).String() + `"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseAnswer(b)
		if err != nil || !plain(a.Receipt) || !plain(a.Cursor) {
			return
		}
		c, err := Join(a.Entries, a.Salt)
		if err != nil {
			t.Fatal(err)
		}
		out, err := Reply(c, a.Receipt, a.Cursor, a.CacheUntil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseAnswer(out)
		if err != nil || !reflect.DeepEqual(again, a) {
			t.Errorf("%s: read again %+v, %v, want %+v", b, again, err, a)
		}
	})
}
