package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"trustnode/node/config"
	"trustnode/node/fault"
	"trustnode/node/httpapi"
)

// withAgents makes agents, each an event of the own log.
func (d desk) withAgents(names ...string) desk {
	d.t.Helper()
	for _, name := range names {
		if w := d.operator("POST", "/api/v1/agents", strings.NewReader(fmt.Sprintf(`{"name":%q,"can":["lend"]}`, name))); w.Code >= 300 {
			d.t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	d.counted("agent.issued", len(names))
	return d
}

// counted waits until a number of events of a type count, and returns them.
func (d desk) counted(typ string, n int) []httpapi.Event {
	d.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var page httpapi.Events
		if d.get("/api/v1/events?limit=1000&type="+typ, &page); len(page.Events) == n {
			return page.Events
		}
		if time.Now().After(end) {
			d.t.Fatalf("%d of %d events %s count", len(page.Events), n, typ)
		}
	}
}

func (d desk) get(path string, out any) {
	d.t.Helper()
	w := d.operator("GET", path, nil)
	if w.Code != 200 || json.Unmarshal(w.Body.Bytes(), out) != nil {
		d.t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
}

// said lists types of events over all pages of a query.
func (d desk) said(query string) (out []string) {
	d.t.Helper()
	cursor := ""
	for {
		var page httpapi.Events
		d.get("/api/v1/events?"+query+"&cursor="+url.QueryEscape(cursor), &page)
		for _, e := range page.Events {
			out = append(out, fmt.Sprintf("%d %s", e.Index, e.Says().Type))
		}
		if cursor = page.Cursor; cursor == "" {
			return out
		}
	}
}

func TestEventsAreSelected(t *testing.T) {
	d := open(t).withAgents("one", "two")
	var all httpapi.Events
	d.get("/api/v1/events?any=true", &all)
	if len(all.Events) < 3 || len(all.Origins) != 1 || all.Origins[0].Held != uint64(len(all.Events)) || all.Origins[0].AgeS == nil || *all.Origins[0].AgeS != 0 {
		t.Fatalf("%+v", all)
	}
	issued := all.Events[slices.IndexFunc(all.Events, func(e httpapi.Event) bool { return e.Says().Type == "agent.issued" })]
	says := issued.Says()
	if issued.Level != "authored" || issued.Standing != "valid" || issued.Witnessed.Have != 0 || issued.Witnessed.Need != 0 || issued.Witnessed.By == nil || !strings.HasPrefix(issued.Words, `agent "one", `) {
		t.Errorf("%+v", issued)
	}
	count := func(q string) int { return len(d.said(q)) }
	n := len(all.Events)
	for q, want := range map[string]int{
		"limit=1": n, "limit=1&order=ingest": n, "type=agent.": 2, "type=agent.&limit=1": 2, "subject=" + says.Subject: 1, "ref=" + says.Refs[0]: 1,
		"org=self": n, "until=2020-01-01T00:00:00Z": 0, "since=2020-01-01T00:00:00Z&until=2099-01-01T00:00:00Z&order=ingest": n,
		"level=logged": n, "standing=void": 0, "standing=pending&any=true": 0, "actor=" + url.QueryEscape(says.Subject): 0,
	} {
		if got := count(q); got != want {
			t.Errorf("%s: %d events, want %d", q, got, want)
		}
	}
	var one httpapi.Events
	d.get("/api/v1/events?limit=1&order=ingest", &one)
	if one.Cursor == "" || one.Tail == "" || one.Cursor != one.Tail {
		t.Errorf("%+v", one)
	}
	for q, want := range map[string]struct{ code, reason string }{
		"cursor=" + url.QueryEscape(one.Cursor):                       {"invalid", "cursor"},
		"order=ingest&type=a.b&cursor=" + url.QueryEscape(one.Cursor): {"invalid", "cursor"},
		"order=ingest&cursor=AgI":                                     {"invalid", "cursor"},
		"since=yesterday":                                             {"invalid", "since"},
		"ref=x":                                                       {"invalid", "ref"},
		"org=x":                                                       {"invalid", "org"},
		"level=none":                                                  {"invalid", "form"},
		"standing=x":                                                  {"invalid", "form"},
		"order=x":                                                     {"invalid", "form"},
		"org=did:web:x.example":                                       {"not_found", "log"},
		"limit=0":                                                     {"invalid", "form"},
		"stending=void":                                               {"invalid", "form"},
		"limit=1001":                                                  {"invalid", "form"},
		"order=ingest&type=" + strings.Repeat("x", 49):                  {"invalid", "form"},
		"order=ingest&cursor=" + url.QueryEscape(ahead(t, one.Cursor)):  {"stale", "cursor_ahead"},
		"order=ingest&cursor=" + url.QueryEscape(one.Cursor[:10]+"AAA"): {"invalid", "cursor"},
	} {
		w := d.operator("GET", "/api/v1/events?"+q, nil)
		if p := refusal(w); string(p.Code) != want.code || p.Reason != want.reason {
			t.Errorf("%s: got %d %s", q, w.Code, w.Body)
		}
	}
}

// ahead is the tail of a node that holds more.
func ahead(t *testing.T, text string) string {
	t.Helper()
	d := open(t).withAgents("a", "b", "c", "d", "e", "f")
	var p httpapi.Events
	d.get("/api/v1/events?order=ingest", &p)
	if p.Tail == text {
		t.Fatal("as much")
	}
	return p.Tail
}

func TestOneEvent(t *testing.T) {
	d := open(t).withAgents("one")
	var all httpapi.Events
	d.get("/api/v1/events?type=agent.issued", &all)
	var e httpapi.EventDetail
	d.get("/api/v1/events/"+all.Events[0].ID, &e)
	if e.ID != all.Events[0].ID || e.Says().Type != "agent.issued" || e.Body != nil || e.Missing != nil || e.Elsewhere != nil {
		t.Errorf("%+v", e)
	}
	var same httpapi.EventDetail
	if d.get(fmt.Sprintf("/api/v1/events/%d", e.Index), &same); same.ID != e.ID {
		t.Errorf("by its index: %+v", same)
	}
	for id, want := range map[string]fault.Code{none: fault.NotFound, "4711": fault.NotFound, "x": fault.Invalid} {
		if p := refusal(d.operator("GET", "/api/v1/events/"+id, nil)); p.Code != want {
			t.Errorf("%s: %+v", id, p)
		}
	}
	if p := refusal(d.operator("GET", "/api/v1/events/watch", nil)); p.Code != fault.Unavailable || p.Hint == "" {
		t.Errorf("a watch where no node runs: %+v", p)
	}
}

// TestEventsAreTheOperatorsUnlessOpened: nothing of them is for strangers, and where the
// configuration opens them, what has named readers is still not.
func TestEventsAreTheOperatorsUnlessOpened(t *testing.T) {
	shut, wide := open(t).withAgents("one"), openWith(t, func(c *config.Config) { c.PublicEvents = true }).withAgents("two")
	if w := wide.operator("POST", "/api/v1/agents", strings.NewReader(`{"name":"one","can":["lend"],"project":"p"}`)); w.Code >= 300 {
		t.Fatal(w.Body)
	}
	var quant struct{ DID string }
	w := wide.operator("POST", "/api/v1/agents", strings.NewReader(`{"name":"quant","can":["borrow"]}`))
	if json.Unmarshal(w.Body.Bytes(), &quant) != nil || quant.DID == "" {
		t.Fatal(w.Body)
	}
	w = wide.operator("POST", "/api/v1/permissions", strings.NewReader(fmt.Sprintf(`{"lender":"one","borrower":%q,"scope":"tag:open","purpose":"p","expires":"24h","max_reads":2}`, quant.DID)))
	if w.Code >= 300 {
		t.Fatal(w.Body)
	}
	loan := wide.counted("loan.issued", 1)[0]
	if a, b := wide.ask("GET", "/api/v1/events/"+loan.ID, nil), wide.operator("GET", "/api/v1/events/"+loan.ID, nil); a.Code != 200 ||
		strings.Contains(a.Body.String(), `"salt"`) || !strings.Contains(b.Body.String(), `"salt"`) {
		t.Errorf("to anyone: %s\nto the operator: %s", a.Body, b.Body)
	}
	var rows httpapi.Events
	wide.get("/api/v1/events", &rows)
	id := rows.Events[0].ID
	for _, path := range []string{"/api/v1/events", "/api/v1/events/" + id, "/api/v1/events/" + id + "/proof", "/api/v1/events/" + id + "/c2sp", "/api/v1/log/self/head", "/api/v1/log/self/tile/0/000.p/1"} {
		if w := shut.ask("GET", path, nil); w.Code != 401 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if w := wide.ask("GET", path, nil); w.Code != 200 {
			t.Errorf("%s, opened: %d %s", path, w.Code, w.Body)
		}
	}
	if w := wide.ask("GET", "/api/v1/agents", nil); w.Code != 401 {
		t.Errorf("agents are opened too: %d", w.Code)
	}
	if w := wide.ask("GET", "/api/v1/log/self/tile/0/000.p/1", nil); w.Header().Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("%v", w.Header())
	}
}

// TestAProofForAnyoneHasNothingPrivate: where events are opened, whoever has no token is given no row and no body of named
// readers, and is told no more of them than of what is not there. The operator is given both.
func TestAProofForAnyoneHasNothingPrivate(t *testing.T) {
	d := openWith(t, func(c *config.Config) { c.PublicEvents = true })
	loan, row := d.lent()
	body := loan.Says().Body
	proof := func(id, with string) string {
		path := "/api/v1/events/" + id + "/proof"
		if with != "" {
			path += "?with=" + with
		}
		return path
	}
	for name, path := range map[string]string{"a row": proof(row, ""), "a row beside an event": proof(loan.ID, row), "a body": proof(loan.ID, body),
		"a row for outside tools": "/api/v1/events/" + row + "/c2sp", "a row, shown": "/api/v1/events/" + row} {
		if w := d.operator("GET", path, nil); w.Code != 200 && strings.Contains(path, "/proof") {
			t.Fatalf("%s, to the operator: %d %s", name, w.Code, w.Body)
		}
		absent := strings.NewReplacer(row, none, body, none).Replace(path)
		got, want := d.ask("GET", path, nil), d.ask("GET", absent, nil)
		if got.Code != 404 || got.Code != want.Code || strings.NewReplacer(row, none, body, none).Replace(got.Body.String()) != want.Body.String() {
			t.Errorf("%s, to anyone: %d %.300s; of what is absent: %d %.300s", name, got.Code, got.Body, want.Code, want.Body)
		}
	}
	for _, id := range []string{loan.ID, fmt.Sprint(loan.Index)} {
		w := d.ask("GET", proof(id, ""), nil)
		if w.Code != 200 || !strings.Contains(w.Body.String(), loan.ID) || strings.Contains(w.Body.String(), `"salt"`) {
			t.Errorf("the event: %d %.300s", w.Code, w.Body)
		}
	}
}

// lent makes a loan that was read once: the event of it, and the id of the row of the read when an event covers it.
func (d desk) lent() (loan httpapi.Event, row string) {
	d.t.Helper()
	made := func(path, body string, out any) {
		d.t.Helper()
		if w := d.operator("POST", path, strings.NewReader(body)); w.Code >= 300 || json.Unmarshal(w.Body.Bytes(), out) != nil {
			d.t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	var quant struct{ DID string }
	var none json.RawMessage
	var perm struct{ ID string }
	made("/api/v1/agents", `{"name":"research","can":["lend"],"project":"p"}`, &none)
	made("/api/v1/agents", `{"name":"quant","can":["borrow"]}`, &quant)
	made("/api/v1/memory", `{"agent":"research","statement":"the one entry","tags":["open"]}`, &none)
	made("/api/v1/permissions", fmt.Sprintf(`{"lender":"research","borrower":%q,"scope":"tag:open","purpose":"p","expires":"24h","max_reads":2}`, quant.DID), &perm)
	made("/api/v1/loans/read", fmt.Sprintf(`{"as":"quant","permission":%q,"purpose":"a check"}`, perm.ID), &none)
	made("/api/v1/permissions/"+perm.ID+"/revoke", `{"reason":"ended"}`, &none) // a barrier: the row is under an event before it
	loan = d.counted("loan.issued", 1)[0]
	d.counted("loan.revoked", 1)
	var audit httpapi.LoanAudit
	d.get("/api/v1/permissions/"+perm.ID+"/audit", &audit)
	for _, r := range audit.Rows {
		if r.Op == "read" && r.Index != nil {
			return loan, r.ID
		}
	}
	d.t.Fatalf("no row of a read: %+v", audit)
	return loan, ""
}

// TestAForeignClientReadsTheLog gives the address of a log to a client that knows nothing of
// this program.
func TestAForeignClientReadsTheLog(t *testing.T) {
	d := openWith(t, func(c *config.Config) { c.PublicEvents = true })
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("agent%d", i))
	}
	d.withAgents(names...)
	var head httpapi.LogHead
	d.get("/api/v1/log/self/head", &head)
	srv := httptest.NewServer(d.h)
	defer srv.Close()
	base := srv.URL + "/api/v1/log/" + url.PathEscape(head.Org) + "/"
	f, err := torchwood.NewTileFetcher(base, torchwood.WithHTTPClient(srv.Client()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := torchwood.NewClient(f)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := f.ReadEndpoint(context.Background(), "checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(strings.Fields(head.Policy)[1])
	if err != nil {
		t.Fatal(err)
	}
	n, err := note.Open(signed, note.VerifierList(v))
	if err != nil {
		t.Fatal(err)
	}
	cp, err := torchwood.ParseCheckpoint(n.Text)
	if err != nil || cp.N < 20 {
		t.Fatalf("%+v (%v)", cp, err)
	}
	seen := 0
	for _, e := range c.AllEntries(context.Background(), tlog.Tree{N: cp.N, Hash: cp.Hash}, 0) {
		if seen++; e[0] != 1 {
			t.Fatalf("entry %d: %x", seen, e)
		}
	}
	if c.Err() != nil || int64(seen) != cp.N {
		t.Errorf("%d of %d entries (%v)", seen, cp.N, c.Err())
	}
	for _, path := range []string{"tile/0/001", "tile/0/000", "tile/entries/000", "tile/9/000.p/1", "tile/0/000.p/0", "tile/0/000.p/256", "tile/x", "tile/"} {
		if w := d.ask("GET", "/api/v1/log/"+url.PathEscape(head.Org)+"/"+path, nil); w.Code != 404 || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
}
