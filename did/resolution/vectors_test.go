package resolution_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/resolution"
)

type suiteInputs struct {
	HTTP []struct {
		Path, Error, ContentType string
		Status                   int
	}
	Accept []string `json:"accept_non_ascii_must_be_400"`
}

func TestSuiteInputs(t *testing.T) {
	var in suiteInputs
	readJSON(t, "did-resolution-suite-inputs.json", &in)
	if len(in.HTTP) != 5 || len(in.Accept) != 5 {
		t.Fatalf("%d HTTP cases and %d Accept values", len(in.HTTP), len(in.Accept))
	}
	s := service(stored(held(t, example, document)))
	for _, c := range in.HTTP {
		path := resolution.Endpoint + strings.Replace(c.Path[1:], "<valid did>", example, 1)
		w := get(s, path, "")
		if w.Code != c.Status {
			t.Errorf("%s: status %d, want %d", path, w.Code, c.Status)
		}
		if c.Status != http.StatusOK {
			if typ, _, _ := problem(t, w.Body.Bytes()); c.Error != "" && typ != did.ErrorBase+c.Error {
				t.Errorf("%s: error %q, want %s", path, typ, c.Error)
			}
			continue
		}
		if got := w.Header().Get("Content-Type"); got != c.ContentType || got == "" {
			t.Errorf("%s: content type %q", path, got)
		}
		var v struct {
			DidDocument           struct{ ID string }
			DidResolutionMetadata struct{ ContentType string }
			DidDocumentMetadata   map[string]any
		}
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.DidDocument.ID != example || v.DidResolutionMetadata.ContentType != "application/did" || v.DidDocumentMetadata == nil {
			t.Errorf("%s: got %+v", path, v)
		}
	}
	for _, a := range in.Accept {
		for how, w := range map[string]int{
			"field": get(s, resolution.Endpoint+example, a).Code,
			"query": get(s, resolution.Endpoint+example+"?accept="+url.QueryEscape(a), "").Code,
		} {
			if w != http.StatusBadRequest {
				t.Errorf("Accept %q as %s: status %d", a, how, w)
			}
		}
	}
}

type errorVectors struct {
	Base        string
	Errors      map[did.ErrorName]int
	Deactivated struct{ HTTP int }
	MediaTypes  struct{ Result, Document, Dereferencing string }
	Legacy      []string `json:"legacyErrorStrings"`
	Dereference []struct{ URL, Want string }
}

func TestErrorVectors(t *testing.T) {
	var v errorVectors
	readJSON(t, "did-resolution-errors.json", &v)
	if len(v.Errors) != 11 || v.Base != did.ErrorBase || len(v.Legacy) != 6 {
		t.Fatalf("%d names in %s, %d of old", len(v.Errors), v.Base, len(v.Legacy))
	}
	legacy := map[string]bool{}
	for n, status := range v.Errors {
		s := failing(&did.ResolutionError{Name: n, Detail: "why"})
		w := get(s, resolution.Endpoint+example, "")
		if typ, title, _ := problem(t, w.Body.Bytes()); w.Code != status || typ != v.Base+string(n) || title == "" {
			t.Errorf("%s: status %d, want %d; %s %q", n, w.Code, status, typ, title)
		}
		var old struct{ DidResolutionMetadata struct{ Error string } }
		if err := json.Unmarshal(get(s, resolution.Endpoint+example, "application/did+ld+json").Body.Bytes(), &old); err != nil {
			t.Errorf("%s: %v", n, err)
		}
		legacy[old.DidResolutionMetadata.Error] = true
	}
	for _, w := range v.Legacy {
		if !legacy[w] {
			t.Errorf("no error is %s for an old client", w)
		}
	}
	if len(legacy) != len(v.Legacy) {
		t.Errorf("an old client is told words it does not know: %v", legacy)
	}
	m := v.MediaTypes
	if m.Result != resolution.MediaResult || m.Document != resolution.MediaDocument || m.Dereferencing != resolution.MediaDereferencing {
		t.Errorf("media types are %+v", m)
	}
	gone := did.Resolution{DID: did.MustParse(example), Version: "3-QmC", State: did.Deactivated}
	if w := get(service(stored(gone)), resolution.Endpoint+example, ""); w.Code != v.Deactivated.HTTP || w.Code != 410 {
		t.Errorf("deactivated: %d", w.Code)
	}
}

func TestDereferenceVectors(t *testing.T) {
	var v errorVectors
	readJSON(t, "did-resolution-errors.json", &v)
	if len(v.Dereference) != 2 {
		t.Fatalf("%d rows", len(v.Dereference))
	}
	s := service(stored(held(t, example, document)))
	first := get(s, resolution.Endpoint+url.QueryEscape(v.Dereference[0].URL), "")
	if first.Code != 200 || !bytes.Contains(first.Body.Bytes(), []byte(method1)) {
		t.Errorf("row 1: %d %s", first.Code, first.Body)
	}
	second := get(s, resolution.Endpoint+url.QueryEscape(v.Dereference[1].URL), "")
	if typ, _, _ := problem(t, second.Body.Bytes()); second.Code != 501 || name(typ) != did.FeatureNotSupported {
		t.Errorf("row 2: %d %s", second.Code, second.Body)
	}
}
