package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// LogsRepaired is what a repair wrote.
type LogsRepaired struct {
	Logs []LogRepaired `json:"logs"` // of which something was written
}

// LogRepaired is one of them.
type LogRepaired struct {
	Org     string   `json:"org"`
	Entries []uint64 `json:"entries"` // that were replaced
	Tiles   int      `json:"tiles"`   // that were made anew
	Head    bool     `json:"head"`    // size, root and edge were
}

func (s *server) repairRoute(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/logs/repair", "logRepair", "Make entries and trees of all logs what their signed roots say, with what peers give", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, _ *struct{}) (*struct{ Body LogsRepaired }, error) {
			done, err := s.Repair(ctx)
			if err != nil {
				return nil, s.refuse(err)
			}
			out := LogsRepaired{Logs: []LogRepaired{}}
			for _, r := range done {
				l := LogRepaired{Org: r.Org.String(), Entries: r.Entries, Tiles: r.Tiles, Head: r.Head}
				if l.Entries == nil {
					l.Entries = []uint64{}
				}
				out.Logs = append(out.Logs, l)
			}
			return &struct{ Body LogsRepaired }{out}, nil
		})
	})
}
