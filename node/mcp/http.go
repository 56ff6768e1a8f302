package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"trustnode/did"
	"trustnode/did/strictjson"
	"trustnode/node/fault"
	"trustnode/node/member"
)

// Path is where the endpoint stands.
const Path = "/mcp"

// headerLent says that the caller's session has seen lent content. It only ever lowers what
// is trusted, so anybody may say it.
const headerLent = "Trustnode-Lent"

// Handler serves MCP over HTTP (Streamable HTTP, without sessions). It is safe for
// concurrent use.
type Handler struct {
	s      Services
	public string // origin under which others reach the node; empty: none
	next   http.Handler

	mu    sync.Mutex
	calls int             // guarded by mu
	of    map[did.DID]int // guarded by mu: calls under way, by agent
}

// New returns the endpoint. public is the base URL under which others reach the node, or
// empty.
func New(s Services, public, version string) *Handler {
	h := &Handler{s: s, of: map[did.DID]int{}}
	if u, err := url.Parse(public); err == nil && u.Host != "" {
		h.public = u.Scheme + "://" + u.Host
	}
	server := newServer(version, h.call)
	h.next = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: MaxMessage, PropagateRequestCancellation: true,
		Logger: slog.New(slog.DiscardHandler)})
	return h
}

// callerKey is where a call finds who calls.
type callerKey struct{}

func (h *Handler) call(ctx context.Context, t tool, raw []byte) *mcp.CallToolResult {
	who, ok := ctx.Value(callerKey{}).(caller)
	if !ok {
		return denial(fault.New(fault.Unauthenticated, "token", "no agent calls"))
	}
	return h.s.run(ctx, t, who, raw)
}

// ServeHTTP implements http.Handler. Who calls is known before a body is read, and the body
// was read strictly before anything in it is looked at.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if err := h.sameSite(r); err != nil {
		refuse(w, err)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "this endpoint has no streams and no sessions: POST each message", http.StatusMethodNotAllowed)
		return
	}
	who, err := h.caller(r)
	if err != nil {
		refuse(w, err)
		return
	}
	if err := h.enter(who.agent.Agent); err != nil {
		refuse(w, err)
		return
	}
	defer h.leave(who.agent.Agent)
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTime)) // not there where the caller is this process
	_ = c.SetWriteDeadline(time.Now().Add(sendTime))
	defer func() { _ = c.SetWriteDeadline(time.Time{}) }()
	body, err := readBody(r.Body)
	if err != nil {
		refuseMessage(w, err)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), callerKey{}, who))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	h.next.ServeHTTP(w, r)
}

// caller finds the agent of the token, which is one for this surface alone: a token for the
// HTTP API, the operator's, or another node's opens nothing here.
func (h *Handler) caller(r *http.Request) (caller, error) {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || len(r.Header.Values("Authorization")) != 1 {
		return caller{}, fault.New(fault.Unauthenticated, "token", "no token was sent").WithHint("send one of trustnode agent token NAME --for mcp as bearer token")
	}
	a, err := h.s.Tokens.Authenticate(r.Context(), text, member.ForMCP)
	if err != nil {
		return caller{}, err
	}
	if as := r.URL.Query().Get("as"); as != "" && as != a.Name && as != a.Agent.String() {
		return caller{}, fault.New(fault.Refused, "as", "the token is of agent %s, which acts for no other", a.Name).WithHint("use a token of that agent, or name this one")
	}
	return caller{token: text, agent: a, session: r.Header.Get(headerLent) != ""}, nil
}

// sameSite refuses what a page of another site sends (DNS rebinding included): a browser
// says where a page is from, and programs that are no browsers say nothing.
func (h *Handler) sameSite(r *http.Request) error {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		local := err == nil && u.Host == r.Host && loopback(u.Hostname())
		if !local && (h.public == "" || origin != h.public) {
			return fault.New(fault.Refused, "origin", "a page of another site sent this").WithHint("call from a program, or from the node's own address")
		}
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// enter takes one of the places for calls; an agent never has them all.
func (h *Handler) enter(a did.DID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls >= maxCalls || h.of[a] >= maxCallsEach {
		return fault.New(fault.RateLimited, "calls", "too many calls are under way").WithHint("wait for answers, then call again")
	}
	h.calls++
	h.of[a]++
	return nil
}

func (h *Handler) leave(a did.DID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls--
	if h.of[a]--; h.of[a] == 0 {
		delete(h.of, a)
	}
}

func readBody(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxMessage+1))
	if err != nil {
		return nil, fault.New(fault.Invalid, "body", "the message did not arrive whole")
	}
	return b, checkMessage(b)
}

// refuse answers whom no message is taken from: a problem, as everywhere over HTTP.
func refuse(w http.ResponseWriter, err error) {
	p := fault.ProblemOf(err)
	if p.Code == fault.Unauthenticated {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(p.JSON())
}

// refuseMessage answers what is no message: an error of JSON-RPC without id, since none of
// it was believed, with the problem as data.
func refuseMessage(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(fault.ProblemOf(err).Status)
	_, _ = w.Write(messageError(err))
}

// messageError is the JSON-RPC error that answers a message which is none.
func messageError(err error) []byte {
	code := int64(jsonrpc.CodeInvalidRequest)
	if d := (*strictjson.SyntaxError)(nil); errors.As(err, &d) {
		code = jsonrpc.CodeParseError
	}
	p := fault.ProblemOf(err)
	m := func(name string, v strictjson.Value) strictjson.Member {
		return strictjson.Member{Name: name, Value: v}
	}
	data, derr := strictjson.Parse(p.JSON(), maxDepth)
	if derr != nil {
		data = strictjson.ObjectOf()
	}
	null, _ := strictjson.Parse([]byte("null"), 1)
	number, _ := strictjson.Parse([]byte(itoa(code)), 1)
	return strictjson.ObjectOf(m("jsonrpc", strictjson.StringOf("2.0")), m("id", null),
		m("error", strictjson.ObjectOf(m("code", number), m("message", strictjson.StringOf(fault.From(err).Error())), m("data", data)))).Raw()
}
