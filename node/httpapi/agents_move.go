package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// AgentMove asks to give an own agent another project.
type AgentMove struct {
	Project string `json:"project"`
}

// AgentMoved says where an agent works from now on.
type AgentMoved struct {
	Agent   string `json:"agent"`
	Name    string `json:"name"`
	Project string `json:"project"`
}

func (s *server) agentMove(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/agents/{agent}/move", "agentMove", "Give an own agent another project", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			Agent string `path:"agent" doc:"name or DID" maxLength:"2048"`
			Body  AgentMove
		}) (*struct{ Body AgentMoved }, error) {
			a, err := s.Lender.MoveAgent(ctx, in.Agent, in.Body.Project)
			if err != nil {
				return nil, s.refuse(err)
			}
			return &struct{ Body AgentMoved }{AgentMoved{Agent: a.Agent.String(), Name: a.Name, Project: a.Project}}, nil
		})
	})
}
