package didweb_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/didweb"
	"trustnode/did/envelope"
)

// TestSnapshotRow is the row byte for byte; rows are stored.
func TestSnapshotRow(t *testing.T) {
	raw := document(beta, method(beta, "b", k2)+","+method(beta, "a", k1), "b", "a")
	s := take(t, beta, raw)
	got, err := s.Marshal()
	want := `{"approved_by":"join","bytes_id":"` + envelope.IDOf(raw).String() + `","did":"did:web:beta.example",` +
		`"fetched_at":"2026-12-01T10:00:00Z","keys":["z6MkmNZGTCcVSQG2dp1cBYssQWkNEwFHBvsNmBzJs6iGY9eA","z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"],` +
		`"spki_sha256":"01` + strings.Repeat("0", 62) + `"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	again, err := didweb.ParseSnapshot(got)
	if err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("got %+v, %v, want %+v", again, err, s)
	}
}

// TestSnapshotWithoutTLS: bytes that came in a join card have no server key.
func TestSnapshotWithoutTLS(t *testing.T) {
	raw := document(beta, method(beta, "a", k1), "a")
	s, err := didweb.Take(did.MustParse(beta), raw, didweb.SPKI{}, at, didweb.Joined)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Marshal()
	if err != nil || bytes.Contains(b, []byte("spki")) {
		t.Errorf("got %s, %v", b, err)
	}
	if again, err := didweb.ParseSnapshot(b); err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("got %+v, %v, want %+v", again, err, s)
	}
}

func TestParseSnapshotRefuses(t *testing.T) {
	b, err := take(t, beta, document(beta, method(beta, "a", k1)+","+method(beta, "b", k2), "a", "b")).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	row := string(b)
	id := row[strings.Index(row, `"z`)+1:][:47]
	spki := row[strings.Index(row, `,"spki`):]
	many := make([]string, 65)
	for i := range many {
		many[i] = seeded(byte(i + 100)).Multikey()
	}
	slices.Sort(many)
	keys := `["` + k2.Multikey() + `","` + k1.Multikey() + `"]`
	for title, bad := range map[string]string{
		"nothing":                    "",
		"another way of approval":    strings.Replace(row, `"join"`, `"fetch"`, 1),
		"an empty way of approval":   strings.Replace(row, `"join"`, `""`, 1),
		"an id of other characters":  strings.Replace(row, id, id[:46]+"0", 1),
		"another method":             strings.Replace(row, beta, "did:key:beta.example", 1),
		"a DID that names no place":  strings.Replace(row, beta, "did:web:127.0.0.1", 1),
		"no time":                    strings.Replace(row, at.String(), "", 1),
		"a time with fractions":      strings.Replace(row, "10:00:00Z", "10:00:00.5Z", 1),
		"no keys":                    strings.Replace(row, keys, "[]", 1),
		"keys that descend":          strings.Replace(row, keys, `["`+k1.Multikey()+`","`+k2.Multikey()+`"]`, 1),
		"one key twice":              strings.Replace(row, keys, `["`+k1.Multikey()+`","`+k1.Multikey()+`"]`, 1),
		"a key that is none":         strings.Replace(row, k1.Multikey(), "z6Mk", 1),
		"65 keys":                    strings.Replace(row, keys, `["`+strings.Join(many, `","`)+`"]`, 1),
		"a hash that is too short":   strings.Replace(row, spki, `,"spki_sha256":"01"}`, 1),
		"a hash of other characters": strings.Replace(row, spki, `,"spki_sha256":"`+strings.Repeat("g", 64)+`"}`, 1),
		"a hash in upper case":       strings.Replace(row, spki, `,"spki_sha256":"`+strings.Repeat("A", 64)+`"}`, 1),
		"an absent hash written out": strings.Replace(row, spki, `,"spki_sha256":"`+strings.Repeat("0", 64)+`"}`, 1),
		"an unknown member":          strings.Replace(row, spki, spki[:len(spki)-1]+`,"x":1}`, 1),
		"a member twice":             strings.Replace(row, `{`, `{"approved_by":"join",`, 1),
		"white space":                row + " ",
		"a byte after the end":       row + "}",
	} {
		if bad == row {
			t.Fatalf("%s: nothing was changed", title)
		}
		s, err := didweb.ParseSnapshot([]byte(bad))
		if !errors.Is(err, didweb.ErrSnapshot) || !reflect.DeepEqual(s, didweb.Snapshot{}) {
			t.Errorf("%s: got %+v, %v; want ErrSnapshot", title, s, err)
		}
	}
	if _, err := didweb.ParseSnapshot(bytes.Repeat([]byte("x"), 8<<10+1)); !errors.Is(err, did.ErrTooLarge) {
		t.Errorf("a long row: got %v, want ErrTooLarge", err)
	}
}

func TestMarshalRefusesWhatParseWould(t *testing.T) {
	good := take(t, beta, document(beta, method(beta, "a", k1), "a"))
	for title, change := range map[string]func(*didweb.Snapshot){
		"no way of approval":        func(s *didweb.Snapshot) { s.ApprovedBy = 0 },
		"a way yet to come":         func(s *didweb.Snapshot) { s.ApprovedBy = 99 },
		"no id":                     func(s *didweb.Snapshot) { s.BytesID = envelope.ID{} },
		"no time":                   func(s *didweb.Snapshot) { s.FetchedAt = envelope.Time{} },
		"no DID":                    func(s *didweb.Snapshot) { s.DID = did.DID{} },
		"no keys":                   func(s *didweb.Snapshot) { s.Keys = nil },
		"a key that is the zero":    func(s *didweb.Snapshot) { s.Keys = []did.PublicKey{{}} },
		"keys that do not ascend":   func(s *didweb.Snapshot) { s.Keys = []did.PublicKey{k1, k1} },
		"a DID of another method":   func(s *didweb.Snapshot) { s.DID = did.MustParse("did:key:z6Mk") },
		"a DID that names no place": func(s *didweb.Snapshot) { s.DID = did.MustParse("did:web:1.1") },
	} {
		s := good
		change(&s)
		if b, err := s.Marshal(); !errors.Is(err, didweb.ErrSnapshot) || b != nil {
			t.Errorf("%s: got %s, %v; want ErrSnapshot", title, b, err)
		}
	}
}

// TestTakeChoosesKeys: what is pinned are the keys that can speak for the DID, by their raw value.
func TestTakeChoosesKeys(t *testing.T) {
	p256 := `{"id":"` + beta + `#p","type":"Multikey","controller":"` + beta + `","publicKeyMultibase":"zDnaeucDGfhXHoJVqot3p21RuupNJ2fZrs8Lb1GV83VnSo2jR"}`
	foreign := `{"id":"` + beta + `#f","type":"Multikey","controller":"did:web:evil.example","publicKeyMultibase":"` + k3.Multikey() + `"}`
	theirs := method("did:web:evil.example", "t", k3)
	broken := `{"id":"` + beta + `#x","type":"Multikey","controller":"` + beta + `","publicKeyMultibase":"z6Mk"}`
	for title, c := range map[string]struct {
		methods string
		kids    []string
		want    int // keys
	}{
		"a method that is not listed":            {method(beta, "a", k1) + "," + method(beta, "b", k2), []string{"a"}, 1},
		"one key under two names":                {method(beta, "a", k1) + "," + method(beta, "b", k1), []string{"a", "b"}, 1},
		"a key that is read and never verifies":  {method(beta, "a", k1) + "," + p256, []string{"a", "p"}, 2},
		"a method another DID controls":          {method(beta, "a", k1) + "," + foreign, []string{"a", "f"}, 1},
		"a method of another DID":                {method(beta, "a", k1) + "," + theirs, []string{"a", "t"}, 1},
		"a method that cannot be used":           {method(beta, "a", k1) + "," + broken, []string{"a", "x"}, 1},
		"a method with an end":                   {method(beta, "a", k1, `,"expires":"2030-01-01T00:00:00Z"`), []string{"a"}, 1},
		"no method listed":                       {method(beta, "a", k1), nil, 0},
		"a reference to nothing":                 {method(beta, "a", k1), []string{"b"}, 0},
		"only a method that another DID has":     {foreign, []string{"f"}, 0},
		"only a method that cannot be used here": {broken, []string{"x"}, 0},
	} {
		s, err := didweb.Take(did.MustParse(beta), document(beta, c.methods, c.kids...), didweb.SPKI{}, at, didweb.Joined)
		if c.want == 0 {
			if !errors.Is(err, didweb.ErrNoKeys) || !reflect.DeepEqual(s, didweb.Snapshot{}) {
				t.Errorf("%s: got %v, %v; want ErrNoKeys", title, s.Keys, err)
			}
			continue
		}
		if err != nil || len(s.Keys) != c.want || !slices.Contains(s.Keys, k1) || slices.Contains(s.Keys, k3) {
			t.Errorf("%s: got %v, %v; want %d keys", title, s.Keys, err, c.want)
		}
	}
}

func TestTakeRefuses(t *testing.T) {
	raw := document(beta, method(beta, "a", k1), "a")
	d := did.MustParse(beta)
	for title, c := range map[string]struct {
		d    did.DID
		raw  []byte
		at   envelope.Time
		by   didweb.Approval
		want error
	}{
		"a document of another DID": {did.MustParse("did:web:gamma.example"), raw, at, didweb.Joined, did.ErrDocument},
		"another method":            {did.MustParse("did:key:beta"), document("did:key:beta", method("did:key:beta", "a", k1), "a"), at, didweb.Joined, didweb.ErrIdentifier},
		"no time":                   {d, raw, envelope.Time{}, didweb.Joined, didweb.ErrSnapshot},
		"no way of approval":        {d, raw, at, 0, didweb.ErrSnapshot},
		"too many bytes":            {d, append(bytes.Clone(raw), make([]byte, did.MaxDocument)...), at, didweb.Joined, did.ErrTooLarge},
	} {
		if s, err := didweb.Take(c.d, c.raw, didweb.SPKI{}, c.at, c.by); !errors.Is(err, c.want) || !reflect.DeepEqual(s, didweb.Snapshot{}) {
			t.Errorf("%s: got %+v, %v; want %v", title, s, err, c.want)
		}
	}
}

func TestOpenRefusesOtherBytes(t *testing.T) {
	raw := document(beta, method(beta, "a", k1), "a")
	s := take(t, beta, raw)
	if doc, err := didweb.Open(s, raw); err != nil || !bytes.Equal(doc.Raw(), raw) {
		t.Errorf("got %s, %v", doc.Raw(), err)
	}
	lying := s
	lying.Keys = []did.PublicKey{k2}
	moved := s
	moved.DID = did.MustParse("did:web:gamma.example")
	for title, c := range map[string]struct {
		s    didweb.Snapshot
		raw  []byte
		want error
	}{
		"one byte more":                  {s, append(bytes.Clone(raw), ' '), didweb.ErrMismatch},
		"nothing":                        {s, nil, didweb.ErrMismatch},
		"a row that lists other keys":    {lying, raw, didweb.ErrMismatch},
		"a row that names another DID":   {moved, raw, did.ErrDocument},
		"the zero row and its zero hash": {didweb.Snapshot{}, nil, didweb.ErrMismatch},
	} {
		if doc, err := didweb.Open(c.s, c.raw); !errors.Is(err, c.want) || !doc.IsZero() {
			t.Errorf("%s: got %v; want %v", title, err, c.want)
		}
	}
}

func TestSameKeys(t *testing.T) {
	a := take(t, beta, document(beta, method(beta, "a", k1)+","+method(beta, "b", k2), "a", "b"))
	b := take(t, beta, document(beta, method(beta, "x", k2)+","+method(beta, "y", k1), "x", "y"))
	c := take(t, beta, document(beta, method(beta, "a", k1), "a"))
	if !a.SameKeys(b) || a.SameKeys(c) || c.SameKeys(a) {
		t.Errorf("got %v %v %v", a.SameKeys(b), a.SameKeys(c), c.SameKeys(a))
	}
}

func TestApprovalIsAClosedSet(t *testing.T) {
	want := []string{"join", "key.rotated", "rekey", "operator"}
	for i, text := range want {
		var a didweb.Approval
		if err := a.UnmarshalText([]byte(text)); err != nil || a != didweb.Approval(i+1) || a.String() != text {
			t.Errorf("%s: got %v, %v", text, a, err)
		}
	}
	var a didweb.Approval
	for _, text := range []string{"", "Join", "join ", fmt.Sprint(didweb.Approval(0))} {
		if err := a.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, a)
		}
	}
}

// FuzzParseSnapshot asks that a row which is accepted is its own only spelling.
func FuzzParseSnapshot(f *testing.F) {
	s := take(f, beta, document(beta, method(beta, "a", k1)+","+method(beta, "b", k2), "a", "b"))
	for _, by := range []didweb.Approval{didweb.Joined, didweb.Rotated, didweb.Rekeyed, didweb.ByOperator} {
		s.ApprovedBy = by
		b, err := s.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		s.SPKI = didweb.SPKI{}
	}
	f.Add([]byte(`{"approved_by":"join","bytes_id":"z","did":"did:web:beta.example","fetched_at":"","keys":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := didweb.ParseSnapshot(b)
		if err != nil {
			if !errors.Is(err, didweb.ErrSnapshot) && !errors.Is(err, did.ErrTooLarge) {
				t.Fatalf("%q: %v is neither refusal", b, err)
			}
			return
		}
		if again, err := s.Marshal(); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%q becomes %q, %v", b, again, err)
		}
	})
}
