package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/member"
	"trustnode/node/self"
)

// AgentAdd asks for a new agent, or for its draft.
type AgentAdd struct {
	Name    string   `json:"name,omitempty" doc:"[a-z][a-z0-9-]{0,31}, unique in the organization"`
	Can     []string `json:"can,omitempty" doc:"capabilities: lend, borrow, receipts, propose, and for a person approve; none: those of the agent of that name that ran out"`
	Project string   `json:"project,omitempty" doc:"the project whose memory the agent works in"`
	Kind    string   `json:"kind,omitempty" doc:"agent (default) or human"`
	Days    int      `json:"days,omitempty" doc:"how long it holds, 1 to 30 (default)"`
	Display string   `json:"display,omitempty" doc:"a role, up to 64 bytes, public"`
	For     string   `json:"for,omitempty" doc:"did:key of whoever holds the agent's key, where that is not this node"`
	Request []byte   `json:"request,omitempty" doc:"the draft as its holder signed it, base64"`
}

// Agent is one agent of this organization.
type Agent struct {
	ID       string   `json:"id" doc:"id of the agent object"`
	DID      string   `json:"did"`
	Name     string   `json:"name"`
	Kind     string   `json:"kind" doc:"agent or human"`
	State    string   `json:"state" doc:"live, ended, revoked or not_yet"`
	Can      []string `json:"can"`
	Serial   uint64   `json:"serial"`
	NotAfter string   `json:"not_after"`
	Project  string   `json:"project,omitempty"`
}

// Agents is a list of agents.
type Agents struct {
	Agents []Agent `json:"agents"`
}

// AgentDraft is an agent object for its holder to sign, with what it says.
type AgentDraft struct {
	ID        string   `json:"id" doc:"id of the agent object it may become"`
	Org       string   `json:"org"`
	DID       string   `json:"did"`
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Can       []string `json:"can"`
	Display   string   `json:"display,omitempty"`
	NotBefore string   `json:"not_before"`
	NotAfter  string   `json:"not_after"`
	Serial    uint64   `json:"serial"`
	Data      []byte   `json:"data,omitempty" doc:"the file's bytes, base64; absent where they were written to a file"`
}

// AgentInfo is all this node knows of one agent, own or of another member.
type AgentInfo struct {
	ID        string      `json:"id" doc:"id of the newest agent object"`
	DID       string      `json:"did"`
	Org       string      `json:"org"`
	Name      string      `json:"name"`
	Kind      string      `json:"kind"`
	Display   string      `json:"display,omitempty"`
	State     string      `json:"state" doc:"live, ended, revoked or not_yet"`
	Can       []string    `json:"can" doc:"what it may do"`
	Inert     []string    `json:"inert,omitempty" doc:"listed, not known here, and granting nothing"`
	Serial    uint64      `json:"serial"`
	NotBefore string      `json:"not_before"`
	NotAfter  string      `json:"not_after"`
	RenewsAt  string      `json:"renews_at,omitempty" doc:"when this node renews it; absent where it does not"`
	Index     *uint64     `json:"index,omitempty" doc:"index of agent.issued in its organization's log; absent: not there yet"`
	RevokedAt *uint64     `json:"revoked_at,omitempty" doc:"index of agent.revoked"`
	Reason    string      `json:"reason,omitempty" doc:"of the revocation"`
	Project   string      `json:"project,omitempty"`
	Tokens    []TokenInfo `json:"tokens,omitempty"`
	Message   string      `json:"message,omitempty" doc:"why it may not act"`
	Hint      string      `json:"hint,omitempty"`
}

// TokenInfo is a token without its text.
type TokenInfo struct {
	Prefix string `json:"prefix" doc:"its first 12 characters"`
	For    string `json:"for" doc:"http or mcp"`
	Made   string `json:"made"`
}

// AgentRevoke asks for the end of an agent.
type AgentRevoke struct {
	Reason    string  `json:"reason,omitempty" doc:"ended (default), key_compromise, misuse, policy, mistake or other"`
	TaintFrom *uint64 `json:"taint_from,omitempty" doc:"last index of the own log at which its acts are surely its own; key_compromise only"`
}

// AgentRevoked says what a revocation did.
type AgentRevoked struct {
	ID     string  `json:"id" doc:"id of the event agent.revoked"`
	DID    string  `json:"did"`
	Name   string  `json:"name"`
	Reason string  `json:"reason"`
	Serial uint64  `json:"serial" doc:"objects of its name up to this serial are void"`
	Index  *uint64 `json:"index,omitempty" doc:"of agent.revoked in the own log; absent: it waits in the outbox"`
	Loans  int     `json:"loans" doc:"loans it had lent that ended with it"`
}

// TokenMake asks for a token.
type TokenMake struct {
	For string `json:"for" doc:"http or mcp"`
}

// TokenMade is a new token. Its text is told this once.
type TokenMade struct {
	Token  string `json:"token"`
	Prefix string `json:"prefix"`
	For    string `json:"for"`
}

// TokenEnded names a token that ended.
type TokenEnded struct {
	Prefix string `json:"prefix"`
}

// AgentPath names an agent in the path.
type AgentPath struct {
	Agent string `path:"agent" maxLength:"2048" doc:"name of an own agent, or a DID"`
}

func (in *AgentAdd) input() member.AgentInput {
	return member.AgentInput{Name: in.Name, Can: in.Can, Project: in.Project, Kind: in.Kind, Days: in.Days, Display: in.Display, For: in.For, Request: in.Request}
}

func (s *server) agents(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/agents", "agentAdd", "Make an agent and bind it to this organization", http.StatusCreated, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body AgentAdd }) (*struct{ Body Agent }, error) {
			row, err := s.Member.AddAgent(ctx, in.Body.input())
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Agent }{s.agentOf(row)}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/agents/drafts", "agentDraft", "Draft an agent for whoever holds its key to sign", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body AgentAdd }) (*struct{ Body AgentDraft }, error) {
			d, err := s.Member.DraftAgent(ctx, in.Body.input())
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body AgentDraft }{draftOf(d)}, nil
		})
	})
	s.route(api, http.MethodGet, "/api/v1/agents", "agentList", "List the agents of this organization", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, _ *struct{}) (*struct{ Body Agents }, error) {
			rows, err := s.Member.Agents(ctx)
			if err != nil {
				return nil, s.refuse(err)
			}
			out := Agents{Agents: []Agent{}}
			for _, r := range rows {
				out.Agents = append(out.Agents, s.agentOf(r))
			}
			return &struct{ Body Agents }{out}, nil
		})
	})
	s.oneAgent(api)
	s.tokens(api)
}

func (s *server) oneAgent(api huma.API) {
	s.route(api, http.MethodGet, "/api/v1/agents/{agent}", "agentShow", "Show one agent, own or of another member", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *AgentPath) (*struct{ Body AgentInfo }, error) {
			v, err := s.Member.ShowAgent(ctx, in.Agent)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body AgentInfo }{infoOf(v)}, nil
		})
	})
	s.route(api, http.MethodPost, "/api/v1/agents/{agent}/revoke", "agentRevoke", "End an agent of this organization, at once and for good", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			AgentPath
			Body AgentRevoke
		}) (*struct{ Body AgentRevoked }, error) {
			r, err := s.Member.RevokeAgent(ctx, member.AgentRevokeInput{Agent: in.Agent, Reason: in.Body.Reason, TaintFrom: in.Body.TaintFrom})
			if err != nil {
				return nil, s.refuse(err)
			}
			out := AgentRevoked{ID: r.Event.String(), DID: r.Agent.Agent.String(), Name: r.Agent.Name, Reason: r.Reason, Serial: r.Agent.Serial, Loans: r.Loans}
			if r.Logged {
				out.Index = &r.Index
			}
			return &struct{ Body AgentRevoked }{out}, nil
		})
	})
}

func (s *server) tokens(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/agents/{agent}/tokens", "agentToken", "Make a token by which a program calls this node as an agent", http.StatusCreated, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			AgentPath
			Body TokenMake
		}) (*struct{ Body TokenMade }, error) {
			text, t, err := s.Member.MakeToken(ctx, in.Agent, in.Body.For)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body TokenMade }{TokenMade{Token: text, Prefix: t.Prefix, For: t.Surface}}, nil
		})
	})
	s.route(api, http.MethodDelete, "/api/v1/tokens/{prefix}", "agentTokenRevoke", "End a token", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			Prefix string `path:"prefix" maxLength:"128" doc:"the token's first 12 characters"`
		}) (*struct{ Body TokenEnded }, error) {
			if err := s.Member.RevokeToken(ctx, in.Prefix); err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body TokenEnded }{TokenEnded{Prefix: in.Prefix[:min(len(in.Prefix), 12)]}}, nil
		})
	})
}

func (s *server) agentOf(r self.AgentRow) Agent {
	at, err := s.Node.Clock.Now()
	if err != nil {
		at = s.Node.Clock.Last()
	}
	return Agent{ID: r.Object.String(), DID: r.Agent.String(), Name: r.Name, Kind: r.Kind, State: string(r.State(at)), Can: r.Capabilities,
		Serial: r.Serial, NotAfter: r.NotAfter.String(), Project: r.Project}
}

func draftOf(d member.AgentDraft) AgentDraft {
	a := d.Body
	out := AgentDraft{ID: d.ID.String(), Org: a.Org.String(), DID: a.Agent.String(), Name: a.Name, Kind: string(a.Kind), Can: []string{}, Display: a.Display,
		NotBefore: a.NotBefore.String(), NotAfter: a.NotAfter.String(), Serial: a.Serial, Data: d.Data}
	for _, c := range a.Capabilities {
		out.Can = append(out.Can, string(c))
	}
	return out
}

func infoOf(v member.AgentView) AgentInfo {
	r := v.Row
	can, inert := r.Grants()
	out := AgentInfo{ID: r.Object.String(), DID: r.Agent.String(), Org: r.Org.String(), Name: r.Name, Kind: r.Kind, Display: v.Display, State: string(v.State), Can: can, Inert: inert,
		Serial: r.Serial, NotBefore: r.NotBefore.String(), NotAfter: r.NotAfter.String(), RevokedAt: v.RevokedAt, Reason: v.Reason, Project: r.Project, Message: v.Message, Hint: v.Hint}
	if !v.RenewsAt.IsZero() {
		out.RenewsAt = v.RenewsAt.String()
	}
	if r.Index > 0 { // index 0 is always log.opened
		out.Index = &r.Index
	}
	for _, t := range v.Tokens {
		out.Tokens = append(out.Tokens, TokenInfo{Prefix: t.Prefix, For: t.Surface, Made: t.Made.String()})
	}
	return out
}
