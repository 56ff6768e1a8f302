package httpapi_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/resolution"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
	"trustnode/node/resolver/resolvertest"
)

const operatorToken = "tno_operator"

// identityDesk is a real server over a real ring; hosts are a shelf of files.
func identityDesk(t *testing.T, own resolvertest.Org) (desk, *resolvertest.Node) {
	t.Helper()
	n := resolvertest.NewNode(t, own)
	h := httpapi.New(httpapi.Services{Node: n.Node, Resolver: n.Resolver}, operatorToken, "test", slog.New(slog.DiscardHandler))
	return desk{t, h, operatorToken}, n
}

// result is the wire form of a resolution.
type result struct {
	Document json.RawMessage `json:"didDocument"`
	Content  json.RawMessage `json:"content"`
	Meta     struct {
		VersionID   string `json:"versionId"`
		Deactivated bool   `json:"deactivated"`
	} `json:"didDocumentMetadata"`
	Res struct {
		Error struct{ Type, Detail string } `json:"error"`
		Trust struct {
			State       string              `json:"state"`
			ConfirmedBy string              `json:"confirmed_by"`
			Age         string              `json:"age_s"`
			Warnings    []map[string]string `json:"warnings"`
		} `json:"trustnode"`
	} `json:"didResolutionMetadata"`
}

func read(t *testing.T, w *httptest.ResponseRecorder) (r result) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatalf("%d, not JSON (%v): %.300s", w.Code, err, w.Body)
	}
	return r
}

// encoded is a DID URL as it stands in the path: encoded as a whole.
func encoded(text string) string {
	return resolution.Endpoint + "did%3A" + url.PathEscape(strings.TrimPrefix(text, "did:"))
}

const aKey = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"

func TestIdentifiers(t *testing.T) {
	d, n := identityDesk(t, resolvertest.NewOrg(t, "acme"))
	beta := resolvertest.NewOrg(t, "beta").Rotate()
	n.Hold(beta)
	first := beta.H.Prefix(1).Head()
	ended := resolvertest.NewOrg(t, "ended").End()
	n.Hold(ended)
	forked := resolvertest.NewOrg(t, "forked")
	n.Hold(forked.Rotate())
	n.Hold(forked.As(1).Rotate())
	old := resolvertest.NewOrg(t, "moving")
	moved := old.Move("moved.example")
	n.Hold(old)
	n.Hold(moved)
	web := did.MustParse("did:web:gamma.example%3A8443:org")
	n.Pin(web, resolvertest.WebDocument(web, 1, "x"))
	bd := beta.DID().String()
	for _, c := range []struct {
		name, path, accept string
		status             int
		kind, version, err string
		holds              string
	}{
		{"its own", resolution.Endpoint + n.Org.String(), "", 200, resolution.MediaResult, n.Own.Head(), "", ""},
		{"its own, encoded", encoded(n.Org.String()), "", 200, resolution.MediaResult, n.Own.Head(), "", ""},
		{"a partner's", resolution.Endpoint + bd, "", 200, resolution.MediaResult, beta.Head(), "", beta.Issuer()},
		{"its document alone", resolution.Endpoint + bd, "application/did", 200, resolution.MediaDocument, "", "", beta.Issuer()},
		{"in the form of old", resolution.Endpoint + bd, "application/did+ld+json", 200, resolution.MediaLegacyLD, "", "", beta.Issuer()},
		{"the first version by number", resolution.Endpoint + bd + "?versionNumber=1", "", 200, resolution.MediaResult, first.ID, "", ""},
		{"the first version by id", resolution.Endpoint + bd + "?versionId=" + first.ID, "", 200, resolution.MediaResult, first.ID, "", ""},
		{"the first version by time", resolution.Endpoint + bd + "?versionTime=2025-12-01T11:00:00Z", "", 200, resolution.MediaResult, first.ID, "", ""},
		{"the first version within the DID URL", encoded(bd + "?versionNumber=1"), "", 200, resolution.MediaResult, first.ID, "", ""},
		{"a time before it began", resolution.Endpoint + bd + "?versionTime=2020-01-01T00:00:00Z", "", 404, resolution.MediaResult, "", "NOT_FOUND", ""},
		{"two ways to name a version", resolution.Endpoint + bd + "?versionNumber=1&versionTime=2025-12-01T11:00:00Z", "", 400, resolution.MediaResult, "", "INVALID_OPTIONS", ""},
		{"a key of it", encoded(bd + "#" + beta.Issuer()), "", 200, resolution.MediaDereferencing, "", "", `"publicKeyMultibase":"` + beta.Issuer()},
		{"a key of it, for what it may do", encoded(bd+"#"+beta.Issuer()) + "?verificationRelationship=assertionMethod", "", 200, resolution.MediaDereferencing, "", "", ""},
		{"a key of it, for what it may not", encoded(bd+"#"+beta.Issuer()) + "?verificationRelationship=keyAgreement", "", 500, resolution.MediaDereferencing, "", "", "INVALID_RELATIONSHIP_FOR_VERIFICATION_METHOD"},
		{"a key that was replaced", encoded(bd + "#" + resolvertest.Key("beta", "issuer", 1).Public().Multikey()), "", 404, resolution.MediaDereferencing, "", "", "NOT_FOUND"},
		{"a service of it", encoded(bd + "#lending"), "", 200, resolution.MediaDereferencing, "", "", "TrustnodeLending"},
		{"one that ended", resolution.Endpoint + ended.DID().String(), "", 410, resolution.MediaResult, ended.Head(), "", `"didDocument":null`},
		{"one before it ended", resolution.Endpoint + ended.DID().String() + "?versionNumber=1", "", 200, resolution.MediaResult, ended.H.Prefix(1).Head().ID, "", "deactivated at"},
		{"one that forked", resolution.Endpoint + forked.DID().String(), "", 500, resolution.MediaResult, "", "urn:trustnode:error:forked", "keys after entry 1 are not accepted"},
		{"one that forked, its document alone", resolution.Endpoint + forked.DID().String(), "application/did", 500, resolution.MediaResult, "", "urn:trustnode:error:forked", ""},
		{"one that moved, by its new name", resolution.Endpoint + moved.DID().String(), "", 200, resolution.MediaResult, moved.Head(), "", ""},
		{"one that moved, by its old name", resolution.Endpoint + old.DID().String(), "", 200, resolution.MediaResult, moved.Head(), "", `"canonicalId":"` + moved.DID().String() + `"`},
		{"a pinned did:web (B-6)", resolution.Endpoint + web.String(), "", 200, resolution.MediaResult, "", "", `"id":"` + web.String() + `"`},
		{"a pinned did:web, its escape in lower case", resolution.Endpoint + strings.Replace(web.String(), "%3A", "%3a", 1), "", 404, resolution.MediaResult, "", "NOT_FOUND", ""},
		{"a pinned did:web, decoded", resolution.Endpoint + "did:web:gamma.example:8443:org", "", 404, resolution.MediaResult, "", "NOT_FOUND", ""},
		{"a stranger's", resolution.Endpoint + "did:web:stranger.example", "", 404, resolution.MediaResult, "", "NOT_FOUND", `"detail":"not held here"`},
		{"a key of it, the DID not encoded", resolution.Endpoint + bd + "%23" + beta.Issuer(), "", 400, resolution.MediaResult, "", "INVALID_DID", "encode it all, as did%3A"},
		{"a key", resolution.Endpoint + aKey, "", 200, resolution.MediaResult, "", "", `"age_s":"0"`},
		{"a method nobody has", resolution.Endpoint + "did:example:1", "", 501, resolution.MediaResult, "", "METHOD_NOT_SUPPORTED", "supported: jwk, key, peer, web, webvh"},
		{"a form nobody has", resolution.Endpoint + bd, "text/plain", 406, resolution.MediaResult, "", "REPRESENTATION_NOT_SUPPORTED", ""},
		{"a wish for news without a token", resolution.Endpoint + bd + "?noCache=true", "", 501, resolution.MediaResult, "", "FEATURE_NOT_SUPPORTED", ""},
		{"no DID", resolution.Endpoint, "", 400, resolution.MediaResult, "", "INVALID_DID", ""},
		{"two slashes", resolution.Endpoint + bd + "//x", "", 501, resolution.MediaResult, "", "FEATURE_NOT_SUPPORTED", ""},
		{"a way up", resolution.Endpoint + "did:web:x/../../../api/v1/status", "", 501, resolution.MediaResult, "", "FEATURE_NOT_SUPPORTED", ""},
		{"a way up, encoded", resolution.Endpoint + "%2e%2e%2f%2e%2e", "", 400, resolution.MediaResult, "", "INVALID_DID", ""},
		{"a zero byte", resolution.Endpoint + "did:web:a%00b", "", 400, resolution.MediaResult, "", "INVALID_DID", ""},
		{"far too long", resolution.Endpoint + "did:web:" + strings.Repeat("a", 70_000), "", 400, resolution.MediaResult, "", "INVALID_DID", ""},
	} {
		w := d.ask("GET", c.path, nil, "Accept", c.accept)
		if w.Code != c.status || w.Header().Get("Content-Type") != c.kind || !strings.Contains(w.Body.String(), c.holds) {
			t.Errorf("%s: got %d %s %.400s, want %d %s %s", c.name, w.Code, w.Header().Get("Content-Type"), w.Body, c.status, c.kind, c.holds)
			continue
		}
		r := read(t, w)
		if want := strings.TrimPrefix(c.err, "urn:"); !strings.HasSuffix(r.Res.Error.Type, want) || c.version != "" && r.Meta.VersionID != c.version {
			t.Errorf("%s: got %+v", c.name, r)
		}
		if cache := w.Header().Get("Cache-Control"); c.status == 200 && cache != "no-cache" || c.status >= 400 && c.status != 410 && cache != "no-store" {
			t.Errorf("%s: Cache-Control %q", c.name, cache)
		}
		head := d.ask("HEAD", c.path, nil, "Accept", c.accept)
		if head.Code != c.status || head.Body.Len() != 0 {
			t.Errorf("%s: HEAD %d, %d bytes", c.name, head.Code, head.Body.Len())
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		if w := d.ask(method, resolution.Endpoint+bd, strings.NewReader("{}")); w.Code != 405 {
			t.Errorf("%s: got %d", method, w.Code)
		}
	}
	if asked := n.Shelf.Asked(); len(asked) > 0 {
		t.Errorf("strangers had hosts asked: %v", asked)
	}
}

// Only the operator's token has a host asked, and only with the option for it.
func TestWhoMayHaveAHostAsked(t *testing.T) {
	d, n := identityDesk(t, resolvertest.NewOrg(t, "acme"))
	beta, web := resolvertest.NewOrg(t, "beta"), did.MustParse("did:web:gamma.example")
	n.Hold(beta)
	n.Shelf.Put(beta.DID(), beta.Rotate().Material())
	n.Shelf.Put(web, did.Material{Log: resolvertest.WebDocument(web, 1, "x")})
	path := resolution.Endpoint + beta.DID().String()
	for _, c := range []struct {
		name, query, token string
		status             int
	}{
		{"a stranger", "", "", 200},
		{"a stranger who asks for news", "?noCache=true", "", 501},
		{"a stranger who says so in other words", "?noCache=false", "", 200},
		{"another token", "?noCache=true", "Bearer x", 501},
		{"another scheme", "?noCache=true", "Basic " + operatorToken, 501},
		{"the operator who does not ask for news", "", "Bearer " + operatorToken, 200},
		{"the operator who asks twice", "?noCache=true&noCache=true", "Bearer " + operatorToken, 501},
		{"the operator who asks for what is none", "?noCache=maybe", "Bearer " + operatorToken, 400},
	} {
		if w := d.ask("GET", path+c.query, nil, "Authorization", c.token); w.Code != c.status {
			t.Errorf("%s: got %d %s", c.name, w.Code, w.Body)
		}
	}
	if asked := n.Shelf.Asked(); len(asked) > 0 {
		t.Fatalf("hosts were asked: %v", asked)
	}
	w := d.ask("GET", path+"?noCache=true&versionNumber=2", nil, "Authorization", "Bearer "+operatorToken)
	r := read(t, w)
	if w.Code != 200 || r.Meta.VersionID != beta.Rotate().Head() || r.Res.Trust.ConfirmedBy != "host" || r.Res.Trust.Age != "0" || len(n.Shelf.Asked()) != 1 {
		t.Errorf("the operator: got %d %+v after %v", w.Code, r, n.Shelf.Asked())
	}
	w = d.ask("GET", resolution.Endpoint+web.String()+"?noCache=true", nil, "Authorization", "Bearer "+operatorToken)
	if w.Code != 200 || len(n.Shelf.Asked()) != 2 {
		t.Errorf("a stranger's DID for the operator: got %d %s", w.Code, w.Body)
	}
	if w = d.ask("GET", resolution.Endpoint+web.String(), nil); w.Code != 404 || strings.Contains(w.Body.String(), "noCache") {
		t.Errorf("it is kept for everybody: got %d %s", w.Code, w.Body)
	}
	w = d.ask("GET", resolution.Endpoint+web.String(), nil, "Authorization", "Bearer "+operatorToken)
	if r := read(t, w); w.Code != 404 || !strings.Contains(r.Res.Error.Detail, "with ?noCache=true its host is asked") {
		t.Errorf("the operator is not told how its host is asked: %d %+v", w.Code, r)
	}
	w = d.ask("GET", path+"?versionNumber=9", nil, "Authorization", "Bearer "+operatorToken)
	if r := read(t, w); w.Code != 404 || r.Res.Error.Detail != "no such version" {
		t.Errorf("a version that is not there: %d %+v", w.Code, r)
	}
	w = d.ask("GET", resolution.Endpoint+"did:web:down.example?noCache=true", nil, "Authorization", "Bearer "+operatorToken)
	if r := read(t, w); w.Code != 404 || !strings.Contains(r.Res.Error.Detail, "https://") {
		t.Errorf("the operator is not told why: %d %+v", w.Code, r)
	}
}

func TestHosting(t *testing.T) {
	own := resolvertest.NewOrg(t, "acme").Watched()
	d, n := identityDesk(t, own)
	_, parallel, err := own.H.Web()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct{ kind, body string }{
		"/.well-known/did.jsonl":        {"text/jsonl", string(own.H.Log())},
		"/.well-known/did-witness.json": {"application/json", string(own.H.Witness())},
		"/.well-known/did.json":         {"application/did+json", string(parallel)},
	} {
		w := d.ask("GET", path, nil)
		tag := `"` + own.Head() + `"`
		if w.Code != 200 || w.Header().Get("Content-Type") != want.kind || w.Body.String() != want.body || w.Header().Get("ETag") != tag || w.Header().Get("Cache-Control") != "max-age=3600" {
			t.Errorf("%s: got %d %v %.200s", path, w.Code, w.Header(), w.Body)
		}
		if w = d.ask("HEAD", path, nil); w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("ETag") != tag {
			t.Errorf("HEAD %s: got %d, %d bytes", path, w.Code, w.Body.Len())
		}
		for sent, status := range map[string]int{tag: 304, "W/" + tag: 304, `"1-QmOther", ` + tag: 304, "*": 304, `"1-QmOther"`: 200, own.Head(): 200} {
			if w = d.ask("GET", path, nil, "If-None-Match", sent); w.Code != status || (status == 304) != (w.Body.Len() == 0) {
				t.Errorf("%s with If-None-Match %s: got %d", path, sent, w.Code)
			}
		}
		if w = d.ask("POST", path, strings.NewReader("{}")); w.Code != 404 && w.Code != 405 {
			t.Errorf("POST %s: got %d", path, w.Code)
		}
	}
	next := own.Rotate()
	n.Hold(next)
	if w := d.ask("GET", "/.well-known/did.jsonl", nil, "If-None-Match", `"`+own.Head()+`"`); w.Code != 200 || w.Body.String() != string(next.H.Log()) {
		t.Errorf("after a rotation: got %d", w.Code)
	}
	n.Hold(next.End())
	for path, status := range map[string]int{"/.well-known/did.jsonl": 200, "/.well-known/did-witness.json": 200, "/.well-known/did.json": 410} {
		if w := d.ask("GET", path, nil); w.Code != status {
			t.Errorf("%s after the end: got %d", path, w.Code)
		}
	}
}

func TestHostingWithoutWitnessesOrInAFork(t *testing.T) {
	own := resolvertest.NewOrg(t, "acme")
	d, n := identityDesk(t, own)
	if w := d.ask("GET", "/.well-known/did-witness.json", nil); w.Code != 404 {
		t.Errorf("no witnesses: got %d", w.Code)
	}
	n.Hold(own.Rotate())
	n.Hold(own.As(1).Rotate())
	if w := d.ask("GET", "/.well-known/did.json", nil); w.Code != 503 || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("a fork: got %d %v", w.Code, w.Header())
	}
	if w := d.ask("GET", "/.well-known/did.jsonl", nil); w.Code != 200 {
		t.Errorf("the log in a fork: got %d", w.Code)
	}
}

// What is hosted resolves: a reader that knows nothing but the two files gets the document
// that this node gives.
func TestWhatIsHostedResolves(t *testing.T) {
	own := resolvertest.NewOrg(t, "acme").Watched().Rotate()
	d, n := identityDesk(t, own)
	log, witness := d.ask("GET", "/.well-known/did.jsonl", nil), d.ask("GET", "/.well-known/did-witness.json", nil)
	got, err := didwebvh.Resolver{}.Resolve(t.Context(), n.Org, did.Material{Log: log.Body.Bytes(), Witness: witness.Body.Bytes()}, did.Options{Now: resolvertest.Now})
	if err != nil {
		t.Fatal(err)
	}
	if w := d.ask("GET", resolution.Endpoint+n.Org.String(), nil, "Accept", "application/did"); w.Body.String() != string(got.Raw) {
		t.Errorf("got %s, want %s", w.Body, got.Raw)
	}
}

func TestAcceptHeadByHTTP(t *testing.T) {
	d, n := identityDesk(t, resolvertest.NewOrg(t, "acme"))
	web := did.MustParse("did:web:gamma.example")
	doc := resolvertest.WebDocument(web, 1, "x")
	n.Shelf.Put(web, did.Material{Log: doc})
	body := func(in httpapi.HeadAccept) *strings.Reader {
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReader(string(b))
	}
	in := httpapi.HeadAccept{DID: web.String(), Version: envelope.IDOf(doc).String(), Reason: "read out by their office"}
	for name, bad := range map[string]httpapi.HeadAccept{
		"no reason":                   {DID: in.DID, Version: in.Version},
		"no DID":                      {DID: "x", Version: in.Version, Reason: "x"},
		"another document by hand":    {DID: in.DID, Version: in.Version, Reason: "x", Document: []byte("{}")},
		"another document by the web": {DID: in.DID, Version: "z", Reason: "x"},
	} {
		if p := refusal(d.operator("POST", "/api/v1/identities/accept", body(bad))); p.Code != fault.Invalid && p.Code != fault.Refused {
			t.Errorf("%s: got %+v", name, p)
		}
	}
	if w := d.ask("POST", "/api/v1/identities/accept", body(in), "Content-Type", "application/json"); w.Code != 401 {
		t.Errorf("a stranger: got %d", w.Code)
	}
	w := d.operator("POST", "/api/v1/identities/accept", body(in))
	var out httpapi.HeadAccepted
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out != (httpapi.HeadAccepted{ID: in.Version, DID: in.DID, State: "held", Changed: true}) {
		t.Errorf("got %d %+v, %v", w.Code, out, err)
	}
	next := resolvertest.WebDocument(web, 2, "x")
	n.Shelf.Put(web, did.Material{Log: next})
	w = d.operator("GET", resolution.Endpoint+web.String()+"?noCache=true", nil)
	if r := read(t, w); w.Code != 200 || len(r.Res.Trust.Warnings) != 1 || !strings.Contains(r.Res.Trust.Warnings[0]["what"], envelope.IDOf(next).String()) || strings.Contains(string(r.Document), resolvertest.Key(web.String(), "web", 2).Public().Multikey()) {
		t.Errorf("changed: got %d %s", w.Code, w.Body)
	}
}

func TestHostCheckByHTTP(t *testing.T) {
	own := resolvertest.NewOrg(t, "acme")
	d, n := identityDesk(t, own.Rotate())
	n.Shelf.Put(own.DID(), own.Material())
	if w := d.ask("POST", "/api/v1/identities/host-check", nil); w.Code != 401 || w.Header().Get("Cache-Control") != "no-store" || len(n.Shelf.Asked()) != 0 {
		t.Errorf("a stranger: got %d", w.Code)
	}
	w := d.operator("POST", "/api/v1/identities/host-check", nil)
	var out httpapi.HostCheck
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Header().Get("Cache-Control") != "no-store" || len(out.Files) != 3 || out.Files[0].State != "behind" || out.Files[0].URL != "https://acme.example/.well-known/did.jsonl" {
		t.Errorf("got %d %+v, %v", w.Code, out, err)
	}
}

// The metrics of DIDs and logs are there from the start; those of each log once one is held.
func TestMetrics(t *testing.T) {
	d := open(t)
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	d.operator("GET", "/api/v1/events", nil)
	d.h.ServeHTTP(w, r)
	for _, want := range []string{`trustnode_did_state{did="did:webvh:`, `:solo.example",state="held"} 1`, "trustnode_did_head_age_seconds{did=", "trustnode_did_forks_total 0",
		`trustnode_log_state{state="open"} 1`, `trustnode_log_state{state="corrupt"} 0`,
		"trustnode_outbox_waiting", "trustnode_witnessed_orgs", `trustnode_events_total{level="authored"}`, "\ntrustnode_verify_backlog ",
		"trustnode_equivocations_total 0", "trustnode_query_seconds_count 1"} {
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in %s", want, w.Body)
		}
	}
}
