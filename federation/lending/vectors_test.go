package lending

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"trustnode/did/envelope"
)

// The vectors of canonical forms are data for readers in other languages: testdata/
// vectors-scope.json and vectors-bodies.json; SPEC.md, section 7, says what they hold.

// TestScopeVectors: loosely typed text to canonical text and JSON twin, or no scope.
func TestScopeVectors(t *testing.T) {
	var v struct {
		Scopes []struct {
			Name, Text, Canonical string
			Twin                  json.RawMessage
			Error                 string
		}
		Meets []struct {
			Name, A, B, Both string
		}
		Matches []struct {
			Name, Scope, Created, Updated, Now string
			Tags                               []string
			Want                               bool
		}
	}
	vectors(t, "vectors-scope", &v)
	for _, c := range v.Scopes {
		s, err := Parse(c.Text)
		if c.Error != "" {
			if !errors.Is(err, ErrScope) {
				t.Errorf("%s: got %q, %v, want a refusal", c.Name, s, err)
			}
			continue
		}
		if err != nil || s.String() != c.Canonical {
			t.Errorf("%s: got %q, %v, want %q", c.Name, s, err, c.Canonical)
		}
		if _, err := ParseCanonical(c.Text); (err == nil) != (c.Text == c.Canonical) || err != nil && !errors.Is(err, ErrNotCanonical) {
			t.Errorf("%s: in a signed body: %v", c.Name, err)
		}
		twin, err := json.Marshal(s.Twin())
		if err != nil || !bytes.Equal(twin, compacted(t, c.Twin)) {
			t.Errorf("%s: twin: got %s, %v, want %s", c.Name, twin, err, c.Twin)
		}
		var tw Twin
		if err := json.Unmarshal(c.Twin, &tw); err != nil {
			t.Fatal(err)
		}
		if back, err := tw.Scope(); err != nil || !back.Equal(s) {
			t.Errorf("%s: of the twin: got %q, %v", c.Name, back, err)
		}
	}
	for _, c := range v.Meets {
		got, err := MustParse(c.A).And(MustParse(c.B))
		if got.String() != c.Both || (c.Both == "") != errors.Is(err, ErrDisjoint) {
			t.Errorf("%s: got %q, %v, want %q", c.Name, got, err, c.Both)
		}
	}
	for _, c := range v.Matches {
		if got := MustParse(c.Scope).Matches(c.Tags, clock(c.Created), clock(c.Updated), clock(c.Now)); got != c.Want {
			t.Errorf("%s: got %v, want %v", c.Name, got, c.Want)
		}
	}
	if n := len(v.Scopes) + len(v.Meets) + len(v.Matches); n < 60 {
		t.Errorf("%d vectors of scopes", n)
	}
}

// TestBodyVectors: the bytes of a permission or request are one body with one id, or none.
func TestBodyVectors(t *testing.T) {
	var v struct {
		Bodies []struct {
			Name, What, Body, ID string
			Error                string // invalid: no reader takes these bytes
		}
	}
	vectors(t, "vectors-bodies", &v)
	for _, c := range v.Bodies {
		id, err := decoded(c.What, []byte(c.Body))
		switch {
		case c.Error == "" && (err != nil || id != c.ID):
			t.Errorf("%s: got %s, %v, want %s", c.Name, id, err, c.ID)
		case c.Error != "" && err == nil:
			t.Errorf("%s: got %s, want a refusal", c.Name, id)
		}
	}
	if len(v.Bodies) < 40 {
		t.Errorf("%d vectors of bodies", len(v.Bodies))
	}
}

// decoded opens bytes as a body and encodes what it read again.
func decoded(what string, b []byte) (string, error) {
	switch what {
	case "permission":
		return decodedAs[Permission](b)
	case "loanrequest":
		return decodedAs[LoanRequest](b)
	case "readrequest":
		return decodedAs[ReadRequest](b)
	}
	return "", errors.New("no such body")
}

func decodedAs[T envelope.Body](b []byte) (string, error) {
	v, err := envelope.Decode[T](envelope.Envelope{Type: (*new(T)).Payload(), Body: b})
	if err != nil {
		return "", err
	}
	again, err := envelope.Marshal(v)
	if err == nil && !bytes.Equal(again, b) {
		err = errors.New("encoded again it is other bytes")
	}
	return envelope.IDOf(again).String(), err
}

func vectors(t *testing.T, name string, v any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatal(err)
	}
}

func compacted(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
