package httpapi_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"trustnode/did"
	"trustnode/did/credential"
	"trustnode/did/didkey"
	"trustnode/did/didwebvh"
	"trustnode/did/envelope"
	"trustnode/did/envelope/envelopetest"
	"trustnode/did/keyring"
	"trustnode/node/config"
	"trustnode/node/daemon"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// ok asks as the operator and reads the answer; anything but a success fails the test.
func (d desk) ok(method, path string, in, out any) {
	d.t.Helper()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			d.t.Fatal(err)
		}
		body = bytes.NewReader(b)
	}
	w := d.operator(method, path, body)
	if w.Code >= 300 {
		d.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if out != nil {
		if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
			d.t.Fatal(err)
		}
	}
}

// lends makes two agents and a loan between them, and returns the loan's id.
func (d desk) lends() string {
	var quant httpapi.Agent
	d.ok("POST", "/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}, Project: "p"}, nil)
	d.ok("POST", "/api/v1/agents", httpapi.AgentAdd{Name: "quant", Can: []string{"borrow"}}, &quant)
	d.ok("POST", "/api/v1/agents", httpapi.AgentAdd{Name: "other", Can: []string{"borrow"}}, nil)
	d.ok("POST", "/api/v1/memory", httpapi.MemoryAdd{Agent: "research", Statement: "the one entry", Tags: []string{"open"}}, nil)
	var loan httpapi.Loan
	d.ok("POST", "/api/v1/permissions", httpapi.LoanIssue{Lender: "research", Borrower: quant.DID, Scope: "tag:open", Purpose: "p", Expires: "24h", MaxReads: 1000}, &loan)
	return loan.ID
}

func (d desk) withToken(token, method, path, body string) *httptest.ResponseRecorder {
	return d.ask(method, path, strings.NewReader(body), "Authorization", "Bearer "+token, "Content-Type", "application/json")
}

func (d desk) tokenOf(agent, surface string) string {
	d.t.Helper()
	var t httpapi.TokenMade
	d.ok("POST", "/api/v1/agents/"+agent+"/tokens", httpapi.TokenMake{For: surface}, &t)
	return t.Token
}

// A token opens reading as its agent, and nothing of the operator's.
func TestATokenReadsAsItsAgent(t *testing.T) {
	d := open(t)
	loan := d.lends()
	token, mcp, other := d.tokenOf("quant", "http"), d.tokenOf("quant", "mcp"), d.tokenOf("other", "http")
	read := func(as string) string {
		return fmt.Sprintf(`{"as":%q,"permission":%q,"purpose":"a check"}`, as, loan)
	}
	var quant httpapi.AgentInfo
	d.ok("GET", "/api/v1/agents/quant", nil, &quant)
	for name, body := range map[string]string{"as nobody": fmt.Sprintf(`{"permission":%q,"purpose":"a check"}`, loan), "as itself": read("quant"), "by its DID": read(quant.DID)} {
		w := d.withToken(token, "POST", "/api/v1/loans/read", body)
		if w.Code != 200 || !strings.Contains(w.Body.String(), "the one entry") || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	for name, c := range map[string]struct {
		token, body string
		status      int
		code        fault.Code
	}{
		"as another agent":              {token, read("other"), 403, fault.Refused},
		"as the lender":                 {token, read("research"), 403, fault.Refused},
		"as nobody's name":              {token, read("ghost"), 403, fault.Refused},
		"of an agent the loan is not":   {other, read(""), 404, fault.NotFound},
		"of another surface":            {mcp, read(""), 401, fault.Unauthenticated},
		"one character less":            {token[:46], read(""), 401, fault.Unauthenticated},
		"one character more":            {token + "A", read(""), 401, fault.Unauthenticated},
		"another end":                   {token[:40] + "AAAAAAA", read(""), 401, fault.Unauthenticated},
		"only its beginning":            {token[:12], read(""), 401, fault.Unauthenticated},
		"the operator's, one bit wrong": {d.token2(), read("quant"), 401, fault.Unauthenticated},
	} {
		w := d.withToken(c.token, "POST", "/api/v1/loans/read", c.body)
		if p := refusal(w); w.Code != c.status || p.Code != c.code || p.Hint == "" || strings.Contains(w.Body.String(), "the one entry") || strings.Contains(w.Body.String(), c.token[8:]) {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
	}
	for id, op := range operations {
		if !op.operator || slices.Contains([]string{"loanRead", "loanDiscover", "loanRequest", "loanRequestList", "loanRequestShow"}, id) {
			continue
		}
		body := &untouched{}
		r := httptest.NewRequest(op.method, filled(op.path), body)
		r.Header.Set("Authorization", "Bearer "+token)
		r.ContentLength = 1 << 20
		w := httptest.NewRecorder()
		d.h.ServeHTTP(w, r)
		if p := refusal(w); w.Code != 401 || p.Code != fault.Unauthenticated || body.read {
			t.Errorf("%s by a token: %d %+v, body read %v", id, w.Code, p, body.read)
		}
	}
	if w := d.operator("POST", "/api/v1/loans/read", strings.NewReader(read(""))); w.Code != 400 || refusal(w).Reason != "as" {
		t.Errorf("the operator as nobody: %d %s", w.Code, w.Body)
	}
}

// By token an agent asks as itself, and sees its own requests and no others.
func TestATokenAsksAsItsAgent(t *testing.T) {
	d := open(t)
	d.lends()
	token, other := d.tokenOf("quant", "http"), d.tokenOf("other", "http")
	var research httpapi.AgentInfo
	d.ok("GET", "/api/v1/agents/research", nil, &research)
	wish := func(as string) string {
		return fmt.Sprintf(`{"as":%q,"lender":%q,"purpose":"a check","expires":"24h","max_reads":3,"scope":"tag:open"}`, as, research.DID)
	}
	w := d.withToken(token, "POST", "/api/v1/loans/requests", wish(""))
	var asked httpapi.LoanRequestInfo
	if err := json.Unmarshal(w.Body.Bytes(), &asked); err != nil || w.Code != 200 || asked.Role != "borrower" || asked.State != "requested" {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	if w := d.withToken(token, "POST", "/api/v1/loans/requests", wish("other")); w.Code != 403 {
		t.Errorf("as another agent: got %d %s", w.Code, w.Body)
	}
	path := "/api/v1/loans/requests/" + asked.ID
	for name, c := range map[string]struct {
		token, path string
		status      int
		in          bool
	}{
		"its own list":    {token, "/api/v1/loans/requests", 200, true},
		"its own request": {token, path, 200, true},
		"another's list":  {other, "/api/v1/loans/requests", 200, false},
		"another's":       {other, path, 404, false},
	} {
		w := d.withToken(c.token, "GET", c.path, "")
		if w.Code != c.status || strings.Contains(w.Body.String(), "a check") != c.in || strings.Contains(w.Body.String(), `"role":"lender"`) {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
	}
	if w := d.withToken(token, "POST", path+"/decline", `{"reason":"no"}`); w.Code != 401 {
		t.Errorf("declining by token: got %d %s", w.Code, w.Body)
	}
	none := d.withToken(token, "GET", "/api/v1/loans/requests/zQmWqWvRc8M51bNroaakyX9mq2bQW57Du1ESq8cZbjAyWNC", "")
	// What is known of a lender is told of the own loans alone.
	for who, want := range map[string]uint64{token: 1, other: 0} {
		var got httpapi.LoanRequestInfo
		w := d.withToken(who, "POST", "/api/v1/loans/requests", wish(""))
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || uint64(got.Other.Loans) != want {
			t.Errorf("got %d %s, want %d loans", w.Code, w.Body, want)
		}
	}
	if w := d.withToken(other, "GET", path, ""); refusal(w).Code != refusal(none).Code || refusal(w).Reason != refusal(none).Reason {
		t.Errorf("another's: got %s, of none %s", w.Body, none.Body)
	}
}

func (d desk) token2() string { return d.token[:len(d.token)-1] + "-" }

// The token of an agent that was revoked is told what to do, and is counted, not logged.
func TestATokenOfARevokedAgent(t *testing.T) {
	d, log := openLogged(t)
	loan := d.lends()
	token := d.tokenOf("quant", "http")
	body := fmt.Sprintf(`{"permission":%q,"purpose":"a check"}`, loan)
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 4 { // reads under way while it ends
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if w := d.withToken(token, "POST", "/api/v1/loans/read", body); w.Code != 200 && w.Code != 401 && w.Code != 403 && w.Code != 429 {
						t.Errorf("%d %s", w.Code, w.Body)
					}
				}
			}
		})
	}
	var r httpapi.AgentRevoked
	d.ok("POST", "/api/v1/agents/quant/revoke", httpapi.AgentRevoke{Reason: "misuse"}, &r)
	for range 20 {
		w := d.withToken(token, "POST", "/api/v1/loans/read", body)
		if p := refusal(w); w.Code != 401 || p.Code != fault.Unauthenticated || p.Hint == "" || strings.Contains(w.Body.String(), "entry") {
			t.Errorf("after revoke returned: %d %s", w.Code, w.Body)
		}
	}
	close(stop)
	all.Wait()
	if r.Reason != "misuse" || r.Index == nil || r.Serial != 1 {
		t.Errorf("got %+v", r)
	}
	if strings.Contains(log.String(), token) || strings.Contains(log.String(), token[12:]) {
		t.Errorf("the log holds the token:\n%s", log)
	}
	m := httptest.NewRequest("GET", "/metrics", nil)
	m.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	d.h.ServeHTTP(w, m)
	for _, line := range strings.Split(w.Body.String(), "\n") {
		if n, ok := strings.CutPrefix(line, "trustnode_agent_tokens_refused_total "); ok && n != "0" {
			return
		}
	}
	t.Errorf("refused tokens are not counted:\n%s", w.Body)
}

// openLogged is open with a log that is read.
func openLogged(t *testing.T) (desk, *safeBuffer) {
	t.Helper()
	log := &safeBuffer{}
	d := openAny(t, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	d.t = t
	return d, log
}

func openAny(t testing.TB, log *slog.Logger) desk {
	t.Helper()
	dir, pass := filepath.Join(t.TempDir(), "solo"), []byte("correct-horse-battery")
	if _, err := daemon.Init(t.Context(), daemon.InitOptions{Dir: dir, Name: "Solo", Domain: "solo.example", HTTP: "127.0.0.1:0", P2P: []string{"/ip4/127.0.0.1/tcp/0"}, Passphrase: pass}); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	n, err := daemon.OpenOffline(t.Context(), cfg, pass, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return desk{h: n.Handler(), token: n.Token()}
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// What was lent by an agent ends with it.
func TestRevokedLenderByHTTP(t *testing.T) {
	d := open(t)
	loan := d.lends()
	read := fmt.Sprintf(`{"as":"quant","permission":%q,"purpose":"a check"}`, loan)
	if w := d.operator("POST", "/api/v1/loans/read", strings.NewReader(read)); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var r httpapi.AgentRevoked
	d.ok("POST", "/api/v1/agents/research/revoke", httpapi.AgentRevoke{}, &r)
	if r.Loans != 1 || r.Reason != "ended" {
		t.Errorf("got %+v", r)
	}
	if w := d.operator("POST", "/api/v1/loans/read", strings.NewReader(read)); w.Code < 400 || strings.Contains(w.Body.String(), "the one entry") {
		t.Errorf("read after that: %d %s", w.Code, w.Body)
	}
	var l httpapi.Loan
	if d.ok("GET", "/api/v1/permissions/"+loan, nil, &l); l.State != "revoked" {
		t.Errorf("the loan is %s", l.State)
	}
}

// TestAgentByHTTP: the draft and its request, shown and listed.
func TestAgentByHTTP(t *testing.T) {
	d := open(t)
	key := envelopetest.Repeat(0x31)
	holder, err := didkey.FromKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	in := httpapi.AgentAdd{Name: "billing", Can: []string{"lend", "borrow"}, Days: 7, Display: "invoices", For: holder.String()}
	var draft httpapi.AgentDraft
	d.ok("POST", "/api/v1/agents/drafts", in, &draft)
	if draft.DID != in.For || draft.Name != "billing" || !slices.Equal(draft.Can, []string{"borrow", "lend"}) || draft.Serial != 1 || draft.Display != "invoices" || draft.Kind != "agent" {
		t.Errorf("got %+v", draft)
	}
	in.Request = signDraft(t, draft.Data, key)
	var a httpapi.Agent
	d.ok("POST", "/api/v1/agents", in, &a)
	if a.ID != draft.ID || a.State != "live" || a.Kind != "agent" {
		t.Errorf("got %+v", a)
	}
	shown := d.shown(holder.String(), func(a httpapi.AgentInfo) bool { return a.Index != nil })
	if shown.Name != "billing" || shown.State != "live" || shown.Index == nil || *shown.Index != 1 || shown.RenewsAt != "" || shown.Display != "invoices" || shown.Message != "" {
		t.Errorf("shown as %+v", shown)
	}
	d.ok("POST", "/api/v1/agents/billing/revoke", httpapi.AgentRevoke{}, nil)
	shown = d.shown("billing", func(a httpapi.AgentInfo) bool { return a.RevokedAt != nil })
	if shown.State != "revoked" || shown.RevokedAt == nil || *shown.RevokedAt != 2 || shown.Reason != "ended" || !strings.HasPrefix(shown.Message, "agent billing of solo.example was revoked") || shown.Hint == "" {
		t.Errorf("shown as %+v", shown)
	}
	var list httpapi.Agents
	if d.ok("GET", "/api/v1/agents", nil, &list); len(list.Agents) != 1 || list.Agents[0].State != "revoked" {
		t.Errorf("listed %+v", list)
	}
}

// shown shows an agent once the own log has been judged as far as it takes.
func (d desk) shown(agent string, far func(httpapi.AgentInfo) bool) (a httpapi.AgentInfo) {
	d.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		a = httpapi.AgentInfo{}
		if d.ok("GET", "/api/v1/agents/"+agent, nil, &a); far(a) || time.Now().After(end) {
			return a
		}
	}
}

func signDraft(t *testing.T, draft []byte, key envelope.Signer) []byte {
	t.Helper()
	e, err := envelope.ParseDSSE(bytes.TrimSuffix(draft, []byte("\n")), 4<<10)
	if err != nil {
		t.Fatal(err)
	}
	a, err := envelope.Decode[keyring.Agent](e)
	if err != nil {
		t.Fatal(err)
	}
	if e, err = keyring.RequestAgent(t.Context(), a, key); err != nil {
		t.Fatal(err)
	}
	return e.DSSE()
}

func TestAgentFiles(t *testing.T) {
	d := open(t)
	var a httpapi.Agent
	d.ok("POST", "/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}}, &a)
	d.ok("POST", "/api/v1/agents", httpapi.AgentAdd{Name: "gone", Can: []string{"lend"}}, nil)
	d.ok("POST", "/api/v1/agents/gone/revoke", httpapi.AgentRevoke{}, nil)
	const dsse = "application/vnd.dsse+json"
	for _, c := range []struct {
		name, path, accept string
		status             int
		code               fault.Code
	}{
		{"the object", "/agents/research/credential", dsse, 200, ""},
		{"the object, among others", "/agents/research/credential", "text/html, " + dsse + ";q=0.9, */*;q=0.1", 200, ""},
		{"the object in capitals", "/agents/research/credential", strings.ToUpper(dsse), 200, ""},
		{"the credential", "/agents/research/credential", "application/vc", 200, ""},
		{"the default is the credential", "/agents/research/credential", "", 200, ""},
		{"anything is the credential", "/agents/research/credential", "*/*", 200, ""},
		{"nothing of what is served", "/agents/research/credential", "text/html", 406, fault.Invalid},
		{"the object refused", "/agents/research/credential", dsse + ";q=0", 406, fault.Invalid},
		{"a weight that is none", "/agents/research/credential", dsse + ";q=many", 406, fault.Invalid},
		{"a wish that is no ASCII", "/agents/research/credential", "é/é", 400, fault.Invalid},
		{"a wish that is too long", "/agents/research/credential", strings.Repeat("text/html,", 200), 400, fault.Invalid},
		{"a revoked agent", "/agents/gone/credential", dsse, 410, fault.Revoked},
		{"no such agent", "/agents/ghost/credential", dsse, 404, fault.NotFound},
		{"a name that is a path", "/agents/..%2Fresearch/credential", dsse, 404, fault.NotFound},
		{"a document", "/agents/research/did.json", "", 404, fault.NotFound},
		{"a log", "/agents/research/did.jsonl", "", 404, fault.NotFound},
		{"another file", "/agents/research/key", "", 404, fault.NotFound},
	} {
		header := []string{}
		if c.accept != "" {
			header = []string{"Accept", c.accept}
		}
		w := d.ask("GET", c.path, nil, header...)
		if p := refusal(w); w.Code != c.status || p.Code != c.code || c.code != "" && (p.Status != c.status || p.Detail == "") {
			t.Errorf("%s: got %d %v %s", c.name, w.Code, w.Header(), w.Body)
		}
	}
	w := d.ask("GET", "/agents/research/credential", nil, "Accept", dsse)
	if e, err := envelope.ParseDSSE(w.Body.Bytes(), 4<<10); err != nil || e.ID().String() != a.ID || w.Header().Get("ETag") != `"`+a.ID+`"` || w.Header().Get("Content-Type") != dsse || w.Header().Get("Vary") != "Accept" {
		t.Errorf("got %v, %v", w.Header(), err)
	}
	vc := d.ask("GET", "/agents/research/credential", nil).Body.Bytes()
	log := d.ask("GET", "/.well-known/did.jsonl", nil).Body.Bytes()
	got, err := credential.Verify(t.Context(), vc, credential.Options{At: time.Now(), Resolve: func(ctx context.Context, issuer did.DID) (did.Resolution, error) {
		return didwebvh.Resolver{}.Resolve(ctx, issuer, did.Material{Log: log}, did.Options{Now: time.Now()})
	}})
	if err != nil || got.ID != credential.URN+a.ID {
		t.Errorf("the credential: %+v, %v", got, err)
	}
	for tag, want := range map[string]int{`"` + a.ID + `"`: 304, `W/"` + a.ID + `"`: 304, `"x", "` + a.ID + `"`: 304, `"x"`: 200, a.ID: 200} {
		if w := d.ask("GET", "/agents/research/credential", nil, "Accept", dsse, "If-None-Match", tag); w.Code != want || want == 304 && w.Body.Len() > 0 {
			t.Errorf("with %s: got %d %s", tag, w.Code, w.Body)
		}
	}
}

func TestAgentsExpiringIsCounted(t *testing.T) {
	d := open(t)
	d.ok("POST", "/api/v1/agents", httpapi.AgentAdd{Name: "research", Can: []string{"lend"}}, nil)
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	d.h.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), "trustnode_agents_expiring 0\n") {
		t.Errorf("got %.2000s", w.Body)
	}
}

// FuzzAccept: whatever is accepted, one of what is served comes of it, or a refusal.
func FuzzAccept(f *testing.F) {
	for _, s := range []string{"", "*/*", "application/vc;q=0.5, application/vnd.dsse+json", "a/b;q=NaN", ";;;=", ",,,", "application/vnd.dsse+json;q=1e9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		switch kind, err := httpapi.Accepted([]string{s}); {
		case err == nil && kind != "application/vc" && kind != "application/vnd.dsse+json":
			t.Errorf("%q: %q", s, kind)
		case err != nil && fault.Of(err) != fault.Invalid:
			t.Errorf("%q: %v", s, err)
		}
	})
}

// FuzzRequestFile: no file that is handed in breaks the node or becomes an agent.
func FuzzRequestFile(f *testing.F) {
	f.Add([]byte(`{"payload":"e30=","payloadType":"application/vnd.trustnode.agent.v1+json","signatures":[]}`))
	f.Add([]byte("{}"))
	f.Add([]byte{})
	d := openAny(f, slog.New(slog.DiscardHandler))
	f.Fuzz(func(t *testing.T, file []byte) {
		body := fmt.Sprintf(`{"name":"x","can":["lend"],"for":"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK","request":%q}`, base64.StdEncoding.EncodeToString(file))
		if w := d.operator("POST", "/api/v1/agents", strings.NewReader(body)); w.Code < 400 || w.Code >= 500 {
			t.Errorf("%q: %d %s", file, w.Code, w.Body)
		}
	})
}
