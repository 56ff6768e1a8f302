package httpapi

import (
	"context"
	"strings"

	"trustnode/node/fault"
	"trustnode/node/member"
	"trustnode/node/self"
)

// forAgents are the operations that a token of an agent opens, for that agent alone.
var forAgents = map[string]bool{"loanRead": true, "loanDiscover": true, "loanRequest": true, "loanRequestList": true, "loanRequestShow": true}

// operatorOrAgent marks them in the API's description.
var operatorOrAgent = []map[string][]string{{"operator": {}}, {"agent": {}}}

// agentToken reads a bearer token that has the look of an agent's.
func agentToken(header string) (string, bool) {
	text, ok := strings.CutPrefix(header, "Bearer ")
	return text, ok && strings.HasPrefix(text, member.TokenMark)
}

// callerKey is where an operation finds the agent whose token called it.
type callerKey struct{}

// caller is an agent that called by token.
type caller struct {
	text  string
	agent self.AgentRow
}

// callerOf finds the agent of a token. A refusal is counted, and told to nobody but the
// caller: a log that names tokens would hold them.
func (s *server) callerOf(ctx context.Context, text string) (caller, error) {
	a, err := s.Member.Authenticate(ctx, text, member.ForHTTP)
	if err != nil {
		s.turnedAway.Add(1)
		return caller{}, err
	}
	return caller{text, a}, nil
}

// readsAs is the agent a read is for: whom the operator names, or the agent that calls.
func readsAs(ctx context.Context, as string) (string, error) {
	who, byToken := ctx.Value(callerKey{}).(caller)
	switch {
	case !byToken && as == "":
		return "", fault.New(fault.Invalid, "as", "no agent is named that reads").WithHint("name one of your borrowing agents: trustnode agent list shows them")
	case !byToken:
		return as, nil
	case as != "" && as != who.agent.Name && as != who.agent.Agent.String():
		return "", fault.New(fault.Refused, "as", "the token is of agent %s, which reads for no other", who.agent.Name).WithHint("leave as out, or use a token of that agent")
	}
	return who.agent.Agent.String(), nil
}

// stillCalls refuses an answer to an agent whose token ended while the answer was fetched.
func (s *server) stillCalls(ctx context.Context) error {
	who, byToken := ctx.Value(callerKey{}).(caller)
	if !byToken {
		return nil
	}
	_, err := s.callerOf(ctx, who.text)
	return err
}
