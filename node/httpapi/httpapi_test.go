package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"trustnode/node/config"
	"trustnode/node/daemon"
	"trustnode/node/fault"
)

// desk is the handler of a whole node that does not run, and the operator's token.
type desk struct {
	t     *testing.T
	h     http.Handler
	token string
}

func open(t *testing.T) desk { return openWith(t, func(*config.Config) {}) }

// openWith opens a node of a changed configuration.
func openWith(t *testing.T, change func(*config.Config)) desk {
	t.Helper()
	dir, pass := filepath.Join(t.TempDir(), "solo"), []byte("correct-horse-battery")
	if _, err := daemon.Init(t.Context(), daemon.InitOptions{Dir: dir, Name: "Solo", Domain: "solo.example", HTTP: "127.0.0.1:0",
		P2P: []string{"/ip4/127.0.0.1/tcp/0"}, Passphrase: pass}); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	change(&cfg)
	n, err := daemon.OpenOffline(t.Context(), cfg, pass, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return desk{t, n.Handler(), n.Token()}
}

// ask sends one request as somebody on another machine; header pairs follow.
func (d desk) ask(method, path string, body io.Reader, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, body)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	d.h.ServeHTTP(w, r)
	return w
}

func (d desk) operator(method, path string, body io.Reader) *httptest.ResponseRecorder {
	return d.ask(method, path, body, "Authorization", "Bearer "+d.token, "Content-Type", "application/json")
}

// refusal reads the problem of an answer; the zero Problem is none.
func refusal(w *httptest.ResponseRecorder) fault.Problem {
	var p fault.Problem
	if w.Header().Get("Content-Type") == "application/problem+json" {
		_ = json.Unmarshal(w.Body.Bytes(), &p)
	}
	return p
}

// route is one operation of the API.
type route struct{ method, path string }

// operations are what the API is made of, by id: whether they are the operator's.
var operations = map[string]struct {
	route
	operator bool
}{
	"read":             {route{"POST", "/api/v1/reads"}, false},
	"permissionStatus": {route{"GET", "/api/v1/permissions/{id}/status"}, false},
	"trustShow":        {route{"GET", "/api/v1/trust/{did}"}, false},
	"status":           {route{"GET", "/api/v1/status"}, true},
	"fedJoinRequest":   {route{"POST", "/api/v1/federation/join-request"}, true},
	"fedCreate":        {route{"POST", "/api/v1/federation/drafts"}, true},
	"fedSign":          {route{"POST", "/api/v1/federation/sign"}, true},
	"fedDiff":          {route{"POST", "/api/v1/federation/diff"}, true},
	"fedApply":         {route{"POST", "/api/v1/federation/apply"}, true},
	"agentAdd":         {route{"POST", "/api/v1/agents"}, true},
	"agentList":        {route{"GET", "/api/v1/agents"}, true},
	"agentDraft":       {route{"POST", "/api/v1/agents/drafts"}, true},
	"agentShow":        {route{"GET", "/api/v1/agents/{agent}"}, true},
	"agentRevoke":      {route{"POST", "/api/v1/agents/{agent}/revoke"}, true},
	"agentToken":       {route{"POST", "/api/v1/agents/{agent}/tokens"}, true},
	"agentTokenRevoke": {route{"DELETE", "/api/v1/tokens/{prefix}"}, true},
	"didShow":          {route{"GET", "/api/v1/identities/{did}"}, true},
	"didRotate":        {route{"POST", "/api/v1/identities/rotate"}, true},
	"didWitnessSet":    {route{"POST", "/api/v1/identities/witnesses"}, true},
	"didMove":          {route{"POST", "/api/v1/identities/move"}, true},
	"didDeactivate":    {route{"POST", "/api/v1/identities/deactivate"}, true},
	"doctor":           {route{"GET", "/api/v1/doctor"}, true},
	"backup":           {route{"POST", "/api/v1/backup"}, true},
	"didEntry":         {route{"GET", "/api/v1/entry"}, true},
	"didResume":        {route{"POST", "/api/v1/entry/resume"}, true},
	"didAbandon":       {route{"POST", "/api/v1/entry/abandon"}, true},
	"didWitnessSign":   {route{"POST", "/api/v1/witness"}, true},
	"didAcceptHead":    {route{"POST", "/api/v1/identities/accept"}, true},
	"didHost":          {route{"GET", "/api/v1/identities/host"}, true},
	"didHostCheck":     {route{"POST", "/api/v1/identities/host-check"}, true},
	"memoryAdd":        {route{"POST", "/api/v1/memory"}, true},
	"memoryList":       {route{"GET", "/api/v1/memory"}, true},
	"memoryTag":        {route{"POST", "/api/v1/memory/tags"}, true},
	"memoryImport":     {route{"POST", "/api/v1/memory/imports"}, true},
	"loanIssue":        {route{"POST", "/api/v1/permissions"}, true},
	"loanList":         {route{"GET", "/api/v1/permissions"}, true},
	"loanShow":         {route{"GET", "/api/v1/permissions/{id}"}, true},
	"loanRevoke":       {route{"POST", "/api/v1/permissions/{id}/revoke"}, true},
	"loanAudit":        {route{"GET", "/api/v1/permissions/{id}/audit"}, true},
	"loanRevokeSigned": {route{"POST", "/api/v1/revocations"}, true},
	"loanPreview":      {route{"POST", "/api/v1/permissions/preview"}, true},
	"loanRequest":      {route{"POST", "/api/v1/loans/requests"}, true},
	"loanRequestList":  {route{"GET", "/api/v1/loans/requests"}, true},
	"loanRequestShow":  {route{"GET", "/api/v1/loans/requests/{id}"}, true},
	"loanDecline":      {route{"POST", "/api/v1/loans/requests/{id}/decline"}, true},
	"loanDiscover":     {route{"POST", "/api/v1/loans/discover"}, true},
	"discover":         {route{"POST", "/api/v1/discoveries"}, false},
	"loanAsk":          {route{"POST", "/api/v1/loan-requests"}, false},
	"loanAsked":        {route{"GET", "/api/v1/loan-requests/{id}"}, false},
	"noticeList":       {route{"GET", "/api/v1/notices"}, true},
	"noticeAck":        {route{"POST", "/api/v1/notices/acknowledge"}, true},
	"agentMove":        {route{"POST", "/api/v1/agents/{agent}/move"}, true},
	"memoryForget":     {route{"POST", "/api/v1/memory/forget"}, true},
	"memorySearch":     {route{"GET", "/api/v1/memory/search"}, true},
	"memoryShow":       {route{"GET", "/api/v1/memory/entries/{id}"}, true},
	"memoryStats":      {route{"GET", "/api/v1/memory/stats"}, true},
	"loanRead":         {route{"POST", "/api/v1/loans/read"}, true},
	"loanSign":         {route{"POST", "/api/v1/loans/sign"}, true},
	"loanCompare":      {route{"POST", "/api/v1/loans/compare"}, true},
	"borrowerRevoke":   {route{"POST", "/api/v1/borrowers/{borrower}/revoke"}, true},
	"subjectReaders":   {route{"GET", "/api/v1/subjects/{subject}/readers"}, true},
	"subjectRevoke":    {route{"POST", "/api/v1/subjects/{subject}/revoke"}, true},
	"entryReaders":     {route{"GET", "/api/v1/entries/{entry}/readers"}, true},
	"auditCheck":       {route{"POST", "/api/v1/audit/check"}, true},
	"auditRows":        {route{"GET", "/api/v1/audit"}, false},
	"disputeFile":      {route{"POST", "/api/v1/disputes"}, true},
	"disputeList":      {route{"GET", "/api/v1/disputes"}, true},
	"disputeShow":      {route{"GET", "/api/v1/disputes/{id}"}, true},
	"disputeAnswer":    {route{"POST", "/api/v1/disputes/{id}/answer"}, true},
	"disputeRule":      {route{"POST", "/api/v1/disputes/{id}/rule"}, true},
	"disputeExport":    {route{"GET", "/api/v1/disputes/{id}/export"}, true},
	"eventList":        {route{"GET", "/api/v1/events"}, true},
	"logBranch":        {route{"GET", "/api/v1/log/{did}/branch"}, true},
	"eventShow":        {route{"GET", "/api/v1/events/{id}"}, true},
	"eventWatch":       {route{"GET", "/api/v1/events/watch"}, true},
	"eventErase":       {route{"POST", "/api/v1/events/{id}/erase"}, true},
	"eventProve":       {route{"GET", "/api/v1/events/{id}/proof"}, true},
	"logRepair":        {route{"POST", "/api/v1/logs/repair"}, true},
	"eventC2SP":        {route{"GET", "/api/v1/events/{id}/c2sp"}, true},
	"logHead":          {route{"GET", "/api/v1/log/{did}/head"}, true},
}

// openedByConfig are the operator's operations that [http] public_events opens to anyone.
var openedByConfig = []string{"eventList", "eventShow", "eventWatch", "eventProve", "eventC2SP", "logHead"}

func TestOpenAPI(t *testing.T) {
	described(t, open(t), nil)
	described(t, openWith(t, func(c *config.Config) { c.PublicEvents = true }), openedByConfig)
}

// described checks the API's own description, in which some of the operator's operations are for anyone as well.
func described(t *testing.T, d desk, opened []string) {
	t.Helper()
	w := d.ask("GET", "/openapi.json", nil)
	var doc struct {
		OpenAPI string
		Info    struct{ Title, Version string }
		Paths   map[string]map[string]struct {
			OperationID string
			Summary     string
			Security    []map[string][]string
			Responses   map[string]any
		}
		Components struct{ SecuritySchemes map[string]any }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatalf("%v: %.200s", err, w.Body)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") || doc.Info.Title != "trustnode" || len(doc.Components.SecuritySchemes) != 2 {
		t.Errorf("got %s %+v %v", doc.OpenAPI, doc.Info, doc.Components.SecuritySchemes)
	}
	left := maps.Clone(operations)
	for path, methods := range doc.Paths {
		for method, op := range methods {
			want, ok := left[op.OperationID]
			delete(left, op.OperationID)
			if got := (route{strings.ToUpper(method), path}); !ok || got != want.route || op.Summary == "" || (len(op.Security) > 0) != want.operator || len(op.Responses) < 2 {
				t.Errorf("%s: got %+v %+v, want %+v", op.OperationID, got, op, want)
			}
			if anyone := slices.ContainsFunc(op.Security, func(m map[string][]string) bool { return len(m) == 0 }); anyone != slices.Contains(opened, op.OperationID) {
				t.Errorf("%s: for anyone %v, by %v", op.OperationID, anyone, op.Security)
			}
		}
	}
	for id, r := range left {
		t.Errorf("%s %s %s is not described", id, r.method, r.path)
	}
}

// untouched is a body that must not be read.
type untouched struct{ read bool }

func (u *untouched) Read([]byte) (int, error) { u.read = true; return 0, io.EOF }

func filled(path string) string {
	return strings.NewReplacer("{id}", "zQmNone", "{did}", "self", "{agent}", "ghost", "{prefix}", "tn1_AAAAAAAA", "{borrower}", "ghost", "{subject}", "ghost", "{entry}", "eNone").Replace(path)
}

// The operator's routes are the operator's: who has no token is refused before a byte of
// the body is read, from this machine as from another.
func TestOperatorsToken(t *testing.T) {
	d := open(t)
	headers := map[string]string{
		"none": "", "another": "Bearer tno_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "nothing after Bearer": "Bearer ", "another scheme": "Basic " + d.token,
		"no scheme": d.token, "one byte more": "Bearer " + d.token + "x", "one byte less": "Bearer " + d.token[:len(d.token)-1], "another case": "Bearer " + strings.ToUpper(d.token),
		"a space more": "Bearer  " + d.token,
	}
	for id, op := range operations {
		for name, header := range headers {
			if !op.operator {
				continue
			}
			body := &untouched{}
			r := httptest.NewRequest(op.method, filled(op.path), body)
			r.RemoteAddr = "127.0.0.1:40000"
			r.Header.Set("Content-Type", "application/json")
			r.ContentLength = 1 << 20
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			w := httptest.NewRecorder()
			d.h.ServeHTTP(w, r)
			if p := refusal(w); w.Code != 401 || p.Code != fault.Unauthenticated || p.Hint == "" || body.read {
				t.Errorf("%s with %s: got %d %+v, body read: %v", id, name, w.Code, p, body.read)
			}
		}
	}
	for id, op := range operations {
		// Two ask the network, and a watch a node that runs.
		if op.operator && id != "didRotate" && id != "didHostCheck" && id != "eventWatch" {
			if w := d.operator(op.method, filled(op.path), strings.NewReader("{}")); w.Code == 401 || w.Code >= 500 {
				t.Errorf("%s with the token: got %d %s", id, w.Code, w.Body)
			}
		}
	}
}

// What a borrower sends is read exactly: nothing that two readers could read differently
// gets as far as a signature check.
func TestReadBodies(t *testing.T) {
	d := open(t)
	const rq = `"e30.AAAA"`
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, c := range []struct {
		name, body string
		status     int
		code       fault.Code
		says       string
	}{
		{"nothing", ``, 400, fault.Invalid, ""},
		{"a member twice", `{"request":` + rq + `,"request":` + rq + `}`, 400, fault.Invalid, "request"},
		{"a member twice, once in escapes", `{"request":` + rq + `,"reques\u0074":` + rq + `}`, 400, fault.Invalid, "request"},
		{"a member in another case", `{"Request":` + rq + `}`, 400, fault.Invalid, "Request"},
		{"a member in another case beside the right one", `{"request":` + rq + `,"REQUEST":` + rq + `}`, 400, fault.Invalid, "REQUEST"},
		{"an unknown member", `{"request":` + rq + `,"operator":true}`, 400, fault.Invalid, "operator"},
		{"more after the end", `{"request":` + rq + `}{"request":` + rq + `}`, 400, fault.Invalid, ""},
		{"a word after the end", `{"request":` + rq + `} x`, 400, fault.Invalid, ""},
		{"a byte order mark", "\ufeff" + `{"request":` + rq + `}`, 400, fault.Invalid, ""},
		{"an array", `[` + rq + `]`, 400, fault.Invalid, ""},
		{"a text", rq, 400, fault.Invalid, ""},
		{"null", `null`, 400, fault.Invalid, ""},
		{"a request that is a number", `{"request":1}`, 400, fault.Invalid, "request"},
		{"a request that is null", `{"request":null}`, 400, fault.Invalid, "request"},
		{"a request that is empty", `{"request":""}`, 400, fault.Invalid, "request"},
		{"no request", `{"permission":` + rq + `}`, 400, fault.Invalid, "request"},
		{"too many brackets", `{"request":` + deep + `}`, 400, fault.Invalid, ""},
		{"bytes that are no UTF-8", "{\"request\":\"\xff\"}", 400, fault.Invalid, ""},
		{"half a surrogate", `{"request":"\ud800"}`, 400, fault.Invalid, ""},
		{"a comment", `{"request":` + rq + `/* */}`, 400, fault.Invalid, ""},
		{"no end", `{"request":` + rq, 400, fault.Invalid, ""},
		{"too much", `{"request":"` + strings.Repeat("A", 40<<10) + `"}`, 413, fault.TooLarge, ""},
		{"a request that is none", `{"request":` + rq + `}`, 400, fault.Invalid, ""},
		{"a request that is no text of two parts", `{"request":"x"}`, 400, fault.Invalid, ""},
		{"spaces around are JSON's own", " \n{ \"request\" : \"x\" }\t", 400, fault.Invalid, ""},
	} {
		for _, path := range []string{"/api/v1/reads", "/api/v1/discoveries", "/api/v1/loan-requests"} {
			w := d.ask("POST", path, strings.NewReader(c.body), "Content-Type", "application/json")
			if p := refusal(w); w.Code != c.status || p.Code != c.code || p.Status != c.status || !strings.Contains(p.Detail, c.says) {
				t.Errorf("%s to %s: got %d %s, want %d %s %q", c.name, path, w.Code, w.Body, c.status, c.code, c.says)
			}
		}
	}
	if w := d.ask("POST", "/api/v1/loan-requests", strings.NewReader(`{"request":"x","permission":"y"}`), "Content-Type", "application/json"); w.Code != 400 {
		t.Errorf("a loan request with a permission: got %d %s", w.Code, w.Body)
	}
	for _, header := range []string{"", "x", "e30.AAAA"} {
		if w := d.ask("GET", "/api/v1/loan-requests/zQmNone", nil, "Trustnode-Request", header); w.Code != 400 {
			t.Errorf("a poll by %q: got %d %s", header, w.Code, w.Body)
		}
	}
	w := d.ask("GET", "/api/v1/permissions/zQmNone/status", nil, "Trustnode-Request", "x")
	if p := refusal(w); w.Code != 400 || p.Code != fault.Invalid {
		t.Errorf("a status request that is none: got %d %s", w.Code, w.Body)
	}
}

func TestMetricsAreForThisMachine(t *testing.T) {
	d := open(t)
	for from, want := range map[string]int{"127.0.0.1:1": 200, "127.9.9.9:1": 200, "[::1]:1": 200, "192.0.2.1:1": 404, "[2001:db8::1]:1": 404, "10.0.0.1:1": 404, "": 404, "localhost:1": 404} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.RemoteAddr = from
		r.Header.Set("X-Forwarded-For", "127.0.0.1")
		r.Header.Set("Forwarded", "for=127.0.0.1")
		w := httptest.NewRecorder()
		d.h.ServeHTTP(w, r)
		if w.Code != want || (want == 200) != bytes.Contains(w.Body.Bytes(), []byte("trustnode_outbox_waiting ")) {
			t.Errorf("from %q: got %d, want %d", from, w.Code, want)
		}
	}
}

// Nothing about loans and memory stays in a cache on the way, refusals neither.
func TestNoStore(t *testing.T) {
	d := open(t)
	for id, op := range operations {
		if id == "didHostCheck" {
			continue // it takes no body and asks the network; resolve_test.go has it
		}
		for who, w := range map[string]*httptest.ResponseRecorder{
			"a stranger": d.ask(op.method, filled(op.path), strings.NewReader("{}"), "Content-Type", "application/json"),
			"nonsense":   d.operator(op.method, filled(op.path), strings.NewReader("{")),
		} {
			if got := w.Header().Get("Cache-Control"); got != "no-store" {
				t.Errorf("%s by %s: got %q after %d", id, who, got, w.Code)
			}
		}
	}
	if w := d.operator("GET", "/api/v1/status", nil); w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
}

// Every refusal has one form, whoever makes it: a use case, the router or the parser.
func TestRefusalsHaveOneForm(t *testing.T) {
	d := open(t)
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code                     fault.Code
	}{
		{"no such route", "GET", "/api/v1/nothing", "", 404, fault.NotFound},
		{"no such method", "DELETE", "/api/v1/agents", "", 404, fault.NotFound},
		{"the root", "GET", "/", "", 404, fault.NotFound},
		{"no such loan", "GET", "/api/v1/permissions/" + none, "", 404, fault.NotFound},
		{"a name that is no id", "GET", "/api/v1/permissions/nonsense", "", 400, fault.Invalid},
		{"no such loan request", "GET", "/api/v1/loans/requests/" + none, "", 404, fault.NotFound},
		{"a loan request that is no id", "GET", "/api/v1/loans/requests/nonsense", "", 400, fault.Invalid},
		{"declining what nobody asked", "POST", "/api/v1/loans/requests/" + none + "/decline", `{"reason":"no"}`, 404, fault.NotFound},
		{"a notice that is none", "POST", "/api/v1/notices/acknowledge", `{"ref":"x"}`, 404, fault.NotFound},
		{"an agent that issues by itself, unknown", "POST", "/api/v1/permissions", `{"as":"ghost"}`, 404, fault.NotFound},
		{"no such case", "GET", "/api/v1/disputes/" + none, "", 404, fault.NotFound},
		{"a body that is no JSON", "POST", "/api/v1/agents", "{", 400, fault.Invalid},
		{"a body without what is needed", "POST", "/api/v1/agents", "{}", 400, fault.Invalid},
		{"a member of another kind", "POST", "/api/v1/agents", `{"name":1,"can":["lend"]}`, 400, fault.Invalid},
		{"an unknown member", "POST", "/api/v1/agents", `{"name":"x","can":["lend"],"admin":true}`, 400, fault.Invalid},
		{"a capability that is none", "POST", "/api/v1/agents", `{"name":"x","can":["fly"]}`, 400, fault.Invalid},
		{"a limit out of range", "GET", "/api/v1/events?limit=1001", "", 400, fault.Invalid},
		{"a wait out of range", "GET", "/api/v1/status?timeout_s=601", "", 400, fault.Invalid},
		{"an organization that is no DID", "GET", "/api/v1/events?org=x", "", 400, fault.Invalid},
		{"a moment that is none", "GET", "/api/v1/trust/did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK?as_of=noon", "", 400, fault.Invalid},
		{"a proof of no id", "GET", "/api/v1/events/nonsense/proof", "", 400, fault.Invalid},
		{"a proof of an event that is not held", "GET", "/api/v1/events/" + none + "/proof", "", 404, fault.NotFound},
		{"a log of no DID", "GET", "/api/v1/log/x/head", "", 400, fault.Invalid},
		{"a log that is not held", "GET", "/api/v1/log/did:web:x.example/head", "", 404, fault.NotFound},
		{"tiles of no DID", "GET", "/api/v1/log/x/tile/0/000.p/1", "", 400, fault.Invalid},
		{"tiles of a log that is not held", "GET", "/api/v1/log/did:web:x.example/tile/0/000.p/1", "", 404, fault.NotFound},
		{"a tile beyond the log", "GET", "/api/v1/log/self/tile/0/000", "", 404, fault.NotFound},
		{"a tile that is none", "GET", "/api/v1/log/self/tile/0/0", "", 404, fault.NotFound},
		{"too large a body", "POST", "/api/v1/agents", `{"name":"` + strings.Repeat("x", 17<<20) + `"}`, 413, fault.TooLarge},
	} {
		w := d.operator(c.method, c.path, strings.NewReader(c.body))
		if p := refusal(w); w.Code != c.status || p.Code != c.code || p.Status != c.status || p.Type != "about:blank" || p.Detail == "" {
			t.Errorf("%s: got %d %v %.300s, want %d %s", c.name, w.Code, w.Header(), w.Body, c.status, c.code)
		}
	}
}

// What is wrong with a body is said without what stands in it: it may be a passphrase.
func TestRefusalsRepeatNoSecret(t *testing.T) {
	d := open(t)
	for _, body := range []string{
		`{"passphrase":"SECRET","recovery":"rec1-SECRET","reason":"lost","foo":1}`,
		`{"passphrase":{"a":"SECRET"}}`,
		`{"passphrase":"SECRET","reason":"lost"`,
		`{"passphrase":"SECRET",}`,
		`["SECRET"]`,
		`SECRET`,
	} {
		for _, path := range []string{"/api/v1/identities/rotate", "/api/v1/identities/move", "/api/v1/federation/sign"} {
			w := d.operator("POST", path, strings.NewReader(body))
			if p := refusal(w); w.Code != 400 || p.Detail == "" || strings.Contains(w.Body.String(), "SECRET") {
				t.Errorf("%s %s: got %d %s", path, body, w.Code, w.Body)
			}
		}
	}
}

// none is a well-formed id of nothing.
const none = "zQmWqWvRc8M51bNroaakyX9mq2bQW57Du1ESq8cZbjAyWNC"

func TestOpenToAnyone(t *testing.T) {
	d := open(t)
	for path, want := range map[string]struct {
		status     int
		kind, body string
	}{
		"/healthz":                 {200, "text/plain; charset=utf-8", "ok\n"},
		"/readyz":                  {200, "text/plain; charset=utf-8", "alone\n"},
		"/.well-known/did.jsonl":   {200, "text/jsonl", `{"`},
		"/api/v1/log/x/checkpoint": {400, "application/problem+json", `{"type"`},
	} {
		w := d.ask("GET", path, nil)
		if w.Code != want.status || w.Header().Get("Content-Type") != want.kind || !strings.HasPrefix(w.Body.String(), want.body) {
			t.Errorf("%s: got %d %v %.100s", path, w.Code, w.Header(), w.Body)
		}
	}
}

// One story of an organization alone, by its JSON.
func TestAloneByHTTP(t *testing.T) {
	d := open(t)
	ok := func(method, path, body string, out any) {
		t.Helper()
		w := d.operator(method, path, strings.NewReader(body))
		if w.Code >= 300 {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(w.Body.String(), "$schema") {
			t.Errorf("%s %s says more than it was asked: %s", method, path, w.Body)
		}
	}
	var research, quant struct{ DID string }
	ok("POST", "/api/v1/agents", `{"name":"research","can":["lend"],"project":"p"}`, &research)
	ok("POST", "/api/v1/agents", `{"name":"quant","can":["borrow"]}`, &quant)
	var entry struct{ ID string }
	ok("POST", "/api/v1/memory", `{"agent":"research","statement":"the one entry","tags":["open"]}`, &entry)
	var loan struct{ ID, State string }
	ok("POST", "/api/v1/permissions", fmt.Sprintf(`{"lender":"research","borrower":%q,"scope":"tag:open","purpose":"p","expires":"24h","max_reads":2}`, quant.DID), &loan)
	var asked, told struct{ ID, State, Permission, Role string }
	ok("POST", "/api/v1/loans/requests", fmt.Sprintf(`{"as":"quant","lender":%q,"scope":"tag:open","purpose":"p","expires":"24h","max_reads":9}`, research.DID), &asked)
	var second struct{ ID string }
	ok("POST", "/api/v1/permissions", fmt.Sprintf(`{"request":%q,"max_reads":2}`, asked.ID), &second)
	ok("GET", "/api/v1/loans/requests/"+asked.ID, "", &told)
	if asked.State != "requested" || told.State != "issued" || told.Permission != second.ID || told.Role != "lender" {
		t.Errorf("got %+v, then %+v, want permission %s", asked, told, second.ID)
	}
	var all struct {
		Requests []struct{ ID, Role string }
	}
	ok("GET", "/api/v1/loans/requests", "", &all)
	if len(all.Requests) != 2 || all.Requests[0].ID != asked.ID || all.Requests[1].ID != asked.ID {
		t.Errorf("got %+v", all)
	}
	var preview struct {
		ID     string
		Survey struct {
			Classes map[string]int
			Newest  []struct{ Statement string }
		}
	}
	ok("POST", "/api/v1/permissions/preview", fmt.Sprintf(`{"lender":"research","borrower":%q,"scope":"tag:open","purpose":"p","expires":"24h","max_reads":2}`, quant.DID), &preview)
	if preview.ID != "" || preview.Survey.Classes["internal"] != 1 || len(preview.Survey.Newest) != 1 || preview.Survey.Newest[0].Statement != "the one entry" {
		t.Errorf("got %+v", preview)
	}
	w := d.operator("POST", "/api/v1/permissions", strings.NewReader(fmt.Sprintf(`{"as":"research","lender":"research","borrower":%q,"scope":"tag:open","purpose":"p","expires":"24h","max_reads":2}`, quant.DID)))
	if p := refusal(w); w.Code != 403 || p.Code != fault.NeedsApproval || p.Hint == "" {
		t.Errorf("by an agent: got %d %s", w.Code, w.Body)
	}
	var read struct {
		Entries []any
		Status  string
		Receipt struct{ Seq, Left uint64 }
	}
	ok("POST", "/api/v1/loans/read", fmt.Sprintf(`{"as":"quant","permission":%q,"purpose":"a check"}`, loan.ID), &read)
	if len(read.Entries) != 1 || read.Status != "valid" || read.Receipt.Seq != 1 || read.Receipt.Left != 1 {
		t.Errorf("got %+v", read)
	}
	var audit struct {
		Granted uint64
		GapFree bool `json:"gap_free"`
		Rows    []struct{ Op string }
	}
	ok("GET", "/api/v1/permissions/"+loan.ID+"/audit", "", &audit)
	ops := []string{}
	for _, r := range audit.Rows {
		ops = append(ops, r.Op)
	}
	if audit.Granted != 1 || !audit.GapFree || !slices.Equal(ops, []string{"issue", "read", "received"}) {
		t.Errorf("got %+v", audit)
	}
}

// Tiles are the operator's: members have sync, and others are not told what a log says.
func TestTilesAreTheOperators(t *testing.T) {
	d := open(t)
	if w := d.operator("POST", "/api/v1/agents", strings.NewReader(`{"name":"x","can":["lend"]}`)); w.Code >= 300 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/api/v1/log/self/tile/0/000.p/1", "/api/v1/log/self/tile/entries/000.p/1", "/api/v1/log/did:web:x.example/tile/0/000"} {
		for name, header := range map[string]string{"none": "", "another": "Bearer x", "an agent's": "Bearer tn1_AAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"} {
			if w := d.ask("GET", path, nil, "Authorization", header); w.Code != 401 || refusal(w).Code != fault.Unauthenticated || bytes.Contains(w.Body.Bytes(), []byte("log.opened")) {
				t.Errorf("%s with the token %s: got %d %.200s", path, name, w.Code, w.Body)
			}
		}
	}
	if w := d.operator("GET", "/api/v1/log/self/tile/entries/000.p/1", nil); w.Code != 200 || !bytes.Contains(w.Body.Bytes(), []byte("log.opened")) || w.Header().Get("Cache-Control") != "private, max-age=300" {
		t.Errorf("got %d %v %.200s", w.Code, w.Header(), w.Body)
	}
	if w := d.operator("GET", "/api/v1/log/self/tile/0/000.p/1", nil); w.Code != 200 || w.Body.Len() != 32 {
		t.Errorf("got %d and %d bytes", w.Code, w.Body.Len())
	}
}
