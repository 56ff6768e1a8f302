package resolution_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"trustnode/did/resolution"
)

func TestAccept(t *testing.T) {
	const (
		result, doc, deref = resolution.MediaResult, resolution.MediaDocument, resolution.MediaDereferencing
		old, oldLD, oldDoc = resolution.MediaLegacyResult, resolution.MediaLegacyLD, resolution.MediaLegacyJSON
		bad, none          = "400", "406"
	)
	s := service(stored(held(t, example, document)))
	for _, c := range []struct{ name, accept, want string }{
		{"none", "", result},
		{"anything", "*/*", result},
		{"any application", "application/*", result},
		{"a browser", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", result},
		{"a result", "application/did-resolution", result},
		{"a document", "application/did", doc},
		{"a dereferenced resource", "application/did-url-dereferencing", deref},
		{"in capitals", "APPLICATION/DID", doc},
		{"the old result", `application/ld+json;profile="https://w3id.org/did-resolution"`, old},
		{"the old result, spaced", `application/ld+json ; profile="https://w3id.org/did-resolution"`, old},
		{"the old result with an escape in its quotes", `application/ld+json;profile="https:\/\/w3id.org/did-resolution"`, old},
		{"the old result without its profile", "application/ld+json", old},
		{"the old documents", "application/did+ld+json", oldLD},
		{"the old documents without JSON-LD", "application/did+json", oldDoc},
		{"another profile", `application/ld+json;profile="https://w3id.org/did"`, none},
		{"a profile on what has none", `application/did;profile="https://w3id.org/did-resolution"`, none},
		{"a parameter nobody has", "application/did;charset=utf-8", none},
		{"JSON", "application/json", none},
		{"a name that only begins alike", "application/didx", none},
		{"a list", "text/html, application/did", doc},
		{"the first of equals is ours to choose", "application/did, application/did-resolution", result},
		{"a weight", "application/did-resolution;q=0.5, application/did;q=0.9", doc},
		{"a weight in thousandths", "application/did-resolution;q=0.899, application/did;q=0.9", doc},
		{"a weight of one in four digits", "application/did-resolution;q=0.999, application/did;q=1.000", doc},
		{"a weight in capitals", "application/did-resolution;Q=0.5, application/did;Q=0.9", doc},
		{"not this one", "application/did-resolution;q=0, */*", deref},
		{"none of these", "*/*;q=0", none},
		{"none but one", "*/*;q=0, application/did", doc},
		{"the narrower range decides, not the heavier", "application/did;q=0.1, */*;q=0.5", result},
		{"the narrower range decides, whatever its place", "*/*;q=0.5, application/*;q=0.2, application/did;q=0.6", doc},
		{"the profile is narrower than the type", `application/ld+json;q=1, application/ld+json;profile="https://w3id.org/did-resolution";q=0`, none},
		{"an extension after the weight", "application/did;q=1;level=1", none},
		{"empty elements", ", ,application/did,,", doc},
		{"an empty parameter", "application/did;", doc},
		{"tabs", "\tapplication/did\t;\tq=1\t,", doc},
		{"only commas", ",,,", bad},
		{"a word", "fast", bad},
		{"no subtype", "application/", bad},
		{"no type", "/did", bad},
		{"three parts", "application/did/x", bad},
		{"any type of this name", "*/did", bad},
		{"a space inside", "application /did", bad},
		{"two without a comma", "application/did text/html", bad},
		{"a weight above one", "application/did;q=1.001", bad},
		{"a weight of two", "application/did;q=2", bad},
		{"a weight below none", "application/did;q=-1", bad},
		{"four decimals", "application/did;q=0.1234", bad},
		{"an exponent", "application/did;q=1e0", bad},
		{"no number", "application/did;q=", bad},
		{"a weight without its zero", "application/did;q=.5", bad},
		{"a parameter without value", "application/did;q", bad},
		{"a parameter without name", "application/did;=1", bad},
		{"an open quote", `application/ld+json;profile="x`, bad},
		{"an open escape", `application/ld+json;profile="x\`, bad},
		{"a fire", "\U0001f525", bad},
		{"a fire in quotes", "application/ld+json;profile=\"\U0001f525\"", bad},
		{"a zero-width space", "application/did\u200b", bad},
		{"a byte that is no UTF-8", "application/did\xff", bad},
		{"NUL", "application/did\x00", bad},
		{"a line end", "application/did\r\nX: y", bad},
		{"too many ranges", strings.Repeat("a/b,", 33), bad},
		{"as many as may be", strings.Repeat("a/b,", 31) + "*/*", result},
		{"too many parameters", "a/b" + strings.Repeat(";x=y", 9) + ",*/*", bad},
		{"too long", "application/did" + strings.Repeat(" ", 1100), bad},
		{"a megabyte", strings.Repeat("a", 1<<20), bad},
		{"quotes within quotes without end", "a/b;x=" + strings.Repeat(`"\"`, 300), bad},
	} {
		a := s.Get(t.Context(), example, "", c.accept)
		got := a.ContentType
		switch a.Status {
		case http.StatusBadRequest:
			got = bad
		case http.StatusNotAcceptable:
			got = none
		}
		if got != c.want {
			t.Errorf("%s: %.80q gives %s, want %s", c.name, c.accept, got, c.want)
		}
	}
}

func TestAcceptOfRequest(t *testing.T) {
	s := service(stored(held(t, example, document)))
	r := httptest.NewRequest("GET", resolution.Endpoint+example, nil)
	r.Header["Accept"] = []string{"application/did;q=0.5", "application/did-url-dereferencing"}
	w := httptest.NewRecorder()
	resolution.Handler(s).ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); got != resolution.MediaDereferencing {
		t.Errorf("two fields: %s", got)
	}
	w = get(s, resolution.Endpoint+example+"?accept=application/did%2Bjson", "application/did")
	if got := w.Header().Get("Content-Type"); got != resolution.MediaLegacyJSON {
		t.Errorf("the option goes before the field: %s", got)
	}
	w = get(s, resolution.Endpoint+example+"?accept=application/did", "\U0001f525")
	if w.Code != http.StatusOK {
		t.Errorf("a field that is not looked at: %d", w.Code)
	}
	for _, accept := range []string{"*/*", resolution.MediaDereferencing, resolution.MediaDocument, "application/*"} {
		w := get(s, resolution.Endpoint+"did%3Aexample%3A123456789abcdefghi%23keys-1", accept)
		if w.Code != 200 || w.Header().Get("Content-Type") == resolution.MediaResult {
			t.Errorf("%s of a method: %d %s", accept, w.Code, w.Header().Get("Content-Type"))
		}
	}
}
