package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/node/member"
	"trustnode/node/self"
)

func (s *server) agents(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/agents", "agentAdd", "Make an agent and bind it to this organization", http.StatusCreated, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct{ Body AgentAdd }) (*struct{ Body Agent }, error) {
			row, err := s.Member.AddAgent(ctx, member.AgentInput{Name: in.Body.Name, Can: in.Body.Can, Project: in.Body.Project})
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body Agent }{agentOf(row)}, nil
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
				out.Agents = append(out.Agents, agentOf(r))
			}
			return &struct{ Body Agents }{out}, nil
		})
	})
}

func agentOf(r self.AgentRow) Agent {
	return Agent{ID: r.Object.String(), DID: r.Agent.String(), Name: r.Name, Can: r.Capabilities, Serial: r.Serial, NotAfter: r.NotAfter.String(), Project: r.Project}
}
