package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"trustnode/node/fault"
)

// What an operator asks of what was read, and ends, of an organization alone.
func TestReadersAndEndsByHTTP(t *testing.T) {
	d := open(t)
	ask := func(method, path, body string, want int, out any) *httptest.ResponseRecorder {
		t.Helper()
		w := d.operator(method, path, strings.NewReader(body))
		if w.Code != want && (want != 200 || w.Code >= 300) {
			t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		if out != nil {
			if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
				t.Fatal(err)
			}
		}
		return w
	}
	var quant struct{ DID string }
	ask("POST", "/api/v1/agents", `{"name":"research","can":["lend"],"project":"p"}`, 200, nil)
	ask("POST", "/api/v1/agents", `{"name":"quant","can":["borrow"]}`, 200, &quant)
	var entry, loan struct{ ID string }
	ask("POST", "/api/v1/memory", `{"agent":"research","statement":"the one entry","tags":["open"]}`, 200, &entry)
	issue := fmt.Sprintf(`{"lender":"research","borrower":%q,"scope":"tag:open","purpose":"p","expires":"24h","max_reads":2}`, quant.DID)
	ask("POST", "/api/v1/permissions", issue, 200, &loan)
	ask("POST", "/api/v1/loans/read", fmt.Sprintf(`{"as":"quant","permission":%q,"purpose":"a check"}`, loan.ID), 200, nil)

	var r struct {
		Readers []struct {
			Borrower string
			Count    uint64
		}
	}
	ask("GET", "/api/v1/entries/"+entry.ID+"/readers", "", 200, &r)
	if len(r.Readers) != 1 || r.Readers[0].Borrower != quant.DID || r.Readers[0].Count != 1 {
		t.Errorf("readers: got %+v", r)
	}
	if p := refusal(ask("GET", "/api/v1/subjects/Ada%20Byron/readers", "", 404, nil)); p.Code != fault.NotFound || p.Hint == "" {
		t.Errorf("readers of nobody: got %+v", p)
	}
	if p := refusal(ask("POST", "/api/v1/subjects/Ada%20Byron/revoke", `{}`, 404, nil)); p.Code != fault.NotFound {
		t.Errorf("revocation of nobody: got %+v", p)
	}
	for text, want := range map[string]bool{"the one entry": true, "another entry": false} {
		w := d.ask("POST", "/api/v1/audit/check", strings.NewReader(text), "Authorization", "Bearer "+d.token, "Content-Type", "application/octet-stream")
		var c struct {
			What, Why string
			Confirmed bool
		}
		if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || w.Code != 200 || c.What != "text" || c.Confirmed != want || (c.Why == "") != want {
			t.Errorf("check of %q: %d %s", text, w.Code, w.Body)
		}
	}
	var same struct {
		Agree, Proven             int
		Missing, Extra, Different []any
	}
	ask("POST", "/api/v1/loans/compare", fmt.Sprintf(`{"as":"quant","permission":%q}`, loan.ID), 200, &same)
	if same.Agree != 1 || same.Proven != 2 || len(same.Missing)+len(same.Extra)+len(same.Different) != 0 {
		t.Errorf("compared with oneself: got %+v", same)
	}
	var end struct {
		Loans int
		Reads uint64
	}
	ask("POST", "/api/v1/borrowers/"+quant.DID+"/revoke", `{"reason":"misuse"}`, 200, &end)
	if end.Loans != 1 || end.Reads != 1 {
		t.Errorf("revocation: got %+v", end)
	}
	if p := refusal(ask("POST", "/api/v1/permissions", issue, 403, nil)); p.Reason != "borrower_revoked" {
		t.Errorf("a loan to a revoked borrower: got %+v", p)
	}
}

// A stranger's query for rows is refused before anything is looked up.
func TestRowsNeedASignedRequest(t *testing.T) {
	d := open(t)
	for _, header := range []string{"", "a.b", "e30.AAAA"} {
		w := d.ask("GET", "/api/v1/audit?perm=zQmNone", nil, "Trustnode-Request", header)
		if p := refusal(w); w.Code < 400 || w.Code >= 500 || p.Code == "" {
			t.Errorf("request %q: got %d %s", header, w.Code, w.Body)
		}
	}
}
