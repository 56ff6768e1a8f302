package envelope_test

import (
	"testing"

	"github.com/gowebpki/jcs"

	"trustnode/did/envelope"
)

// addSeeds gives a fuzz target the golden vectors and some near misses.
func addSeeds(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.text)
	}
	for _, s := range []string{
		least, `"x"`, `true`, `0`, `[]`, `{"ext":{"":1,"😀":2,"Ａ":3}}`, `["\ude00\ud83d"]`, "[\"\xff\"]", `1152921504606846976`,
		`-0`, `{"a":"\u2028"}`, "\"e\u0301\"", `{"a":1,"a":1}`, `[1,]`, `{"b":1,"a":1}`, `"\/"`, `1e2`, `[[[[[[[[[]]]]]]]]]`,
	} {
		f.Add([]byte(s))
	}
}

// FuzzCanonical holds the reader against an independent RFC 8785 transform: what it accepts is its own canonical form.
func FuzzCanonical(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if envelope.Canonical(b, 8) == nil && envelope.CanonicalMultiline(b, 8) != nil {
			t.Fatalf("%q is canonical only without line feeds", b)
		}
		if envelope.CanonicalMultiline(b, 8) != nil {
			return
		}
		if c, err := jcs.Transform(b); err != nil || string(c) != string(b) {
			t.Fatalf("accepted %q\nRFC 8785 %q, %v", b, c, err)
		}
	})
}

// FuzzUnmarshal does the same for typed bodies, and wants what was read to be written back to the same bytes.
func FuzzUnmarshal(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		roundTrip(t, b, new(shapes))
		roundTrip(t, b, new(permission))
		roundTrip(t, b, new(readRequest))
		roundTrip(t, b, new(ballot))
	})
}

func roundTrip(t *testing.T, b []byte, v any) {
	t.Helper()
	if envelope.Unmarshal(b, v) != nil {
		return
	}
	if again, err := envelope.Marshal(v); err != nil || string(again) != string(b) {
		t.Fatalf("accepted %q\nwritten  %q, %v", b, again, err)
	}
	if c, err := jcs.Transform(b); err != nil || string(c) != string(b) {
		t.Fatalf("accepted %q\nRFC 8785 %q, %v", b, c, err)
	}
	if err := envelope.CanonicalMultiline(b, envelope.MaxDepth); err != nil {
		t.Fatalf("accepted %q, but Canonical says %v", b, err)
	}
}

func FuzzParseDSSE(f *testing.F) {
	addSeeds(f)
	e, _ := signed(f)
	f.Add(e.DSSE())
	f.Add(e.With(e.Signatures[0], envelope.Signature{KeyID: "a"}).DSSE())
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := envelope.ParseDSSE(b, 4096)
		if err == nil && string(e.DSSE()) != string(b) {
			t.Fatalf("accepted %q\nwritten  %q", b, e.DSSE())
		}
	})
}

func FuzzParseCompact(f *testing.F) {
	e, _ := signed(f)
	s, err := e.Compact()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s)
	f.Add("e30.AA")
	f.Fuzz(func(t *testing.T, s string) {
		e, err := envelope.ParseCompact(s, envelope.TypeOf("permission"), 4096)
		if err != nil {
			return
		}
		if again, err := e.Compact(); err != nil || again != s {
			t.Fatalf("accepted %q\nwritten  %q, %v", s, again, err)
		}
	})
}

func FuzzParseTime(f *testing.F) {
	f.Add("2026-12-01T10:00:00Z")
	f.Add("0001-01-01T00:00:01Z")
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := envelope.ParseTime(s); err == nil && v.String() != s {
			t.Fatalf("%q became %q", s, v)
		}
	})
}

func FuzzParseID(f *testing.F) {
	f.Add("zQmdUqbkEpxZ4vG1d6WerUMHNoFokip3gY9YEGtk2RhsEMn")
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := envelope.ParseID(s); err == nil && v.String() != s {
			t.Fatalf("%q became %q", s, v)
		}
	})
}
