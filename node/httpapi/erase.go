package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"trustnode/attestation"
	"trustnode/node/fault"
)

// EventErased is what became of an erasure.
type EventErased struct {
	ID      string   `json:"id"`      // that was given
	Cause   string   `json:"cause"`   // body or row
	Indexes []uint64 `json:"indexes"` // of the own events whose body it was; none for a row
	Already bool     `json:"already"` // it was erased before
	Waits   bool     `json:"waits"`   // it is durable; the log has not taken it yet
}

func (s *server) eraseRoute(api huma.API) {
	s.route(api, http.MethodPost, "/api/v1/events/{id}/erase", "eventErase", "Erase a private body, or an own audit row; events and proofs stay", http.StatusOK, func(op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *struct {
			ID string `path:"id" maxLength:"100" doc:"of the event, of its body, or of the row; or the index of an event of the own log"`
		}) (*struct{ Body EventErased }, error) {
			id, err := s.Party.Named(ctx, in.ID)
			if err != nil {
				return nil, s.refuse(err)
			}
			e, waits, err := s.Erase(ctx, id)
			if errors.Is(err, attestation.ErrNotFound) {
				err = fault.New(fault.NotFound, "event", "no event, body or row %s is held here", id).WithHint("trustnode event list --ids names each event by its id, loan audit --json each row")
			}
			if err != nil {
				return nil, s.refuse(err)
			}
			out := EventErased{ID: id.String(), Cause: e.Cause, Indexes: e.Indexes, Already: e.Already, Waits: waits}
			if out.Indexes == nil {
				out.Indexes = []uint64{}
			}
			return &struct{ Body EventErased }{out}, nil
		})
	})
}
