package didweb_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"testing"

	"trustnode/did"
	"trustnode/did/didweb"
)

type cases struct {
	URL                 []struct{ DID, URL string }
	RejectBeforeRequest []string `json:"reject_before_request"`
}

func readCases(t testing.TB) cases {
	t.Helper()
	b, err := os.ReadFile("testdata/did-web-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var c cases
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func parse(s string) (didweb.Identifier, error) {
	d, err := did.Parse(s)
	if err != nil {
		return didweb.Identifier{}, err
	}
	return didweb.ParseIdentifier(d)
}

func TestIdentifierVectors(t *testing.T) {
	c := readCases(t)
	if len(c.URL) != 6 || len(c.RejectBeforeRequest) != 19 {
		t.Fatalf("%d places and %d refusals, expected 6 and 19", len(c.URL), len(c.RejectBeforeRequest))
	}
	for _, v := range c.URL {
		if id, err := parse(v.DID); err != nil || id.URL() != v.URL {
			t.Errorf("%s: got %s, %v, want %s", v.DID, id.URL(), err, v.URL)
		}
	}
	for _, s := range c.RejectBeforeRequest {
		if id, err := parse(s); err == nil {
			t.Errorf("%s is accepted as %s", s, id.URL())
		} else if !errors.Is(err, didweb.ErrIdentifier) && !errors.Is(err, did.ErrSyntax) {
			t.Errorf("%s: %v is neither refusal", s, err)
		}
	}
}

// TestDIDKeepsItsSpelling is public report B-6: a port in a DID, and what must not happen to it.
func TestDIDKeepsItsSpelling(t *testing.T) {
	const text = "did:web:domain%3A1100:api:v1"
	d := did.MustParse(text)
	id, err := didweb.ParseIdentifier(d)
	if err != nil || id.URL() != "https://domain:1100/api/v1/did.json" {
		t.Errorf("got %s, %v", id.URL(), err)
	}
	raw := document(text, method(text, "k", k1), "k")
	r, err := didweb.Resolver{}.Resolve(t.Context(), d, did.Material{Log: raw}, did.Options{Now: at.Time()})
	if err != nil || r.DID.String() != text || r.Document.ID().String() != text {
		t.Errorf("got %s with a document of %s, %v", r.DID, r.Document.ID(), err)
	}
	// Lower-case hex is the same place and another DID; the document of one is no document of the other.
	other := did.MustParse("did:web:domain%3a1100:api:v1")
	if again, err := didweb.ParseIdentifier(other); err != nil || again.URL() != id.URL() {
		t.Errorf("got %s, %v", again.URL(), err)
	}
	if _, err := (didweb.Resolver{}).Resolve(t.Context(), other, did.Material{Log: raw}, did.Options{}); name(err) != did.InvalidDIDDocument {
		t.Errorf("got %v, want %s", err, did.InvalidDIDDocument)
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	for _, s := range []string{"did:webvh:example.com", "did:key:z6Mk", "did:we:example.com"} {
		if _, err := parse(s); !errors.Is(err, didweb.ErrIdentifier) {
			t.Errorf("%s: got %v, want ErrIdentifier", s, err)
		}
	}
	if _, err := didweb.ParseIdentifier(did.DID{}); !errors.Is(err, didweb.ErrIdentifier) {
		t.Errorf("the zero DID: got %v, want ErrIdentifier", err)
	}
}

func FuzzParseIdentifier(f *testing.F) {
	c := readCases(f)
	for _, v := range c.URL {
		f.Add(v.DID)
	}
	for _, s := range c.RejectBeforeRequest {
		f.Add(s)
	}
	f.Add("did:web:domain%3A1100:api:v1")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := parse(s)
		if err != nil {
			return
		}
		u, err := url.Parse(id.URL())
		if err != nil || u.Scheme != "https" || u.Hostname() != id.Host || u.User != nil || u.RawQuery != "" {
			t.Fatalf("%q leads to %s, %v", s, id.URL(), err)
		}
		if d := did.MustParse(s); d.String() != s {
			t.Fatalf("%q became %q", s, d)
		}
	})
}
