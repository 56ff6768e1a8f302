package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"trustnode/did"
	"trustnode/did/envelope"
	"trustnode/node/fault"
	"trustnode/node/member"
	"trustnode/node/self"
)

// turnstile lets a token through so many times.
type turnstile struct{ left int }

func (x *turnstile) Authenticate(context.Context, string, string) (self.AgentRow, error) {
	if x.left--; x.left < 0 {
		return self.AgentRow{}, fault.New(fault.Unauthenticated, "token", "the token has ended")
	}
	return self.AgentRow{Name: "quant", Agent: did.MustParse("did:web:line.example:agents:quant")}, nil
}

func (*turnstile) MarkLent(context.Context, string, envelope.ID, envelope.ID, envelope.Time) error {
	return nil
}

func (*turnstile) LentBy(context.Context, string, bool) (*member.Lent, error) { return nil, nil }

func secretTool(err error) tool {
	return tool{name: "t", call: func(*Services, context.Context, caller, args) (*mcp.CallToolResult, error) {
		return answer("secret", "secret"), err
	}}
}

// TestATokenThatEndsMeanwhileGetsNothing: what a call brought is handed to nobody whose token
// ended while it was under way.
func TestATokenThatEndsMeanwhileGetsNothing(t *testing.T) {
	s := &Services{Node: &self.Node{Log: slog.New(slog.DiscardHandler)}, Tokens: &turnstile{left: 1}}
	if r := s.run(t.Context(), secretTool(nil), caller{}, nil); r.IsError {
		t.Errorf("a live token: %v", r.StructuredContent)
	}
	r := s.run(t.Context(), secretTool(nil), caller{}, nil)
	if p, ok := r.StructuredContent.(fault.Problem); !ok || !r.IsError || p.Code != fault.Unauthenticated || strings.Contains(r.Content[0].(*mcp.TextContent).Text, "secret") {
		t.Errorf("an ended one: %+v", r)
	}
}

func TestAnInternalErrorSaysNothing(t *testing.T) {
	s := &Services{Node: &self.Node{Log: slog.New(slog.DiscardHandler)}, Tokens: &turnstile{left: 9}}
	r := s.run(t.Context(), secretTool(errors.New("disk /var/secret on fire")), caller{}, nil)
	if text := r.Content[0].(*mcp.TextContent).Text; !r.IsError || text != "denied: internal" {
		t.Errorf("got %q", text)
	}
}

// TestNobodyCalls: a call that no token came with does nothing, however it got here.
func TestNobodyCalls(t *testing.T) {
	h := New(Services{Tokens: &turnstile{}}, "", "test")
	if r := h.call(t.Context(), secretTool(nil), nil); !r.IsError {
		t.Errorf("got %+v", r)
	}
}

// TestPublicOrigin: behind a proxy, one site is the node's own.
func TestPublicOrigin(t *testing.T) {
	h := New(Services{Tokens: &turnstile{}}, "https://node.example/base", "test")
	for origin, want := range map[string]bool{
		"": true, "https://node.example": true, "https://node.example:444": false, "http://node.example": false, "https://node.example.evil": false, "null": false, "https://x@node.example": false,
		"http://127.0.0.1:8420": true, "http://localhost:8420": false, // the host asked is 127.0.0.1
	} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8420/mcp", nil)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if got := h.sameSite(r) == nil; got != want {
			t.Errorf("from %q: taken is %v", origin, got)
		}
	}
}
