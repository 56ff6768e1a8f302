package mcp

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"trustnode/did/envelope"
	"trustnode/federation/lending"
	"trustnode/node/client"
)

var loanRequest = tool{
	name: "loan_request", title: "Ask for a loan", abroad: true,
	about: "Ask an agent of another organization for a permission to read. A person there, or its policy, decides; loan_list tells what came of it.",
	in: []field{
		{name: "lender", shape: text, need: true, most: 2048, about: "DID of the agent that lends"},
		{name: "purpose", shape: text, need: true, most: lending.MaxPurpose, about: "what you need it for, one line; signed, shown to the lender and logged"},
		{name: "patterns", shape: texts, need: true, most: 8, about: "kinds of use: read, discover"},
		{name: "max_reads", shape: number, need: true, most: 1 << 53 / 2, about: "how many answers you need"},
		{name: "expires_at", shape: text, need: true, most: 32, about: "until when, e.g. 2026-12-01T10:00:00Z"},
		{name: "scope", shape: text, most: 2048, about: "what to read, e.g. tag:client:acme -tag:draft age<90d; without it the lender chooses"}},
	call: (*Services).request,
}

// asking is a loan request and how it stands.
type asking struct {
	Request    string `json:"request"`
	Lender     string `json:"lender"`
	Purpose    string `json:"purpose"`
	Scope      string `json:"scope,omitempty"`
	State      string `json:"state"`
	Heard      bool   `json:"heard"` // the lender said so
	Reason     string `json:"reason,omitempty"`
	Permission string `json:"permission,omitempty"`
	Until      string `json:"until"`
}

func (s *Services) request(ctx context.Context, who caller, a args) (*mcp.CallToolResult, error) {
	if _, err := a.time("expires_at"); err != nil {
		return nil, err
	}
	r, err := s.Client.Ask(ctx, client.AskInput{As: who.agent.Agent.String(), Lender: a.text("lender"), Purpose: a.text("purpose"), Expires: a.text("expires_at"),
		MaxReads: a.number("max_reads"), Patterns: a.texts("patterns"), Scope: a.text("scope")})
	if err != nil {
		return nil, err
	}
	out := asked(r)
	return answer(out, "asked. "+out.words()), nil
}

func asked(r client.Asked) asking {
	out := asking{Request: r.ID.String(), Lender: r.Body.Aud.String(), Purpose: r.Body.Purpose, Scope: r.Body.Scope.String(), State: string(r.State), Heard: r.Heard,
		Reason: r.Reason, Until: envelope.TimeOf(r.Until).String()}
	if !r.Perm.IsZero() {
		out.Permission = r.Perm.String()
	}
	return out
}

// words says a request in one line.
func (a asking) words() string {
	line := fmt.Sprintf("request %s to %s for %q: %s", a.Request, a.Lender, clean(a.Purpose), a.State)
	switch {
	case a.Permission != "":
		line += " as permission " + a.Permission
	case a.Reason != "":
		line += fmt.Sprintf(", the lender says %q", clean(a.Reason))
	case !a.Heard:
		line += ", the lender's node has not answered yet"
	case lending.AskState(a.State) == lending.AskRequested:
		line += ", it waits for an answer until " + a.Until
	}
	return line + "\n"
}

// Lenders of so many requests that wait are asked for news in one listing, for so long.
const (
	mostPolled = 8
	pollTime   = 4 * time.Second
)

// requestsOf are the requests of an agent, newest first. Those that wait are asked after.
func (s *Services) requestsOf(ctx context.Context, who caller) ([]asking, error) {
	all, err := s.Client.AskedAll(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pollTime)
	defer cancel()
	out, polled := []asking{}, 0
	for _, r := range all {
		if r.Body.Borrower != who.agent.Agent || len(out) == maxListed {
			continue
		}
		if r.State == lending.AskRequested && polled < mostPolled && ctx.Err() == nil {
			polled++
			if now, err := s.Client.AskedBy(ctx, r.ID.String(), who.agent.Agent); err == nil {
				r = now
			} // else the last word stands
		}
		out = append(out, asked(r))
	}
	return out, nil
}
