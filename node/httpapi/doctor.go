package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// The levels of a check.
const (
	LevelOK   = "ok"
	LevelWarn = "warn" // works, and something should be done
	LevelFail = "fail"
)

// Check is one thing that was looked at.
type Check struct {
	Level string `json:"level" doc:"ok, warn or fail"`
	What  string `json:"what" doc:"what was seen, in a sentence"`
	Hint  string `json:"hint,omitempty" doc:"what to do"`
}

// Doctor is everything that was looked at.
type Doctor struct {
	Checks []Check `json:"checks"`
}

func (s *server) doctorRoute(api huma.API) {
	s.route(api, http.MethodGet, "/api/v1/doctor", "doctor", "What an operator should know about this node", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, _ *struct{}) (*struct{ Body Doctor }, error) {
			return &struct{ Body Doctor }{Doctor{Checks: s.Doctor(ctx)}}, nil
		})
	})
}
