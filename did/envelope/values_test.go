package envelope_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/envelope"
)

func TestTimeHasOneSpelling(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"2026-12-01T10:00:00Z", true}, {"2024-02-29T00:00:00Z", true}, {"0001-01-01T00:00:01Z", true},
		{"9999-12-31T23:59:59Z", true}, {"1969-12-31T23:59:59Z", true},
		{"0001-01-01T00:00:00Z", false}, {"0000-12-31T00:00:00Z", false}, {"2025-02-29T00:00:00Z", false},
		{"2026-12-01T24:00:00Z", false}, {"2026-12-01T10:60:00Z", false}, {"2026-12-31T23:59:60Z", false},
		{"2026-13-01T10:00:00Z", false}, {"2026-00-01T10:00:00Z", false}, {"2026-01-00T10:00:00Z", false},
		{"2026-12-01t10:00:00Z", false}, {"2026-12-01T10:00:00z", false}, {"2026-12-01 10:00:00Z", false},
		{"2026-12-01T10:00:00+00:00", false}, {"2026-12-01T10:00:00.5Z", false}, {"+026-12-01T10:00:00Z", false},
		{"", false}, {"2026-12-01T10:00:00", false},
	} {
		got, err := envelope.ParseTime(c.text)
		if (err == nil) != c.ok {
			t.Errorf("ParseTime(%q): %v", c.text, err)
		}
		if c.ok && (got.String() != c.text || envelope.TimeOf(got.Time()) != got) {
			t.Errorf("%q became %q", c.text, got)
		}
	}
}

func TestTimeIsCutToSecondsAndCompares(t *testing.T) {
	now := time.Date(2026, 12, 1, 11, 0, 0, 999, time.FixedZone("", 3600))
	got := envelope.TimeOf(now)
	if want := at(t, "2026-12-01T10:00:00Z"); got != want {
		t.Fatalf("TimeOf = %v, want %v", got, want)
	}
	later := got.Add(90*time.Second + 999*time.Millisecond)
	if want := at(t, "2026-12-01T10:01:30Z"); later != want || later.Sub(got) != 90*time.Second {
		t.Errorf("later = %v, want %v", later, want)
	}
	if !got.Before(later) || !later.After(got) || got.Compare(later) != -1 || got.Unix() != 1796119200 {
		t.Errorf("%v and %v compare wrongly; unix %d", got, later, got.Unix())
	}
	var zero envelope.Time
	for name, v := range map[string]envelope.Time{
		"the zero time": envelope.TimeOf(time.Time{}), "the year 10000": envelope.TimeOf(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)),
		"zero and an hour": zero.Add(time.Hour), "beyond the end": at(t, "9999-12-31T23:59:59Z").Add(time.Second),
	} {
		if !v.IsZero() || v.String() != "" || !v.Time().IsZero() {
			t.Errorf("%s is %v", name, v)
		}
		if _, err := v.MarshalText(); err == nil {
			t.Errorf("%s has a text", name)
		}
	}
}

func TestTimeIsATextEverywhere(t *testing.T) {
	want := at(t, "2026-12-01T10:00:00Z")
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got envelope.Time
	if err := json.Unmarshal(b, &got); err != nil || got != want {
		t.Errorf("%s read as %v, %v", b, got, err)
	}
	if err := json.Unmarshal([]byte(`"2026-12-01"`), &got); err == nil || got != want {
		t.Errorf("a bad text left %v, %v", got, err)
	}
}

func TestErrorsSayWhereAndWhat(t *testing.T) {
	for want, err := range map[string]error{
		"borrower: duplicate key":           &envelope.FormError{Path: "borrower", What: "duplicate key"},
		"bytes after the end":               &envelope.FormError{What: "bytes after the end"},
		`payload type is "a", expected "b"`: &envelope.TypeError{Got: "a", Want: "b"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("error = %s, want %s", got, want)
		}
	}
}

func TestIDHasOneSpelling(t *testing.T) {
	const text = "zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn"
	v := id(t, text)
	if v.String() != text || envelope.IDFromSum(v.Sum()) != v || v.IsZero() {
		t.Errorf("%s became %s", text, v)
	}
	for name, s := range map[string]string{
		"empty": "", "no prefix": text[1:], "another base": "u" + text[1:], "a byte more": text + "1", "a byte less": text[:46],
		"a zero in front": "z1" + text[1:], "a foreign letter": text[:46] + "0", "another hash": "z" + did.Base58(append([]byte{0x13, 0x20}, make([]byte, 32)...)),
		"another length": "z" + did.Base58(append([]byte{0x12, 0x1f}, make([]byte, 32)...)),
		"zeros":          "z" + did.Base58(append([]byte{0x12, 0x20}, make([]byte, 32)...)),
	} {
		if _, err := envelope.ParseID(s); err == nil {
			t.Errorf("%s: %q is an id", name, s)
		}
	}
	var zero envelope.ID
	if _, err := zero.MarshalText(); err == nil || zero.String() != "" || !zero.IsZero() {
		t.Error("the zero id has a text")
	}
	if err := zero.UnmarshalText([]byte(text)); err != nil || zero != v {
		t.Errorf("UnmarshalText: %v, %v", zero, err)
	}
}

func TestTypeNamesOneObject(t *testing.T) {
	if got := envelope.TypeOf("readrequest"); got != "application/vnd.trustnode.readrequest.v1+json" || got.What() != "readrequest" {
		t.Errorf("type = %s, what = %s", got, got.What())
	}
	for _, s := range []envelope.Type{
		"", "application/json", "application/vnd.trustnode..v1+json", "application/vnd.trustnode.x.v2+json",
		"application/vnd.trustnode.X.v1+json", "application/vnd.trustnode.v1+json",
		envelope.Type("application/vnd.trustnode." + strings.Repeat("x", 99) + ".v1+json"),
	} {
		if s.What() != "" {
			t.Errorf("%s is of type %q", s, s.What())
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("TypeOf took a bad name")
		}
	}()
	envelope.TypeOf("Read")
}
