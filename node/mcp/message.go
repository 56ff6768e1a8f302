package mcp

import (
	"slices"
	"strings"

	"trustnode/did/strictjson"
	"trustnode/node/fault"
)

// members that a message, and the parameters of a call, may have.
var (
	messageMembers = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	callMembers    = []string{"name", "arguments", "_meta", "inputResponses", "requestState", "task"}
)

// checkMessage holds one message to one reading. Parsers differ over a member that is there
// twice or in another case (go-sdk#805), and what one of them checks another would act on.
// The error is a *fault.Denied of code invalid or too_large.
func checkMessage(b []byte) error {
	if len(b) > MaxMessage {
		return tooLarge()
	}
	doc, err := strictjson.Parse(b, maxDepth)
	if err != nil {
		return fault.Wrap(fault.Invalid, "form", err).WithHint("send one JSON-RPC message, without a member twice")
	}
	if doc.Kind() != strictjson.Object {
		return fault.New(fault.Invalid, "form", "the message is no JSON object").WithHint("send messages one by one")
	}
	if err := onlyMembers(doc, "the message", messageMembers); err != nil {
		return err
	}
	method, _ := doc.Get("method")
	if name, _ := method.Text(); name != "tools/call" {
		return nil
	}
	params, _ := doc.Get("params")
	return onlyMembers(params, "params", callMembers)
}

func tooLarge() *fault.Denied {
	return fault.New(fault.TooLarge, "body", "the message has more than %d bytes", MaxMessage).WithHint("send less at once")
}

// onlyMembers refuses any other member, also one that differs in case alone.
func onlyMembers(v strictjson.Value, what string, may []string) error {
	for _, m := range v.Members() {
		if !slices.Contains(may, m.Name) {
			return fault.New(fault.Invalid, "form", "%s has a member %.40q; known are %s", what, m.Name, strings.Join(may, ", "))
		}
	}
	return nil
}
