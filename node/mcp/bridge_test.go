package mcp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"trustnode/did"
	"trustnode/did/strictjson"
	"trustnode/node/fault"
)

// TestTheTokenGoesNowhereElse: what answers at the node's address cannot send it on.
func TestTheTokenGoesNowhereElse(t *testing.T) {
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	defer other.Close()
	for _, status := range []int{301, 302, 307, 308} {
		node := httptest.NewServer(http.RedirectHandler(other.URL+Path, status))
		b := &Bridge{Base: node.URL, Token: "tn1_secret", As: "quant"}
		err := b.Run(t.Context(), strings.NewReader(""), io.Discard)
		if fault.Of(err) != fault.Unavailable || strings.Contains(err.Error(), "secret") {
			t.Errorf("%d: got %v", status, err)
		}
		node.Close()
	}
	if len(seen) > 0 {
		t.Errorf("it was sent on: %v", seen)
	}
}

// TestWhatIsNoResult: a bridge takes nothing for a result that is none.
func TestWhatIsNoResult(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       fault.Code
	}{
		"a page":               {200, "text/html", "<html>", fault.Unavailable},
		"nothing":              {200, "application/json", "", fault.Unavailable},
		"a request":            {200, "application/json", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, fault.Unavailable},
		"an error":             {200, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`, fault.Invalid},
		"a refusal":            {401, "application/problem+json", `{"code":"unauthenticated","reason":"token"}`, fault.Unauthenticated},
		"a refusal that lacks": {401, "application/problem+json", `{}`, fault.Unavailable},
	} {
		node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		b := &Bridge{Base: node.URL, Token: "tn1_x", As: "quant"}
		if _, err := b.ask(t.Context(), "ping", strictjson.ObjectOf()); fault.Of(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
		node.Close()
	}
}

// TestCallsAreBounded: one agent never takes all places.
func TestCallsAreBounded(t *testing.T) {
	h := New(Services{}, "", "test")
	agents := []did.DID{did.MustParse("did:web:a.example"), did.MustParse("did:web:b.example"), did.MustParse("did:web:c.example"), did.MustParse("did:web:d.example"), did.MustParse("did:web:e.example")}
	for _, a := range agents[:4] {
		for range maxCallsEach {
			if err := h.enter(a); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.enter(a); fault.Of(err) != fault.RateLimited {
			t.Errorf("one more of %s: %v", a, err)
		}
	}
	if err := h.enter(agents[4]); fault.Of(err) != fault.RateLimited {
		t.Errorf("one more in all: %v", err)
	}
	h.leave(agents[0])
	if err := h.enter(agents[4]); err != nil {
		t.Error(err)
	}
}

// TestASessionThatSawLentContentSaysSo: from then on, whenever that was, and not before.
func TestASessionThatSawLentContentSaysSo(t *testing.T) {
	var said []string
	refuse := true
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said = append(said, r.Header.Get(headerLent))
		w.Header().Set("Content-Type", "application/json")
		bad := ""
		if refuse {
			bad = `,"isError":true`
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[]`+bad+`}}`)
	}))
	defer node.Close()
	for _, reads := range []struct {
		tool tool
		in   string
	}{{loanRead, `{"permission":"z","purpose":"x"}`}, {loanDiscover, `{"permission":"z","purpose":"x"}`}} {
		b := &Bridge{Base: node.URL, Token: "tn1_x", As: "quant"}
		said, refuse = nil, true
		b.call(t.Context(), reads.tool, []byte(reads.in)) // refused: nothing was seen
		refuse = false
		b.call(t.Context(), loanStatus, []byte(`{"permission":"z"}`))
		b.call(t.Context(), reads.tool, []byte(reads.in))
		b.call(t.Context(), memoryAdd, []byte(`{"statement":"x"}`))
		if want := []string{"", "", "", "session"}; !slices.Equal(said, want) {
			t.Errorf("%s: said %q, want %q", reads.tool.name, said, want)
		}
	}
}
