package mcp

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"trustnode/node/fault"
)

// answer is a result: what programs read, and what a model reads.
func answer(structured any, text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: structured}
}

// denial is a refusal as a result, which a model sees and can act on. The problem object is
// that of HTTP; internal has no detail.
func denial(err error) *mcp.CallToolResult {
	p := fault.ProblemOf(err)
	var b strings.Builder
	b.WriteString("denied: " + string(p.Code))
	if p.Reason != string(p.Code) {
		b.WriteString(" (" + p.Reason + ")")
	}
	if p.Detail != "" {
		b.WriteString(": " + clean(p.Detail))
	}
	if p.Hint != "" {
		b.WriteString("\nhint: " + clean(p.Hint))
	}
	r := answer(p, b.String())
	r.IsError = true
	return r
}
