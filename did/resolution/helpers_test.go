package resolution_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/resolution"
)

var present = time.Date(2026, 12, 20, 0, 0, 0, 0, time.UTC)

func now() time.Time { return present }

const example = "did:example:123456789abcdefghi"

// document is spelled as no encoder would, so that bytes that were written anew are seen.
const document = `{ "id":"did:example:123456789abcdefghi",
 "verificationMethod": [{"id":"#keys-1", "type":"Multikey","controller":"did:example:123456789abcdefghi","publicKeyMultibase":"z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S" ,"\u006eote":"é"},
  {"id":"did:example:123456789abcdefghi#ended","type":"Multikey","controller":"did:example:123456789abcdefghi","revoked":"2026-12-20T00:00:00Z","publicKeyMultibase":"z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"},
  {"id":"#broken","type":"Multikey","controller":"did:example:123456789abcdefghi","publicKeyMultibase":"z6Mk"},
  {"id":"#lent","type":"Multikey","controller":"did:example:other","publicKeyMultibase":"z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"},
  {"id":"did:example:other#keys-2","type":"Multikey","controller":"did:example:123456789abcdefghi","publicKeyMultibase":"z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"}],
 "assertionMethod":["#keys-1","#ended","#broken","#lent"],
 "authentication":[{"id":"#inside","type":"Multikey","controller":"did:example:123456789abcdefghi","publicKeyMultibase":"z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"}],
 "service":[{"id":"did:example:123456789abcdefghi#messages","type":"Messaging","serviceEndpoint":"https://example.com/messages/8377464"}] }`

// method1 is the first method as the document spells it.
const method1 = `{"id":"#keys-1", "type":"Multikey","controller":"did:example:123456789abcdefghi","publicKeyMultibase":"z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S" ,"\u006eote":"é"}`

func held(t testing.TB, d, raw string) did.Resolution {
	t.Helper()
	doc, err := did.ParseDocument([]byte(raw), did.MustParse(d))
	if err != nil {
		t.Fatal(err)
	}
	return did.Resolution{DID: did.MustParse(d), Document: doc, Raw: doc.Raw(), Version: "2-QmB", State: did.Held, Warnings: doc.Warnings()}
}

// stored answers for the DIDs it holds, and by name for what cannot be resolved.
func stored(all ...did.Resolution) resolution.Resolve {
	return func(_ context.Context, d did.DID, _ did.Options) (did.Resolution, error) {
		for _, r := range all {
			if r.DID == d {
				return r, nil
			}
		}
		if d.Method() == "unsupported" {
			return did.Resolution{}, &did.ResolutionError{Name: did.MethodNotSupported, Detail: "did:unsupported; supported: example"}
		}
		return did.Resolution{}, did.ErrAbsent
	}
}

func service(resolve resolution.Resolve) resolution.Service {
	return resolution.Service{Resolve: resolve, Now: now}
}

// failing answers every DID with err.
func failing(err error) resolution.Service {
	return service(func(context.Context, did.DID, did.Options) (did.Resolution, error) { return did.Resolution{}, err })
}

// get asks a handler over HTTP; accept "" sends no field.
func get(h resolution.Service, path, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	resolution.Handler(h).ServeHTTP(w, r)
	return w
}

// problem returns the error object of an answer, in either result.
func problem(t testing.TB, body []byte) (typ, title, detail string) {
	t.Helper()
	type metadata struct {
		Error struct{ Type, Title, Detail string }
	}
	var v struct{ DidResolutionMetadata, DereferencingMetadata metadata }
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	e := v.DidResolutionMetadata.Error
	if e.Type == "" {
		e = v.DereferencingMetadata.Error
	}
	return e.Type, e.Title, e.Detail
}

func readJSON(t testing.TB, file string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func name(uri string) did.ErrorName {
	return did.ErrorName(strings.TrimPrefix(uri, did.ErrorBase))
}
