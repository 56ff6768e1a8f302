package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"trustnode/did/strictjson"
	"trustnode/node/fault"
)

// bridgeProtocol is the revision in which the bridge asks the node, whatever its client
// speaks: the last that needs no headers which repeat the body.
const bridgeProtocol = "2025-11-25"

// Bridge serves MCP on a pair of streams by asking a running node. It holds no key: the
// token goes to the node it is of, and nowhere else.
type Bridge struct {
	Base    string // of the node's HTTP server, such as http://127.0.0.1:8420
	Token   string // of an agent, for MCP
	As      string // name or DID of that agent
	Version string

	client http.Client
	lent   atomic.Bool // this session has seen lent content
}

// Run serves in and out until in ends or ctx does. That the node runs and that the token is
// one of the agent is asked first; the error is a *fault.Denied then.
func (b *Bridge) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	// A redirect would carry the token to wherever it points.
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if _, err := b.ask(ctx, "ping", strictjson.ObjectOf()); err != nil {
		return err
	}
	err := newServer(b.Version, b.call).Run(ctx, lineTransport{in, out})
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (b *Bridge) call(ctx context.Context, t tool, raw []byte) *mcp.CallToolResult {
	a, err := readArgs(raw, t.in)
	if err != nil {
		return denial(err)
	}
	params := strictjson.ObjectOf(strictjson.Member{Name: "name", Value: strictjson.StringOf(t.name)}, strictjson.Member{Name: "arguments", Value: a.doc})
	result, err := b.ask(ctx, "tools/call", params)
	if err != nil {
		return denial(err)
	}
	out := new(mcp.CallToolResult)
	if err := out.UnmarshalJSON(result); err != nil {
		return denial(fault.New(fault.Unavailable, "no_answer", "the node answered with something else than a result"))
	}
	if t.lent && !out.IsError {
		b.lent.Store(true)
	}
	return out
}

// ask sends one request to the node and returns the result. The error is a *fault.Denied.
func (b *Bridge) ask(ctx context.Context, method string, params strictjson.Value) ([]byte, error) {
	body := strictjson.ObjectOf(strictjson.Member{Name: "jsonrpc", Value: strictjson.StringOf("2.0")}, strictjson.Member{Name: "id", Value: strictjson.UintOf(1)},
		strictjson.Member{Name: "method", Value: strictjson.StringOf(method)}, strictjson.Member{Name: "params", Value: params}).Raw()
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	rq, err := http.NewRequestWithContext(ctx, http.MethodPost, b.Base+Path+"?as="+url.QueryEscape(b.As), bytes.NewReader(body))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "node", err)
	}
	rq.Header.Set("Authorization", "Bearer "+b.Token)
	rq.Header.Set("Content-Type", "application/json")
	rq.Header.Set("Accept", "application/json, text/event-stream")
	rq.Header.Set("Mcp-Protocol-Version", bridgeProtocol)
	if b.lent.Load() {
		rq.Header.Set(headerLent, "session")
	}
	res, err := b.client.Do(rq)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "node", "the node at %s did not answer", b.Base).WithHint("see that it runs: trustnode status")
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fault.New(fault.Unavailable, "node", "the node at %s did not answer whole", b.Base)
	}
	if res.StatusCode != http.StatusOK && strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json") {
		return nil, fault.ParseProblem(answer)
	}
	return resultOf(answer)
}

func resultOf(b []byte) ([]byte, error) {
	none := fault.New(fault.Unavailable, "no_answer", "the node answered with something else than a result").WithHint("see that it is a trustnode of this version: trustnode status")
	m, err := jsonrpc.DecodeMessage(b)
	if err != nil {
		return nil, none
	}
	r, ok := m.(*jsonrpc.Response)
	if !ok {
		return nil, none
	}
	if r.Error != nil {
		return nil, fault.New(fault.Invalid, "call", "the node refused the call: %.200s", r.Error)
	}
	return r.Result, nil
}

func notRPC() error {
	return fault.New(fault.Invalid, "form", "the line is no JSON-RPC message")
}

func blank(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
