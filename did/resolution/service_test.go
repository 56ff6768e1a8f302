package resolution_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/interop"
	"trustnode/did/resolution"
)

func TestOutcomes(t *testing.T) {
	r := func(n did.ErrorName, err error) error { return &did.ResolutionError{Name: n, Err: err} }
	for _, c := range []struct {
		name string
		err  error
		want resolution.Outcome
	}{
		{"a document held", nil, resolution.Outcome{Status: 200, Exit: 0}},
		{"a malformed DID", r(did.InvalidDID, did.ErrSyntax), resolution.Outcome{Status: 400, Code: "invalid", Exit: 2}},
		{"a log that does not verify", r(did.InvalidDID, fmt.Errorf("entry 3: %w", did.ErrUnverified)), resolution.Outcome{Status: 400, Code: "invalid", Exit: 4}},
		{"a malformed URL", r(did.InvalidDIDURL, nil), resolution.Outcome{Status: 400, Code: "invalid", Exit: 2}},
		{"an option", r(did.InvalidOptions, nil), resolution.Outcome{Status: 400, Code: "invalid", Exit: 2}},
		{"an unknown method", r(did.MethodNotSupported, nil), resolution.Outcome{Status: 501, Code: "invalid", Exit: 2}},
		{"an unknown feature", r(did.FeatureNotSupported, nil), resolution.Outcome{Status: 501, Code: "invalid", Exit: 2}},
		{"a type that is not had", r(did.RepresentationNotSupported, nil), resolution.Outcome{Status: 406, Code: "invalid", Exit: 2}},
		{"a bad document", r(did.InvalidDIDDocument, did.ErrUnverified), resolution.Outcome{Status: 500, Code: "invalid", Exit: 4}},
		{"a method that is none", r(did.InvalidVerificationMethod, nil), resolution.Outcome{Status: 500, Code: "invalid", Exit: 4}},
		{"another relationship", r(did.InvalidRelationship, nil), resolution.Outcome{Status: 500, Code: "invalid", Exit: 4}},
		{"nobody has it", r(did.NotFound, nil), resolution.Outcome{Status: 404, Code: "not_found", Exit: 1}},
		{"a source has nothing", fmt.Errorf("store: %w", did.ErrAbsent), resolution.Outcome{Status: 404, Code: "not_found", Exit: 1}},
		{"no answer and no copy", r(did.InternalError, did.ErrUnavailable), resolution.Outcome{Status: 500, Code: "unavailable", Exit: 1}},
		{"a source gave no answer", did.ErrUnavailable, resolution.Outcome{Status: 500, Code: "unavailable", Exit: 1}},
		{"two continuations", r(did.Forked, nil), resolution.Outcome{Status: 500, Code: "forked", Exit: 3}},
		{"a typed error within another", fmt.Errorf("ring: %w", r(did.Forked, nil)), resolution.Outcome{Status: 500, Code: "forked", Exit: 3}},
		{"an error of this machine", errors.New("disk"), resolution.Outcome{Status: 500, Code: "internal", Exit: 1}},
		{"a name that is none", r("urn:x", nil), resolution.Outcome{Status: 500, Code: "internal", Exit: 1}},
		{"the deadline", context.DeadlineExceeded, resolution.Outcome{Status: 500, Code: "internal", Exit: 1}},
	} {
		if got := resolution.OutcomeOf(c.err); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	gone := did.Resolution{DID: did.MustParse("did:example:a"), State: did.Deactivated}
	a := service(stored(gone)).Text(t.Context(), "did:example:a")
	if want := (resolution.Outcome{Status: 410, Exit: 3}); a.Outcome != want || a.Err != nil {
		t.Errorf("deactivated: got %+v, %v", a.Outcome, a.Err)
	}
}

// TestUnsoundResults: what a resolver gets wrong never reaches a caller as an answer.
func TestUnsoundResults(t *testing.T) {
	d := did.MustParse("did:example:a")
	good := held(t, "did:example:a", small)
	with := func(change func(*did.Resolution)) did.Resolution {
		r := good
		change(&r)
		return r
	}
	other := held(t, "did:example:b", `{"id":"did:example:b"}`)
	for _, c := range []struct {
		name  string
		found did.Resolution
		want  did.ErrorName
	}{
		{"nothing", did.Resolution{}, did.InternalError},
		{"no state", with(func(r *did.Resolution) { r.State = 0 }), did.InternalError},
		{"a state nobody knows", with(func(r *did.Resolution) { r.State = 9 }), did.InternalError},
		{"no bytes", with(func(r *did.Resolution) { r.Raw = nil }), did.InternalError},
		{"no document", with(func(r *did.Resolution) { r.Document = did.Document{} }), did.InternalError},
		{"another DID", other, did.InternalError},
		{"the document of another DID under this one", with(func(r *did.Resolution) { r.Document, r.Raw = other.Document, other.Raw }), did.InternalError},
		{"frozen", with(func(r *did.Resolution) { r.State = did.Frozen }), did.Forked},
	} {
		var told error
		s := service(func(context.Context, did.DID, did.Options) (did.Resolution, error) { return c.found, nil })
		s.Failed = func(_ context.Context, err error) { told = err }
		for _, ask := range []string{"did:example:a", "did%3Aexample%3Aa%23k"} {
			a := s.Get(t.Context(), ask, "", "application/did")
			if a.Err == nil || a.Err.Name != c.want || a.Status < 400 || strings.Contains(string(a.Body), small) {
				t.Errorf("%s: got %d %s", c.name, a.Status, a.Body)
			}
		}
		if (told != nil) != (c.want == did.InternalError) {
			t.Errorf("%s: told %v", c.name, told)
		}
	}
	// A document left beside a deactivation is not sent.
	a := service(stored(with(func(r *did.Resolution) { r.State = did.Deactivated }))).Get(t.Context(), d.String(), "", "")
	if a.Status != 410 || !strings.HasPrefix(string(a.Body), `{"didDocument":null,`) {
		t.Errorf("deactivated with a document: %d %s", a.Status, a.Body)
	}
	if a := service(stored(good)).Answer(t.Context(), resolution.Request{}); a.Err == nil || a.Err.Name != did.InvalidDID {
		t.Errorf("the zero request: %v", a.Err)
	}
}

func TestPanicBecomesAnAnswer(t *testing.T) {
	good := stored(held(t, "did:example:a", small))
	for name, s := range map[string]resolution.Service{
		"Resolve":     service(func(context.Context, did.DID, did.Options) (did.Resolution, error) { panic("seed z6Mk") }),
		"ConfirmedBy": {Resolve: good, Now: now, ConfirmedBy: func(did.Resolution) string { panic("seed z6Mk") }},
		"Now":         {Resolve: good, Now: func() time.Time { panic("seed z6Mk") }},
	} {
		var told error
		s.Failed = func(_ context.Context, err error) { told = err }
		w := get(s, resolution.Endpoint+"did:example:a", "")
		if w.Code != 500 || strings.Contains(w.Body.String(), "seed") || told == nil || !strings.Contains(told.Error(), "seed") {
			t.Errorf("%s: got %d %s, told %v", name, w.Code, w.Body, told)
		}
		if !strings.Contains(told.Error(), "TestPanicBecomesAnAnswer") {
			t.Errorf("%s: no stack: %v", name, told)
		}
	}
}

func TestHandler(t *testing.T) {
	s := service(stored(held(t, example, document)))
	h := resolution.Handler(s)
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", "PATCH"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, resolution.Endpoint+example, nil))
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" || w.Body.Len() != 0 {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("HEAD", resolution.Endpoint+example, nil))
	full := get(s, resolution.Endpoint+example, "")
	if w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("Content-Length") != fmt.Sprint(full.Body.Len()) {
		t.Errorf("HEAD: %d %v %s", w.Code, w.Header(), w.Body)
	}
	if full.Header().Get("Cache-Control") != "" || full.Header().Get("Vary") != "Accept" || full.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("found: %v", full.Header())
	}
	if w := get(s, resolution.Endpoint+"did:example:b", ""); w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("not found: %v", w.Header())
	}
	for name, s := range map[string]resolution.Service{"no Resolve": {Now: now}, "no Now": {Resolve: s.Resolve}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: served", name)
				}
			}()
			resolution.Handler(s)
		}()
	}
}

// TestOverTheWire goes through net/http and its mux, which decode paths on their own.
func TestOverTheWire(t *testing.T) {
	const web = "did:web:domain%3A1100:api:v1"
	var asked []string
	s := service(func(_ context.Context, d did.DID, o did.Options) (did.Resolution, error) {
		if !o.Now.Equal(present) {
			t.Errorf("asked at %v", o.Now)
		}
		asked = append(asked, d.String())
		return held(t, d.String(), `{"id":"`+d.String()+`"}`), nil
	})
	mux := http.NewServeMux()
	mux.Handle(resolution.Endpoint, resolution.Handler(s))
	mux.Handle("/stripped/", http.StripPrefix("/stripped", resolution.Handler(s)))
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, path := range []string{
		resolution.Endpoint + "did:web:domain%3A1100:api:v1",
		resolution.Endpoint + "did%3Aweb%3Adomain%253A1100%3Aapi%3Av1",
		resolution.Endpoint + "did%3Aweb%3Adomain%253A1100%3Aapi%3Av1?versionId=2-Qm",
		resolution.Endpoint + "did:web:domain%3A1100:api:v1?versionId=2-Qm",
		"/stripped/did:web:domain%3A1100:api:v1",
		"/stripped/did%3Aweb%3Adomain%253A1100%3Aapi%3Av1",
	} {
		res, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if len(asked) != 1 || asked[0] != web || res.StatusCode != 200 {
			t.Errorf("%s: %d, asked for %q", path, res.StatusCode, asked)
		}
		asked = nil
	}
}

func TestCancelledRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := service(func(ctx context.Context, d did.DID, _ did.Options) (did.Resolution, error) {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("no deadline")
		}
		cancel()
		<-ctx.Done()
		return did.Resolution{}, ctx.Err()
	})
	w := httptest.NewRecorder()
	resolution.Handler(s).ServeHTTP(w, httptest.NewRequest("GET", resolution.Endpoint+"did:example:a", nil).WithContext(ctx))
	if w.Code != 500 {
		t.Errorf("got %d", w.Code)
	}
}

// registry resolves did:key, and did:webvh from the logs in testdata, through the frame.
func registry(t testing.TB) (resolution.Service, map[string]didwebvh.History) {
	t.Helper()
	logs, histories := map[did.DID]did.Material{}, map[string]didwebvh.History{}
	for _, name := range []string{"basic-update", "deactivate", "portable-move"} {
		log, err := os.ReadFile("testdata/log/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		h, err := didwebvh.Verify(log, nil, present)
		if err != nil {
			t.Fatal(err)
		}
		histories[name] = h
		first, _ := h.At(1)
		logs[first.Document.ID()], logs[h.DID()] = did.Material{Log: log}, did.Material{Log: log}
	}
	r := interop.New(didkey.Resolver{}, didwebvh.Resolver{})
	return service(func(ctx context.Context, d did.DID, o did.Options) (did.Resolution, error) {
		return r.Resolve(ctx, d.String(), logs[d], o)
	}), histories
}

// fragment names the first verification method of a document.
func fragment(d did.Document) string {
	_, f, _ := strings.Cut(d.Methods()[0].ID, "#")
	return f
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func TestWithMethods(t *testing.T) {
	s, logs := registry(t)
	update, moved := logs["basic-update"], logs["portable-move"]
	one, _ := update.At(1)
	old, _ := moved.At(1)
	const key = "did:key:z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S"
	for _, c := range []struct {
		name, text string
		exit       int
		has        string
	}{
		{"did:key", key, 0, `"didDocumentMetadata":{},"didResolutionMetadata":{"contentType":"application/did","trustnode":{"age_s":"0","state":"held","version":"static"`},
		{"its one method", key + "#z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S", 0, `{"content":{"controller":"` + key + `"`},
		{"a version of what has none", key + "?versionNumber=1", 2, "INVALID_OPTIONS"},
		{"a bad key", "did:key:z6Mkeb4rtEhc8DUtvt5ehaVjdx3TLbQPpnTArkXhqfb1Mq75", 2, "INVALID_DID"},
		{"did:webvh", update.DID().String(), 0, `{"didDocument":` + string(update.Head().Document.Raw()) + `,"didDocumentMetadata":{"versionId":"` + update.Head().ID + `","created":"`},
		{"an earlier version", update.DID().String() + "?versionNumber=1", 0, string(one.Document.Raw()) + `,"didDocumentMetadata":{"versionId":"` + one.ID + `"`},
		{"by id", update.DID().String() + "?versionId=" + one.ID, 0, `"versionId":"` + one.ID + `"`},
		{"at a time", update.DID().String() + "?versionTime=" + one.Time.UTC().Format("2006-01-02T15:04:05Z"), 0, `"versionId":"` + one.ID + `"`},
		{"a version that is not there", update.DID().String() + "?versionNumber=3", 1, "NOT_FOUND"},
		{"a malformed identifier", "did:webvh:Qm:acme.example", 2, "INVALID_DID"},
		{"a log nobody has", strings.Replace(update.DID().String(), "example", "sample", 1), 1, "NOT_FOUND"},
		{"deactivated", logs["deactivate"].DID().String(), 3, `{"didDocument":null,"didDocumentMetadata":{"versionId":"2-`},
		{"under its new name", moved.DID().String(), 0, string(moved.Head().Document.Raw())},
		{"under the name it left", old.Document.ID().String(), 0, string(moved.Head().Document.Raw())},
		{"under the name it left, the name it has", old.Document.ID().String(), 0, `"canonicalId":"` + moved.DID().String() + `"}`},
		{"a key under the name it left", old.Document.ID().String() + "#" + fragment(moved.Head().Document), 0, `{"content":{`},
		{"a key of the name it left under its new one", moved.DID().String() + "?versionNumber=1#" + fragment(old.Document), 0, `{"content":{`},
		{"as it was before the move, under its new name", moved.DID().String() + "?versionNumber=1", 0, string(old.Document.Raw()) + `,"didDocumentMetadata":{"versionId":"` + old.ID + `","created":"` + stamp(old.Time) + `","updated":"` + stamp(old.Time) + `"`},
		{"as it was under that name", old.Document.ID().String() + "?versionNumber=1", 0, string(old.Document.Raw())},
		{"a method nobody has", "did:web:acme.example", 2, `"detail":"did:web; supported: key, webvh"`},
	} {
		a := s.Text(t.Context(), c.text)
		if a.Exit != c.exit || !strings.Contains(string(a.Body), c.has) {
			t.Errorf("%s: exit %d, want %d\n%s\nwant %s", c.name, a.Exit, c.exit, a.Body, c.has)
		}
	}
}
