package did_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"trustnode/did"
)

func readJSON(t testing.TB, name string, v any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// syntax returns the accepted and refused DIDs of both collections.
func syntax(t testing.TB) (good, bad []string) {
	var local struct{ Valid, Invalid []string }
	readJSON(t, "local/did-syntax.json", &local)
	var w3c struct {
		Positive []string
		Negative map[string][]string
	}
	readJSON(t, "did-core/w3c-did-syntax.json", &w3c)
	bad = local.Invalid
	for _, list := range w3c.Negative {
		bad = append(bad, list...)
	}
	return append(local.Valid, w3c.Positive...), bad
}

func TestDIDSyntaxVectors(t *testing.T) {
	good, bad := syntax(t)
	if len(good) != 8+2 || len(bad) != 16+6 {
		t.Fatalf("%d good and %d bad, expected 10 and 22", len(good), len(bad))
	}
	for _, s := range good {
		d, err := did.Parse(s)
		if err != nil || d.String() != s {
			t.Errorf("Parse(%q) = %q, %v", s, d, err)
		}
	}
	for _, s := range bad {
		if d, err := did.Parse(s); !errors.Is(err, did.ErrSyntax) || !d.IsZero() {
			t.Errorf("Parse(%q) = %q, %v; want ErrSyntax", s, d, err)
		}
	}
}

func TestDIDIsKeptByteForByte(t *testing.T) {
	upper, lower := did.MustParse("did:web:a%3A80"), did.MustParse("did:web:a%3a80")
	if upper == lower {
		t.Error("two spellings of one escape are one DID")
	}
	if got := [2]string{upper.Method(), upper.ID()}; got != [2]string{"web", "a%3A80"} {
		t.Errorf("method and id = %q", got)
	}
	var zero did.DID
	if zero.Method() != "" || zero.ID() != "" || zero.String() != "" || !zero.IsZero() {
		t.Error("the zero DID has parts")
	}
	if _, err := zero.MarshalText(); err == nil {
		t.Error("the zero DID has a text")
	}
	b, err := json.Marshal(upper)
	if err != nil {
		t.Fatal(err)
	}
	var again did.DID
	if err := json.Unmarshal(b, &again); err != nil || again != upper {
		t.Errorf("%s read as %v, %v", b, again, err)
	}
	if err := json.Unmarshal([]byte(`"did:web"`), &again); !errors.Is(err, did.ErrSyntax) || again != upper {
		t.Errorf("a bad text left %v, %v", again, err)
	}
}

func TestDIDCapIsCheckedFirst(t *testing.T) {
	for _, c := range []struct {
		name, prefix string
		limit        int
	}{
		{"any method", "did:example:", did.MaxDID}, {"did:peer:2", "did:peer:2", did.MaxDID}, {"did:peer:4", "did:peer:4", did.MaxLongDID},
	} {
		t.Run(c.name, func(t *testing.T) {
			full := c.prefix + strings.Repeat("x", c.limit-len(c.prefix))
			if _, err := did.Parse(full); err != nil {
				t.Errorf("at the cap: %v", err)
			}
			if _, err := did.Parse(full + "x"); !errors.Is(err, did.ErrTooLarge) {
				t.Errorf("above the cap: %v", err)
			}
			if _, err := did.ParseURL(full + "x#k"); !errors.Is(err, did.ErrTooLarge) {
				t.Errorf("above the cap, with a fragment: %v", err)
			}
			tail := "#" + strings.Repeat("x", did.MaxURLTail-1)
			if _, err := did.ParseURL(full + tail); err != nil {
				t.Errorf("URL at the cap: %v", err)
			}
			if _, err := did.ParseURL(full + tail + "x"); !errors.Is(err, did.ErrTooLarge) {
				t.Errorf("URL above the cap: %v", err)
			}
		})
	}
}

func TestURLIsTakenApart(t *testing.T) {
	for _, c := range []struct{ url, did, path, query, fragment string }{
		{"did:a:b", "did:a:b", "", "", ""},
		{"did:a:b#k", "did:a:b", "", "", "k"},
		{"did:a:b/p/q?x=1&y=/?#f/?", "did:a:b", "/p/q", "x=1&y=/?", "f/?"},
		{"did:a:b?versionId=2-Qm", "did:a:b", "", "versionId=2-Qm", ""},
		{"did:a:b/", "did:a:b", "/", "", ""},
		{"did:a:b?#", "did:a:b", "", "", ""},
		{"did:a:b?#f", "did:a:b", "", "", "f"},
		{"did:a:b/%41;v=(1)!$&'*+,@:~#%2F", "did:a:b", "/%41;v=(1)!$&'*+,@:~", "", "%2F"},
	} {
		u, err := did.ParseURL(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		got := [5]string{u.String(), u.DID().String(), u.Path(), u.Query(), u.Fragment()}
		if want := [5]string{c.url, c.did, c.path, c.query, c.fragment}; got != want {
			t.Errorf("parts = %q\nwant    %q", got, want)
		}
	}
	for _, s := range []string{
		"", "did:a", "did:a:", "did:a:b#k#k", "did:a:b# ", "did:a:b/\x00", "did:a:b?ü", "did:a:b/%4", "did:a:b#<", "#k", "did:a:b\n", "did:a:b[1]", `did:a:b#"`,
	} {
		if u, err := did.ParseURL(s); !errors.Is(err, did.ErrSyntax) || !u.IsZero() {
			t.Errorf("ParseURL(%q) = %v, %v; want ErrSyntax", s, u, err)
		}
	}
	if u, err := did.MustParse("did:a:b").URL("k"); err != nil || u.String() != "did:a:b#k" {
		t.Errorf("URL = %v, %v", u, err)
	}
	if _, err := did.MustParse("did:a:b").URL("k k"); !errors.Is(err, did.ErrSyntax) {
		t.Errorf("a fragment with a space: %v", err)
	}
}

func TestFragmentsThatMayNameAKey(t *testing.T) {
	for s, want := range map[string]bool{
		"key-1": true, "z6Mk": true, "a/b?c": true, "%41": true, strings.Repeat("x", 1024): true,
		"": false, "a b": false, "a#b": false, "%4": false, "ü": false, `"`: false, `\`: false, strings.Repeat("x", 1025): false,
	} {
		if got := did.IsFragment(s); got != want {
			t.Errorf("IsFragment(%.20q) = %v", s, got)
		}
	}
}

func TestResolutionErrorsNameTheirType(t *testing.T) {
	err := error(&did.ResolutionError{Name: did.InvalidDID, Detail: "length", Err: did.ErrKeyLength})
	if !errors.Is(err, did.ErrKeyLength) || err.Error() != "INVALID_DID: length: wrong public key length" {
		t.Errorf("error = %v", err)
	}
	for name, want := range map[did.ErrorName]string{
		did.NotFound: "https://www.w3.org/ns/did#NOT_FOUND", did.Forked: "urn:trustnode:error:forked",
	} {
		if got := name.URI(); got != want {
			t.Errorf("URI = %s, want %s", got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	good, bad := syntax(f)
	for _, s := range append(good, bad...) {
		f.Add(s)
		f.Add(s + "/p?q#f")
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := did.Parse(s); err == nil && (d.String() != s || "did:"+d.Method()+":"+d.ID() != s) {
			t.Fatalf("%q became %q", s, d)
		}
		u, err := did.ParseURL(s)
		if err != nil {
			return
		}
		if _, err := did.Parse(u.DID().String()); err != nil {
			t.Fatalf("the DID of %q does not parse: %v", s, err)
		}
		if !strings.HasPrefix(s, u.DID().String()+u.Path()) || !strings.HasSuffix(s, u.Fragment()) || !strings.Contains(s, u.Query()) {
			t.Fatalf("%q fell into %q %q %q %q", s, u.DID(), u.Path(), u.Query(), u.Fragment())
		}
	})
}
